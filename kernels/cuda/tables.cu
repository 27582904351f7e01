/* One kind of attention on the device: its tables, and the rotation of queries and keys. */
#include "kernels/cuda/state.cuh"

#include <stdlib.h>

enum { BLOCK = 256 };

static void attention_free(struct kernels *k, struct attention *a)
{
    struct cuda_attention *d = a ? (struct cuda_attention *)a->fast : NULL;
    if (d) {
        cuda_attention_tables_free(k, d->scores);
        cuda_give(k, d->cosine, d->bytes);
        free(d);
    }
    attention_release(a);
}

/* Cosines, then sines, rounded to float, on the device. */
static int upload_angles(struct kernels *k, struct cuda_attention *d, const struct attention_shape *shape, struct error *e)
{
    size_t count = (size_t)shape->positions * (size_t)shape->rotary_size /
                   2; /* its doubles exist, so twice its floats do not overflow */
    cudaStream_t stream = cuda_state(k)->stream;
    if (!count)
        return 0;
    d->bytes = 2 * count * sizeof(float);
    float *host = (float *)malloc(d->bytes);
    if (!host)
        return fail_memory(e, (double)d->bytes, "rotary angles");
    for (size_t i = 0; i < count; i++) {
        host[i] = (float)shape->cosine[i];
        host[count + i] = (float)shape->sine[i];
    }
    d->cosine = (float *)cuda_take(k, d->bytes, stream, e);
    int failed = !d->cosine ||
                 cuda_check_now(cudaMemcpyAsync(d->cosine, host, d->bytes, cudaMemcpyHostToDevice, stream), "rotary angles", e) ||
                 cuda_check_now(cudaStreamSynchronize(stream), "rotary angles", e);
    if (d->cosine)
        d->sine = d->cosine + count;
    free(host);
    return failed ? -1 : 0;
}

static struct attention *attention_create(struct kernels *k, const struct attention_shape *shape, struct error *e)
{
    struct attention *a = kernels_take_error(k, e) ? NULL : attention_copy(shape, e);
    struct cuda_attention *d;
    if (!a)
        return NULL;
    a->fast = d = (struct cuda_attention *)calloc(1, sizeof *d);
    if (!d) {
        fail_memory(e, sizeof *d, "attention tables");
        attention_release(a);
        return NULL;
    }
    d->scores = cuda_attention_tables(k, &a->shape, e);
    if (!d->scores || upload_angles(k, d, &a->shape, e)) {
        attention_free(k, a);
        return NULL;
    }
    return a;
}

/* Which elements of a row are turned: pair p of a head is (p * step, p * step + apart). */
struct rotation {
    size_t first_position, count, width;
    unsigned turned, pairs, head_size, step, apart; /* turned: pairs of all heads */
    float direction;
};

/* (u, v) -> (u cos f - v sin f, v cos f + u sin f); a block a row. */
template <class T>
__global__ void __launch_bounds__(BLOCK) rotate_rows(T *x, const float *cosine, const float *sine, struct rotation o)
{
    size_t position = o.first_position + blockIdx.x % o.count;
    T *row = x + blockIdx.x * o.width;
    for (unsigned i = threadIdx.x; i < o.turned; i += blockDim.x) {
        unsigned pair = i % o.pairs;
        size_t angle = position * o.pairs + pair;
        T *at = row + (size_t)(i / o.pairs) * o.head_size + pair * o.step;
        float u = to_float(at[0]), v = to_float(at[o.apart]), turn = o.direction * sine[angle];
        at[0] = from_float<T>(u * cosine[angle] - v * turn);
        at[o.apart] = from_float<T>(v * cosine[angle] + u * turn);
    }
}

static void rotate(struct kernels *k, struct buffer *x, const struct attention *a, struct rows rows, int heads, int width,
                   int direction)
{
    const struct attention_shape *s = &a->shape;
    const struct cuda_attention *d = cuda_attention(a);
    unsigned pairs = (unsigned)s->rotary_size / 2, turned = (unsigned)heads * pairs, half = s->pairing == PAIRING_HALF;
    struct rotation o = {(size_t)(s->positions - rows.count),
                         (size_t)rows.count,
                         (size_t)width,
                         turned,
                         pairs,
                         (unsigned)s->head_size,
                         half ? 1u : 2u,
                         half ? pairs : 1u,
                         (float)direction};
    dim3 grid((unsigned)rows.segments * (unsigned)rows.count),
        block(turned < BLOCK ? (turned + WARP - 1) / WARP * WARP : (unsigned)BLOCK);
    if (!turned || !grid.x)
        return;
    if (cuda_is_bf16(k, x))
        LAUNCH(rotate_rows<bf16>, grid, block, 0, cuda_state(k)->stream, (bf16 *)x->data, (const float *)d->cosine,
               (const float *)d->sine, o);
    else
        LAUNCH(rotate_rows<float>, grid, block, 0, cuda_state(k)->stream, (float *)x->data, (const float *)d->cosine,
               (const float *)d->sine, o);
}

void cuda_fill_tables(struct kernels *k)
{
    k->attention_create = attention_create;
    k->attention_free = attention_free;
    k->rotate = rotate;
}
