#include "io/adapters/adapter_product.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 512 };

/* A matrix as doubles, transposed if requested; caller frees. */
static double *read_matrix(const struct tensor *t, int transposed, struct error *e)
{
    size_t bytes, rows = t->rank == 2 ? t->shape[0] : 1, columns = t->shape[t->rank - 1];
    double *out = NULL, *row = NULL;
    void *stored = NULL;
    if (size_multiply(&bytes, t->count, sizeof *out) == 0 && (out = malloc(bytes ? bytes : 1)) &&
        (row = malloc(columns * sizeof *row + 1)) &&
        (stored = malloc(columns * t->stored->bytes + 1))) {
        for (size_t i = 0; i < rows; i++) {
            tensor_copy(stored, t, i * columns, columns);
            element_widen_f64(row, stored, t->type, columns);
            for (size_t j = 0; j < columns; j++)
                out[transposed ? j * rows + i : i * columns + j] = row[j];
        }
    } else {
        fail_memory(e, (double)t->count * sizeof *out, t->name);
        free(out);
        out = NULL;
    }
    free(row);
    free(stored);
    return out;
}

/* What a merged tensor is made of, as doubles. */
struct parts {
    const struct tensor *base;
    const double *left, *right; /* [rows, rank], [rank, columns] */
    size_t rows, columns, rank;
    double scale;
    double *factors; /* of each row, or of each column where `by_column`; NULL: 1 */
    int by_column;
};

/* numbers[j]: the base's element (i, first + j) plus scale times the sum over k, in this order, of
 * left(i, k) right(k, first + j). */
static void sum_piece(double numbers[PIECE], const struct parts *p, size_t i, size_t first,
                      size_t count)
{
    double stored[PIECE], sum[PIECE] = {0};
    tensor_copy(stored, p->base, i * p->columns + first, count);
    element_widen_f64(numbers, stored, p->base->type, count);
    for (size_t k = 0; k < p->rank; k++) {
        double factor = p->left[i * p->rank + k];
        const double *row = p->right + k * p->columns + first;
#pragma omp simd
        for (size_t j = 0; j < count; j++)
            sum[j] += factor * row[j];
    }
    for (size_t j = 0; j < count; j++)
        numbers[j] += p->scale * sum[j];
}

static size_t piece_at(const struct parts *p, size_t first)
{
    return p->columns - first < PIECE ? p->columns - first : PIECE;
}

/* Turns magnitudes into factors: each divided by the length of its row or column of the sum. */
static void divide_by_lengths(const struct parts *p)
{
    size_t blocks = p->by_column ? (p->columns + PIECE - 1) / PIECE : p->rows;
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t row = p->by_column ? 0 : b, end = p->by_column ? p->rows : b + 1,
               first = p->by_column ? b * PIECE : 0, last = p->by_column ? first + 1 : p->columns;
        double squares[PIECE] = {0}, numbers[PIECE], all = 0;
        for (size_t i = row; i < end; i++)
            for (size_t at = first; at < last; at += PIECE) {
                sum_piece(numbers, p, i, at, piece_at(p, at));
                for (size_t j = 0; j < piece_at(p, at); j++)
                    squares[j] += numbers[j] * numbers[j];
            }
        for (size_t j = 0; j < PIECE; j++)
            all += squares[j];
        if (!p->by_column)
            p->factors[b] /= sqrt(all);
        for (size_t j = 0; p->by_column && j < piece_at(p, first); j++)
            p->factors[first + j] /= sqrt(squares[j]);
    }
}

/* Writes the merged tensor. Returns how many numbers are not finite. */
static size_t write_sum(void *out, const struct stored_type *type, const struct parts *p)
{
    size_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad)
    for (size_t i = 0; i < p->rows; i++)
        for (size_t first = 0; first < p->columns; first += PIECE) {
            size_t count = piece_at(p, first), at = i * p->columns + first;
            double numbers[PIECE];
            sum_piece(numbers, p, i, first, count);
            for (size_t j = 0; j < count; j++) {
                if (p->factors)
                    numbers[j] *= p->factors[p->by_column ? first + j : i];
                if (type->type == ELEMENT_F64)
                    ((double *)out)[at + j] = numbers[j];
                else
                    ((float *)out)[at + j] = (float)numbers[j];
                bad += !isfinite((float)numbers[j]);
            }
        }
    return bad;
}

/* Writes rows in place of those that write_sum wrote. */
static void write_rows(void *out, const struct stored_type *type, const struct product *p,
                       const double *rows, size_t columns)
{
    for (size_t i = 0; i < p->right->shape[0]; i++)
        for (size_t j = 0; j < columns; j++) {
            size_t at = p->index[i] * columns + j;
            if (type->type == ELEMENT_F64)
                ((double *)out)[at] = rows[i * columns + j];
            else
                ((float *)out)[at] = (float)rows[i * columns + j];
        }
}

/* The type of a merged tensor. */
static const struct stored_type *merged_type(const struct tensor *t)
{
    return stored_type_of(t->type == ELEMENT_F64 ? ELEMENT_F64 : ELEMENT_F32);
}

int product_bytes(size_t *bytes, const struct product *p)
{
    return size_multiply(bytes, p->onto->count, merged_type(p->onto)->bytes);
}

int product_merge(const struct product *p, struct tensors *base, const struct mapped *file,
                  void *out, struct error *e)
{
    static const double one = 1;
    struct tensor merged = *p->onto;
    size_t columns = merged.shape[merged.rank - 1], bad = 0;
    double *left = p->left ? read_matrix(p->left, p->transposed, e) : NULL, *right = NULL,
           *factors = p->magnitude ? read_matrix(p->magnitude, 0, e) : NULL;
    struct parts parts = {.base = p->onto,
                          .left = left ? left : &one,
                          .rows = merged.count ? merged.count / columns : 0,
                          .columns = columns,
                          .rank = p->index  ? 0
                                  : p->left ? p->left->shape[p->transposed ? 0 : 1]
                                            : 1,
                          .scale = p->scale,
                          .factors = factors,
                          .by_column = p->transposed};
    int result = -1;
    if ((p->left && !left) || (p->magnitude && !factors) ||
        !(right = read_matrix(p->right, p->transposed, e)) ||
        store_shape(&merged, merged_type(p->onto), merged.rank, merged.shape, file->path, e))
        goto end;
    parts.right = right;
    merged.data = out;
    if (factors)
        divide_by_lengths(&parts);
    bad = write_sum(out, merged.stored, &parts);
    if (p->index)
        write_rows(out, merged.stored, p, right, columns);
    tensor_release(p->onto);
    if (bad) {
        fail(e, "%s: %s of the base with this adapter has %zu numbers that are not finite",
             file->path, merged.name, bad);
        goto end;
    }
    store_replace(base, p->onto, &merged, file);
    tensor_release(p->onto);
    result = 0;
end:
    free(left);
    free(right);
    free(factors);
    return result;
}
