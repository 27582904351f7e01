/* Memory of the cuda set: a pool of device blocks, buffers, scratch; reading, writing, waiting. */
#include "kernels/cuda/state.cuh"

#include <stdlib.h>
#include <string.h>

static const size_t GRAIN =
    512; /* sizes of blocks are multiples of it, so that equal tensors have equal blocks */

int cuda_check_now(cudaError_t error, const char *what, struct error *e)
{
    return error == cudaSuccess ? 0 : fail(e, "GPU: %s: %s", what, cudaGetErrorString(error));
}

int cuda_check(struct kernels *k, cudaError_t error, const char *what)
{
    struct error e;
    return cuda_check_now(error, what, &e) ? kernels_keep_error(k, "%s", e.text) : 0;
}

void cuda_keep_launches(struct kernels *k)
{
    cuda_check(k, cudaGetLastError(), "launch");
}

static size_t whole_grains(size_t bytes)
{
    return bytes ? cuda_divide_up(bytes, GRAIN) * GRAIN : GRAIN;
}

static void free_blocks(struct cuda_state *s)
{
    while (s->blocks) {
        struct cuda_block *b = s->blocks;
        s->blocks = b->next;
        cudaEventDestroy(b->free);
        cudaFree(b->memory);
        free(b);
    }
}

/* What the device has left, the pool's unused blocks counted as free. */
static size_t memory_free(struct kernels *k)
{
    size_t bytes = 0, total = 0;
    if (cudaMemGetInfo(&bytes, &total) != cudaSuccess)
        return 0;
    for (const struct cuda_block *b = cuda_state(k)->blocks; b; b = b->next)
        bytes += b->bytes;
    return bytes;
}

void *cuda_take(struct kernels *k, size_t bytes, cudaStream_t on, struct error *e)
{
    struct cuda_state *s = cuda_state(k);
    void *memory = NULL;
    bytes = whole_grains(bytes);
    for (struct cuda_block **at = &s->blocks; *at; at = &(*at)->next)
        if ((*at)->bytes == bytes) {
            struct cuda_block *b = *at;
            *at = b->next;
            memory = b->memory;
            cuda_check(k, cudaStreamWaitEvent(on, b->free), "waiting for memory");
            cudaEventDestroy(b->free);
            free(b);
            return memory;
        }
    cuda_keep_launches(k);
    cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        free_blocks(s); /* of other sizes; cudaFree waits for the device */
        error = cudaMalloc(&memory, bytes);
    }
    if (error == cudaSuccess)
        return memory;
    (void)cudaGetLastError(); /* it is told here */
    if (error == cudaErrorMemoryAllocation)
        fail(e,
             "out of GPU memory (%.2f GB wanted, %.2f GB free; expected no other program on the "
             "GPU, or --memory SIZE for a "
             "smaller plan)",
             1e-9 * (double)bytes, 1e-9 * (double)memory_free(k));
    else
        cuda_check_now(error, "memory",
                       e); /* the device's work has failed, and every later call reports it */
    return NULL;
}

void cuda_give(struct kernels *k, void *memory, size_t bytes)
{
    struct cuda_state *s = cuda_state(k);
    if (!memory)
        return;
    struct cuda_block *b = (struct cuda_block *)calloc(1, sizeof *b), **end = &s->blocks;
    cuda_keep_launches(k);
    if (!b || cudaEventCreateWithFlags(&b->free, cudaEventDisableTiming) != cudaSuccess ||
        cudaEventRecord(b->free, s->stream) != cudaSuccess) {
        (void)cudaGetLastError();
        free(b);
        cudaFree(memory); /* waits for the device */
        return;
    }
    b->memory = memory;
    b->bytes = whole_grains(bytes);
    while (*end)
        end = &(*end)->next;
    *end = b;
}

static void *scratch_of(struct kernels *k, struct cuda_work *scratch, size_t bytes,
                        const char *what)
{
    if (bytes > scratch->bytes) {
        struct error e;
        cuda_give(k, scratch->memory, scratch->bytes);
        scratch->bytes = 0;
        scratch->memory = cuda_take(k, bytes, cuda_state(k)->stream, &e);
        if (!scratch->memory) {
            kernels_keep_error(k, "%s: %s", what, e.text);
            return NULL;
        }
        scratch->bytes = bytes;
    }
    return scratch->memory;
}

void *cuda_scratch(struct kernels *k, size_t bytes, const char *what)
{
    return scratch_of(k, &cuda_state(k)->scratch, bytes, what);
}

void *cuda_rounded_scratch(struct kernels *k, size_t bytes)
{
    return scratch_of(k, &cuda_state(k)->rounded, bytes, "an operand in tf32");
}

static struct buffer *create(struct kernels *k, enum buffer_role role, size_t count,
                             struct error *e)
{
    size_t bytes;
    struct buffer *b;
    if (kernels_take_error(k, e))
        return NULL;
    if (size_multiply(&bytes, count, k->role_size[role]) || bytes > SIZE_MAX - GRAIN) {
        fail(e, "buffer: %zu elements overflow", count);
        return NULL;
    }
    b = (struct buffer *)calloc(1, sizeof *b);
    if (!b) {
        fail_memory(e, sizeof *b, "a buffer");
        return NULL;
    }
    b->data = cuda_take(k, bytes, cuda_state(k)->stream, e);
    if (!b->data) {
        free(b);
        return NULL;
    }
    b->count = count;
    b->role = role;
    return b;
}

static void destroy(struct kernels *k, struct buffer *b)
{
    if (!b)
        return;
    cuda_give(k, b->data, b->count * k->role_size[b->role]);
    free(b);
}

/* Host and device, `count` elements of `size` bytes from the at-th on; returns when it is done. */
static void transfer(struct kernels *k, void *host, const struct buffer *b, size_t at, size_t count,
                     size_t size, int up)
{
    char *device = (char *)b->data + at * size;
    cudaStream_t stream = cuda_state(k)->stream;
    cuda_check(k,
               up ? cudaMemcpyAsync(device, host, count * size, cudaMemcpyHostToDevice, stream)
                  : cudaMemcpyAsync(host, device, count * size, cudaMemcpyDeviceToHost, stream),
               "copy");
    cuda_check(k, cudaStreamSynchronize(stream), "copy");
}

static uint16_t round_to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? (uint16_t)(bits >> 16 | 0x40)
                  : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void write(struct kernels *k, struct buffer *b, size_t at, const double *values,
                  size_t count)
{
    size_t size = k->role_size[b->role];
    char *packed = (char *)malloc(count ? count * size : 1);
    if (!packed) {
        kernels_keep_error(k, "out of memory (%zu bytes for a copy to the GPU)", count * size);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float x = (float)values[i];
        if (cuda_is_bf16(k, b))
            ((uint16_t *)packed)[i] = round_to_bf16(x);
        else
            ((float *)packed)[i] = x;
    }
    transfer(k, packed, b, at, count, size, 1);
    free(packed);
}

static void read(struct kernels *k, double *values, const struct buffer *b, size_t at, size_t count)
{
    size_t size = k->role_size[b->role];
    char *packed = (char *)malloc(count ? count * size : 1);
    if (!packed) {
        kernels_keep_error(k, "out of memory (%zu bytes for a copy from the GPU)", count * size);
        return;
    }
    transfer(k, packed, b, at, count, size, 0);
    element_widen_f64(values, packed, cuda_is_bf16(k, b) ? ELEMENT_BF16 : ELEMENT_F32, count);
    free(packed);
}

/* A letter of at least this many bytes whose last copy has ended; NULL with the error kept. */
static struct cuda_letter *letter_next(struct kernels *k, size_t bytes)
{
    struct cuda_state *s = cuda_state(k);
    struct cuda_letter *l = &s->letters[s->next_letter];
    s->next_letter = (s->next_letter + 1) % LETTER_COUNT;
    if (!l->sent
            ? cuda_check(k, cudaEventCreateWithFlags(&l->sent, cudaEventDisableTiming), "event")
            : cuda_check(k, cudaEventSynchronize(l->sent), "copy"))
        return NULL;
    if (bytes > l->bytes) {
        cudaFreeHost(l->pinned);
        l->pinned = NULL;
        l->bytes = 0;
        cuda_keep_launches(k);
        if (cuda_check(k, cudaMallocHost(&l->pinned, bytes), "pinned memory")) {
            (void)cudaGetLastError();
            return NULL;
        }
        l->bytes = bytes;
    }
    return l;
}

static void write_index(struct kernels *k, struct buffer *b, size_t at, const int32_t *values,
                        size_t count)
{
    struct cuda_range range("write_index");
    size_t bytes = count * sizeof *values;
    struct cuda_letter *l = bytes ? letter_next(k, bytes) : NULL;
    cudaStream_t stream = cuda_state(k)->stream;
    if (!l)
        return;
    memcpy(l->pinned, values, bytes);
    cuda_check(k,
               cudaMemcpyAsync((int32_t *)b->data + at, l->pinned, bytes, cudaMemcpyHostToDevice,
                               stream),
               "copy");
    cuda_check(k, cudaEventRecord(l->sent, stream), "copy");
}

static void read_index(struct kernels *k, int32_t *values, const struct buffer *b, size_t at,
                       size_t count)
{
    transfer(k, values, (struct buffer *)b, at, count, sizeof *values, 0);
}

static void report_fault(struct kernels *k, const struct cuda_fault *fault)
{
    struct cuda_state *s = cuda_state(k);
    if (fault->kind == FAULT_NONE)
        return;
    kernels_keep_error(k,
                       fault->kind == FAULT_TOKEN ? "embedding: token id %d (expected 0 to %d)"
                                                  : "head: target id %d (expected 0 to %d)",
                       fault->value, fault->limit);
    cuda_check(k, cudaMemsetAsync(s->fault, 0, sizeof *s->fault, s->stream), "run");
}

/* Values on their way to the host, in pinned memory: the fault record as it was then, then the
 * values. */
struct reading {
    char *pinned;
    size_t bytes, count; /* of pinned memory; values */
    enum element type;
    cudaEvent_t done;
    struct reading *next;
};
enum { READING_VALUES = 64 }; /* where the values begin */

static void reading_free(struct reading *r)
{
    if (!r)
        return;
    if (r->done)
        cudaEventDestroy(r->done);
    cudaFreeHost(r->pinned);
    free(r);
}

/* An unused reading with room for so many bytes, or a new one. */
static struct reading *reading_take(struct kernels *k, size_t bytes, struct error *e)
{
    struct cuda_state *s = cuda_state(k);
    for (struct reading **at = &s->readings; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes) {
            struct reading *r = *at;
            *at = r->next;
            return r;
        }
    struct reading *r = (struct reading *)calloc(1, sizeof *r);
    if (!r) {
        fail_memory(e, sizeof *r, "a copy from the GPU");
        return NULL;
    }
    cuda_keep_launches(k);
    if (cuda_check_now(cudaMallocHost((void **)&r->pinned, bytes), "pinned memory", e) ||
        cuda_check_now(cudaEventCreateWithFlags(&r->done, cudaEventDisableTiming), "event", e)) {
        (void)cudaGetLastError();
        reading_free(r);
        return NULL;
    }
    r->bytes = bytes;
    return r;
}

static struct reading *read_begin(struct kernels *k, const struct buffer *b, size_t at,
                                  size_t count, struct error *e)
{
    struct cuda_range range("read_begin");
    struct cuda_state *s = cuda_state(k);
    size_t size = k->role_size[b->role];
    struct reading *r = reading_take(k, READING_VALUES + count * size, e);
    if (!r)
        return NULL;
    r->count = count;
    r->type = cuda_is_bf16(k, b) ? ELEMENT_BF16 : ELEMENT_F32;
    memset(r->pinned, 0, READING_VALUES);
    cuda_keep_launches(k);
    if (cuda_check_now(cudaMemcpyAsync(r->pinned, s->fault, sizeof *s->fault,
                                       cudaMemcpyDeviceToHost, s->stream),
                       "copy", e) ||
        cuda_check_now(cudaMemcpyAsync(r->pinned + READING_VALUES,
                                       (const char *)b->data + at * size, count * size,
                                       cudaMemcpyDeviceToHost, s->stream),
                       "copy", e) ||
        cuda_check_now(cudaEventRecord(r->done, s->stream), "copy", e)) {
        cudaStreamSynchronize(s->stream); /* no copy may be under way to what is freed */
        (void)cudaGetLastError();
        reading_free(r);
        return NULL;
    }
    return r;
}

static int read_end(struct kernels *k, double *values, struct reading *r, struct error *e)
{
    struct cuda_range range("read_end");
    struct cuda_state *s = cuda_state(k);
    if (cuda_check(k, cudaEventSynchronize(r->done), "run") == 0 &&
        cuda_check(k, cudaGetLastError(), "launch") == 0) {
        report_fault(k, (const struct cuda_fault *)r->pinned);
        if (values)
            element_widen_f64(values, r->pinned + READING_VALUES, r->type, r->count);
    }
    r->next = s->readings;
    s->readings = r;
    return kernels_take_error(k, e);
}

static int synchronize(struct kernels *k, struct error *e)
{
    struct cuda_range range("synchronize");
    struct cuda_state *s = cuda_state(k);
    if (cuda_check(k, cudaStreamSynchronize(s->stream), "run") == 0 &&
        cuda_check(k, cudaStreamSynchronize(s->copies), "copy") == 0 &&
        cuda_check(k, cudaGetLastError(), "launch") == 0) {
        struct cuda_fault fault = {FAULT_NONE, 0, 0};
        cuda_check(k,
                   cudaMemcpyAsync(&fault, s->fault, sizeof fault, cudaMemcpyDeviceToHost,
                                   s->stream),
                   "copy");
        cuda_check(k, cudaStreamSynchronize(s->stream), "run");
        report_fault(k, &fault);
    }
    return kernels_take_error(k, e);
}

static size_t scratch_bytes(struct kernels *k, const struct attention_shape *shape,
                            struct rows rows, struct head_shape head)
{
    struct rows targets = {rows.segments, head.targets};
    size_t width = (size_t)shape->heads * (size_t)shape->head_size,
           most = cuda_attention_scratch(cuda_state(k)->arithmetic, shape, rows);
    const size_t others[] = {cuda_head_scratch(rows.segments, head.vocabulary, head.width),
                             cuda_head_rows_scratch(targets, head.vocabulary, head.width),
                             (size_t)rows.segments * (size_t)rows.count * width *
                                 sizeof(bf16)}; /* the last: a gradient in bf16 */
    for (int i = 0; i < 3; i++)
        most = others[i] > most ? others[i] : most;
    if (cuda_state(k)->arithmetic ==
        ARITHMETIC_TF32) { /* widths of MLPs are not known here: up to 16 times the heads' */
        size_t rounded = 16 * (size_t)rows.segments * (size_t)rows.count * width * sizeof(float);
        most += rounded < (size_t)ROUNDED_BYTES ? rounded : (size_t)ROUNDED_BYTES;
    }
    return most + STAGING_COUNT * CUDA_STAGING_BYTES;
}

void cuda_memory_close(struct cuda_state *s)
{
    for (int i = 0; i < STAGING_COUNT; i++) {
        cudaFreeHost(s->staging[i].pinned);
        cudaFree(s->staging[i].device);
        if (s->staging[i].empty)
            cudaEventDestroy(s->staging[i].empty);
    }
    for (int i = 0; i < LETTER_COUNT; i++) {
        cudaFreeHost(s->letters[i].pinned);
        if (s->letters[i].sent)
            cudaEventDestroy(s->letters[i].sent);
    }
    while (s->readings) {
        struct reading *r = s->readings;
        s->readings = r->next;
        reading_free(r);
    }
    free_blocks(s);
    cudaFree(s->scratch.memory);
    cudaFree(s->rounded.memory);
    cudaFree(s->fault);
}

void cuda_fill_memory(struct kernels *k)
{
    k->create = create;
    k->destroy = destroy;
    k->write = write;
    k->read = read;
    k->write_index = write_index;
    k->read_index = read_index;
    k->read_begin = read_begin;
    k->read_end = read_end;
    k->synchronize = synchronize;
    k->scratch_bytes = scratch_bytes;
    k->memory_free = memory_free;
}
