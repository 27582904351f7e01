/* The elements of tensors: copied in order, widened, written, and their pages given back. */
#include "io/tensors/tensors_parts.h"

#include "io/scaled.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WRITE_PIECE = 1 << 16 };

/* -- elements -- */

static int is_quantised(const struct tensor *t)
{
    return !t->integer && element_is_quantised(t->type);
}

enum element tensor_copied(const struct tensor *t)
{
    return is_quantised(t) ? ELEMENT_F32 : t->type;
}

const struct tensor *tensors_quantised(const struct tensors *t)
{
    for (size_t i = 0; i < t->entry_count; i++)
        if (is_quantised(&t->entries[i].tensor))
            return &t->entries[i].tensor;
    return NULL;
}

int tensors_widen(struct tensors *t, struct error *e)
{
    for (size_t i = 0; i < t->entry_count; i++) {
        struct tensor *one = &t->entries[i].tensor;
        if (!is_quantised(one))
            continue;
        one->stored = stored_type_of(ELEMENT_F32);
        if (size_multiply(&one->bytes, one->count, one->stored->bytes))
            return fail(e, "%s: tensor %s has more bytes than can be counted", t->path, one->name);
    }
    return 0;
}

/* Bytes of an element that tensor_copy gives. */
static size_t copied_size(const struct tensor *t)
{
    return is_quantised(t) ? sizeof(float) : t->stored->bytes;
}

/* Copies count elements from `at` on, `stride` elements apart, to adjacent places. */
static void gather(unsigned char *out, const struct tensor *t, size_t at, size_t count,
                   size_t stride)
{
    if (is_quantised(t)) {
        float *to = (float *)(void *)out;
        if (stride == 1)
            element_run_f32(to, t->data, t->type, at, count);
        for (size_t i = 0; stride != 1 && i < count; i++)
            element_run_f32(to + i, t->data, t->type, at + i * stride, 1);
        return;
    }
    size_t size = t->stored->bytes;
    const unsigned char *in = (const unsigned char *)t->data + at * size;
    if (stride == 1) {
        memcpy(out, in, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * size, in + i * stride * size, size);
}

void tensor_copy(void *out, const struct tensor *t, size_t first, size_t count)
{
    size_t index[TENSOR_RANK_MAX] = {0}, size = copied_size(t), left = first;
    unsigned char *to = out;
    if (count == 0)
        return;
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = left % t->shape[i];
        left /= t->shape[i];
    }
    int last = t->rank - 1;
    while (count) {
        size_t at = 0, run = last < 0 ? 1 : t->shape[last] - index[last];
        for (int i = 0; i <= last; i++)
            at += index[i] * t->stride[i];
        run = run < count ? run : count;
        gather(to, t, at, run, last < 0 ? 1 : t->stride[last]);
        to += run * size;
        count -= run;
        if (last < 0)
            return;
        index[last] = 0;
        for (int i = last - 1; i >= 0 && ++index[i] == t->shape[i]; i--)
            index[i] = 0;
    }
}

void tensor_release(const struct tensor *t)
{
    if (t->integer)
        tensors_release_pages(t->data, t->bytes);
    else
        tensors_release_elements(t->data, t->type, 0, t->count);
}

int store_write(FILE *out, const struct tensor *tensor)
{
    _Alignas(float) unsigned char piece[WRITE_PIECE];
    size_t size = copied_size(tensor), step = sizeof piece / size;
    for (size_t first = 0; first < tensor->count; first += step) {
        size_t count = tensor->count - first < step ? tensor->count - first : step;
        tensor_copy(piece, tensor, first, count);
        if (fwrite(piece, size, count, out) != count)
            return -1;
    }
    tensor_release(tensor);
    return 0;
}

void tensors_release_elements(const void *data, enum element type, size_t first, size_t count)
{
    if (element_is_scaled(type)) {
        const struct scaled *s = data;
        size_t bits = scaled_code_bits(s, type), size = scaled_scale_size(s->scale);
        size_t block = scaled_block(s, first),
               last = count ? scaled_block(s, first + count - 1) : block;
        tensors_release_pages(s->codes + first / 8 * bits, count / 8 * bits);
        if (last > block) /* in a row of blocks, or across several rows */
            tensors_release_pages(s->scales + block * size, (last - block) * size);
    } else {
        tensors_release_pages((const char *)data + element_bytes(type, first),
                              element_bytes(type, count));
    }
}

void tensors_release_pages(const void *data, size_t bytes)
{
    /* rounded inwards: a page shared with a neighbour may be in use */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)data + page - 1) & ~(page - 1),
              last = ((uintptr_t)data + bytes) & ~(page - 1);
    if (last > first)
        madvise((void *)first, last - first, MADV_DONTNEED);
}
