#include "io/checkpoint/verify.h"

#include "io/tensors/store.h"
#include "io/torch/zip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 /* elements */ };

/* The checksums of a zip archive; other files have none. */
static int check_records(struct verified *v, const struct mapped *file, struct error *e)
{
    struct zip z;
    int result = 0;
    if (file->size < 4 || memcmp(file->bytes, "PK\3\4", 4))
        return 0;
    if (zip_open_memory(&z, file->path, file->bytes, file->size, e))
        return -1;
    for (size_t i = 0; i < z.count && result == 0; i++) {
        const struct zip_record *record = &z.records[i];
        result = zip_check(&z, record, e);
        *(record->crc || record->size == 0 ? &v->right : &v->unguarded) += 1;
        tensors_release_pages(record->data, record->size);
    }
    zip_close(&z);
    return result;
}

/* "[3, 17]", the place of element `at` in row-major order. */
static void place_text(char *out, size_t size, const struct tensor *t, size_t at)
{
    size_t index[TENSOR_RANK_MAX], used = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = at % t->shape[i];
        at /= t->shape[i];
    }
    snprintf(out, size, "[");
    for (int i = 0; i < t->rank; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%zu", i ? ", " : "", index[i]);
    snprintf(out + used, size - used, "]");
}

/* `memory` [2, PIECE] doubles. */
static int check_finite(const struct tensor *t, double *memory, struct error *e)
{
    double *stored = memory, *values = memory + PIECE;
    char place[TENSOR_RANK_MAX * 24];
    for (size_t first = 0; first < t->count; first += PIECE) {
        size_t count = t->count - first < PIECE ? t->count - first : PIECE;
        double sum = 0;
        tensor_copy(stored, t, first, count);
        element_widen_f64(values, stored, tensor_copied(t), count);
        for (size_t i = 0; i < count; i++)
            sum += values[i] - values[i]; /* 0, or NaN if it is not finite */
        for (size_t i = 0; sum != 0 && i < count; i++)
            if (!isfinite(values[i])) {
                place_text(place, sizeof place, t, first + i);
                return fail(e, "%s: tensor %s holds %g at %s (expected finite numbers)",
                            store_file(t)->path, t->name, values[i], place);
            }
    }
    tensor_release(t);
    return 0;
}

static int by_data(const void *a, const void *b)
{
    const struct tensor *const *x = a, *const *y = b;
    uintptr_t one = (uintptr_t)(*x)->data, other = (uintptr_t)(*y)->data;
    return (one > other) - (one < other);
}

/* Depending on the writer, the index's total counts tensors with shared data once or separately. */
static int check_total(struct tensors *t, struct error *e)
{
    size_t count = tensors_count(t), stated, all = 0, distinct = 0;
    if (!store_stated(t, &stated))
        return 0;
    const struct tensor **sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        return fail_memory(e, (double)count * sizeof *sorted, "checking a checkpoint");
    for (size_t i = 0; i < count; i++)
        sorted[i] = tensors_at(t, i);
    qsort(sorted, count, sizeof *sorted, by_data);
    for (size_t i = 0; i < count; i++) {
        all += sorted[i]->bytes;
        distinct += i && sorted[i]->data == sorted[i - 1]->data ? 0 : sorted[i]->bytes;
    }
    free(sorted);
    return stated == all || stated == distinct
               ? 0
               : fail(e,
                      "%s: the index states tensors of %zu bytes in all, and its shards hold %zu "
                      "(expected the same)",
                      tensors_path(t), stated, all);
}

int tensors_verify(struct verified *v, struct tensors *t, struct error *e)
{
    double *memory = malloc(2 * PIECE * sizeof *memory);
    int result = memory ? 0 : fail_memory(e, 2.0 * PIECE * sizeof *memory, "checking a checkpoint");
    *v = (struct verified){.files = store_files(t)};
    for (size_t i = 0; i < v->files && result == 0; i++) {
        v->bytes += store_file_at(t, i)->size;
        result = check_records(v, store_file_at(t, i), e);
    }
    for (size_t i = 0; i < tensors_count(t) && result == 0; i++) {
        const struct tensor *one = tensors_at(t, i);
        if (one->integer || !one->used)
            continue;
        result = check_finite(one, memory, e);
        v->tensors++;
    }
    free(memory);
    return result == 0 ? check_total(t, e) : -1;
}
