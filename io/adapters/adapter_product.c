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

/* Element (i, j) is the base's plus scale times the sum over k, in this order, of left(i, k)
 * right(k, j). Returns how many are not finite. */
static size_t add_product(void *out, const struct stored_type *type, const struct tensor *base,
                          const double *left, const double *right, size_t rank, double scale)
{
    size_t columns = base->shape[base->rank - 1], rows = base->count ? base->count / columns : 0,
           bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad)
    for (size_t i = 0; i < rows; i++)
        for (size_t first = 0; first < columns; first += PIECE) {
            size_t count = columns - first < PIECE ? columns - first : PIECE,
                   at = i * columns + first;
            double stored[PIECE], numbers[PIECE], sum[PIECE] = {0};
            tensor_copy(stored, base, at, count);
            element_widen_f64(numbers, stored, base->type, count);
            for (size_t k = 0; k < rank; k++) {
                double factor = left[i * rank + k];
                const double *row = right + k * columns + first;
#pragma omp simd
                for (size_t j = 0; j < count; j++)
                    sum[j] += factor * row[j];
            }
            for (size_t j = 0; j < count; j++) {
                numbers[j] += scale * sum[j];
                if (type->type == ELEMENT_F64)
                    ((double *)out)[at + j] = numbers[j];
                else
                    ((float *)out)[at + j] = (float)numbers[j];
                bad += !isfinite((float)numbers[j]);
            }
        }
    return bad;
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
    size_t rank = p->left ? p->left->shape[p->transposed ? 0 : 1] : 1, bad;
    double *left = p->left ? read_matrix(p->left, p->transposed, e) : NULL, *right = NULL;
    int result = -1;
    if ((p->left && !left) || !(right = read_matrix(p->right, p->transposed, e)) ||
        store_shape(&merged, merged_type(p->onto), merged.rank, merged.shape, file->path, e))
        goto end;
    merged.data = out;
    bad = add_product(out, merged.stored, p->onto, left ? left : &one, right, rank, p->scale);
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
    return result;
}
