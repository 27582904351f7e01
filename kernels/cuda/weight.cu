/* Parameters of the cuda set. The host packs a tensor's elements, in the file's type, into one of
 * two pinned buffers; the stream `copies` brings them up and a kernel there widens, rounds and puts
 * them in their places, while the host fills the other buffer and `stream` computes. */
#include "kernels/cuda/state.cuh"

#include <stdlib.h>
#include <string.h>

/* A tensor's part as runs of elements that lie together in the file: rows of columns, or (Conv1D)
 * columns of rows. */
struct runs {
    const struct weight_part *part;
    size_t count, length; /* runs, elements of one */
    int along_rows; /* run r is column r % columns of group r / columns, over its rows; else row r,
                       over its columns */
};

/* 1.0f * 2^-112 moves the exponent of a half, shifted into place, to a float's. */
__device__ static float half_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00)
        return __uint_as_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    float magnitude = __uint_as_float(rest << 13) *
                      5.192296858534828e33f; /* 2^112, exact also for denormals */
    return __uint_as_float(sign | __float_as_uint(magnitude));
}

__device__ static double raw_element(const void *raw, int type, size_t i)
{
    switch (type) {
    case ELEMENT_F64: return ((const double *)raw)[i];
    case ELEMENT_F32: return ((const float *)raw)[i];
    case ELEMENT_F16: return half_to_float(((const uint16_t *)raw)[i]);
    default: return to_float(((const bf16 *)raw)[i]);
    }
}

/* Elements [first, first + length) of runs [run, run + count), packed in raw, to their places in
 * out[.., columns]; `tf32`: rounded to that. */
struct piece {
    size_t run, count, first, length, rows, columns;
    int along_rows;
};

/* N elements a thread, that lie side by side in `out` too. A piece has fewer than 2^32. */
template <int N, class T>
__global__ void place_elements(T *out, const void *raw, int type, double offset, int tf32,
                               struct piece p)
{
    unsigned step = gridDim.x * blockDim.x * N, length = (unsigned)p.length,
             total = (unsigned)p.count * length;
    for (unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * N; i < total; i += step) {
        size_t run = p.run + i / length, at = p.first + i % length, row, column;
        float value[N];
        if (p.along_rows) {
            row = run / p.columns * p.rows + at;
            column = run % p.columns;
        } else {
            row = run;
            column = at;
        }
        for (unsigned j = 0; j < N; j++) {
            double x = raw_element(raw, type, i + j);
            value[j] = (float)(offset == 0 ? x : x + offset);
            value[j] = tf32 ? __uint_as_float(to_tf32(value[j])) : value[j];
        }
        store_floats<N>(out + row * p.columns + column, value);
    }
}

/* 1 if rows are not stored as they are: they have factors, or zeros around a block. */
static int is_made(const struct weight_part *p)
{
    return p->factors || p->diagonal;
}

static struct runs runs_of(const struct weight_part *p)
{
    int along_rows = p->row_stride == 1 && p->column_stride != 1 && !is_made(p);
    struct runs r = {p, p->groups * (along_rows ? p->columns : p->rows),
                     along_rows ? p->rows : p->columns, along_rows};
    return r;
}

/* The type that a part's elements are packed in: quantised ones are widened on the way, and rows
 * that are not stored are made. */
static enum element packed_type(const struct weight_part *p)
{
    return element_is_quantised(p->type) || is_made(p) ? ELEMENT_F32 : p->type;
}

/* What is still to be added then. */
static double packed_offset(const struct weight_part *p)
{
    return p->factors ? 0 : p->offset;
}

/* Elements [first, first + length) of runs [run, run + count), packed. */
static void pack(char *out, const struct runs *r, size_t run, size_t count, size_t first,
                 size_t length)
{
    const struct weight_part *p = r->part;
    size_t size = element_size(p->type), inner = r->along_rows ? p->columns : p->rows;
    size_t outer_stride = r->along_rows ? p->column_stride : p->row_stride,
           stride = r->along_rows ? p->row_stride : p->column_stride;
    const char *data = (const char *)p->data;
    if (is_made(p)) {
#pragma omp parallel for schedule(static) if (count * length > (1 << 18))
        for (size_t i = 0; i < count; i++)
            weight_parts_read_f32((float *)out + i * length, p, run + i, first, length);
        return;
    }
    if (element_is_quantised(p->type)) {
#pragma omp parallel for schedule(static) if (count * length > (1 << 18))
        for (size_t i = 0; i < count; i++)
            element_run_f32((float *)out + i * length, data, p->type,
                            p->first + (run + i) / inner * p->group_stride +
                                (run + i) % inner * outer_stride + first,
                            length);
        return;
    }
    /* runs of a dense tensor join: pieces of 64 KiB then, else runs, shared out among threads */
    int dense = stride == 1 && outer_stride == r->length && length == r->length &&
                (p->groups == 1 || p->group_stride == inner * outer_stride);
    size_t bytes = count * length * size, grain = 1 << 16,
           tasks = dense ? cuda_divide_up(bytes, grain) : count;
    const char *start =
        data + (run / inner * p->group_stride + run % inner * outer_stride + first * stride) * size;
#pragma omp parallel for schedule(static) if (bytes > (1 << 20))
    for (size_t i = 0; i < tasks; i++) {
        if (dense) {
            memcpy(out + i * grain, start + i * grain,
                   bytes - i * grain < grain ? bytes - i * grain : grain);
            continue;
        }
        const char *from = data + ((run + i) / inner * p->group_stride +
                                   (run + i) % inner * outer_stride + first * stride) *
                                      size;
        char *to = out + i * length * size;
        if (stride == 1)
            memcpy(to, from, length * size);
        else
            for (size_t j = 0; j < length; j++)
                memcpy(to + j * size, from + j * stride * size, size);
    }
}

/* The next staging buffer, when it is empty; NULL with *e. */
static struct cuda_staging *staging_next(struct kernels *k, struct error *e)
{
    struct cuda_state *s = cuda_state(k);
    struct cuda_staging *g = &s->staging[s->next_staging];
    s->next_staging = (s->next_staging + 1) % STAGING_COUNT;
    if (!g->empty) {
        cuda_keep_launches(k);
        if (cuda_check_now(cudaMallocHost((void **)&g->pinned, CUDA_STAGING_BYTES), "pinned memory",
                           e) ||
            cuda_check_now(cudaMalloc((void **)&g->device, CUDA_STAGING_BYTES),
                           "memory for uploads", e) ||
            cuda_check_now(cudaEventCreateWithFlags(&g->empty, cudaEventDisableTiming), "event",
                           e)) {
            (void)cudaGetLastError();
            cudaFreeHost(g->pinned);
            cudaFree(g->device);
            memset(g, 0, sizeof *g);
            return NULL;
        }
    } else if (cuda_check_now(cudaEventSynchronize(g->empty), "upload", e))
        return NULL;
    return g;
}

template <class T>
static int upload_piece(struct kernels *k, T *out, const struct runs *r, int tf32,
                        const struct piece *piece, struct error *e)
{
    struct cuda_state *s = cuda_state(k);
    struct cuda_staging *g = staging_next(k, e);
    size_t total = piece->count * piece->length, bytes = total * element_size(packed_type(r->part));
    int vectors = !r->along_rows && piece->length % 4 == 0 && piece->first % 4 == 0 &&
                  r->part->columns % 4 == 0 && (uintptr_t)out % (4 * sizeof *out) == 0;
    size_t blocks = cuda_divide_up(vectors ? total / 4 : total, 256);
    dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096));
    if (!g)
        return -1;
    pack(g->pinned, r, piece->run, piece->count, piece->first, piece->length);
    if (cuda_check_now(cudaMemcpyAsync(g->device, g->pinned, bytes, cudaMemcpyHostToDevice,
                                       s->copies),
                       "upload", e))
        return -1;
    if (vectors)
        LAUNCH((place_elements<4, T>), grid, dim3(256), 0, s->copies, out, g->device,
               (int)packed_type(r->part), packed_offset(r->part), tf32, *piece);
    else
        LAUNCH((place_elements<1, T>), grid, dim3(256), 0, s->copies, out, g->device,
               (int)packed_type(r->part), packed_offset(r->part), tf32, *piece);
    return cuda_check_now(cudaEventRecord(g->empty, s->copies), "upload", e);
}

template <class T>
static int upload(struct kernels *k, T *out, int tf32, const struct weight_part *parts,
                  int part_count, struct error *e)
{
    for (int i = 0; i < part_count; i++) {
        const struct weight_part *p = &parts[i];
        struct runs r = runs_of(p);
        size_t most = CUDA_STAGING_BYTES / element_size(packed_type(p)),
               length = r.length < most ? r.length : most, at_once = most / length;
        for (size_t run = 0; run < r.count; run += at_once)
            for (size_t first = 0; first < r.length; first += length) {
                struct piece piece = {run,
                                      r.count - run < at_once ? r.count - run : at_once,
                                      first,
                                      r.length - first < length ? r.length - first : length,
                                      p->rows,
                                      p->columns,
                                      r.along_rows};
                if (upload_piece(k, out, &r, tf32, &piece, e))
                    return -1;
            }
        out += p->groups * p->rows * p->columns;
    }
    return 0;
}

static enum element device_type(struct kernels *k, enum weight_use use,
                                const struct weight_part *parts, int part_count)
{
    if (use == WEIGHT_MATRIX)
        return cuda_state(k)->arithmetic == ARITHMETIC_BF16 ? ELEMENT_BF16 : ELEMENT_F32;
    for (int i = 0; i < part_count; i++)
        if (use == WEIGHT_VECTOR || parts[i].type != ELEMENT_BF16 || parts[i].offset != 0 ||
            is_made(&parts[i]))
            return ELEMENT_F32;
    return ELEMENT_BF16;
}

/* Bytes of a weight, and in *second where a vector's bf16 form begins (0: none). */
static size_t layout(size_t *second, struct kernels *k, enum weight_use use, enum element type,
                     size_t rows, size_t columns)
{
    size_t bytes = rows * columns * element_size(type);
    *second = 0;
    if (use != WEIGHT_VECTOR || cuda_state(k)->arithmetic != ARITHMETIC_BF16)
        return bytes;
    *second = cuda_divide_up(bytes, 256) * 256;
    return *second + rows * columns * sizeof(bf16);
}

static size_t weight_bytes(struct kernels *k, enum weight_use use, const struct weight_part *parts,
                           int part_count)
{
    size_t rows, columns, second;
    if (weight_parts_size(&rows, &columns, parts, part_count, NULL))
        return 0;
    return layout(&second, k, use, device_type(k, use, parts, part_count), rows, columns);
}

static void weight_free(struct kernels *k, struct weight *w)
{
    struct cuda_state *s = cuda_state(k);
    struct cuda_weight *d = w ? (struct cuda_weight *)w->fast : NULL;
    if (d) {
        if (d->ready && !d->waited) /* never used, and perhaps still on its way */
            cuda_check(k, cudaStreamWaitEvent(s->stream, d->ready), "upload");
        if (d->ready)
            cudaEventDestroy(d->ready);
        cuda_give(k, d->data, d->bytes);
        free(d);
    }
    free(w);
}

static int weight_fill(struct kernels *k, struct weight *w, const struct weight_part *parts,
                       int part_count, struct error *e)
{
    struct cuda_state *s = cuda_state(k);
    struct cuda_weight *d = (struct cuda_weight *)calloc(1, sizeof *d);
    size_t second;
    if (!d)
        return fail_memory(e, sizeof *d, "a weight");
    w->fast = d;
    if (weight_parts_size(&w->rows, &w->columns, parts, part_count, e))
        return -1;
    d->type = device_type(k, w->use, parts, part_count);
    d->bytes = layout(&second, k, w->use, d->type, w->rows, w->columns);
    d->data = cuda_take(k, d->bytes, s->copies, e);
    if (!d->data ||
        cuda_check_now(cudaEventCreateWithFlags(&d->ready, cudaEventDisableTiming), "event", e))
        return -1;
    int tf32 = s->arithmetic == ARITHMETIC_TF32 && w->use == WEIGHT_MATRIX;
    int failed = d->type == ELEMENT_BF16 ? upload(k, (bf16 *)d->data, 0, parts, part_count, e)
                                         : upload(k, (float *)d->data, tf32, parts, part_count, e);
    if (!failed && second) {
        d->bf16_data = (char *)d->data + second;
        cuda_convert_bf16(s->copies, (bf16 *)d->bf16_data, (const float *)d->data,
                          w->rows * w->columns);
    }
    return cuda_check_now(cudaEventRecord(d->ready, s->copies), "upload", e) || failed ? -1 : 0;
}

static struct weight *weight_load(struct kernels *k, enum weight_use use,
                                  const struct weight_part *parts, int part_count, struct error *e)
{
    struct cuda_range range("weight_load");
    struct weight *w;
    if (kernels_take_error(k, e))
        return NULL;
    w = (struct weight *)calloc(1, sizeof *w);
    if (!w) {
        fail_memory(e, sizeof *w, "a weight");
        return NULL;
    }
    w->use = use;
    if (weight_fill(k, w, parts, part_count, e)) {
        weight_free(k, w);
        return NULL;
    }
    return w;
}

static struct cuda_weight *waited(struct kernels *k, const struct weight *w)
{
    struct cuda_weight *d = (struct cuda_weight *)w->fast;
    if (!d->waited)
        cuda_check(k, cudaStreamWaitEvent(cuda_state(k)->stream, d->ready), "upload");
    d->waited = 1;
    return d;
}

const void *cuda_weight_data(struct kernels *k, const struct weight *w)
{
    return w ? waited(k, w)->data : NULL;
}

const void *cuda_weight_bf16(struct kernels *k, const struct weight *w)
{
    return w ? waited(k, w)->bf16_data : NULL;
}

void cuda_fill_weight(struct kernels *k)
{
    k->weight_load = weight_load;
    k->weight_free = weight_free;
    k->weight_bytes = weight_bytes;
}
