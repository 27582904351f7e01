/* Opens and closes the cuda set; the plug-in's entry. */
#include "kernels/cuda/state.cuh"

extern "C" {
#include "kernels/plugin.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtypes[] = {"f32", "tf32",
                                     "bf16"}; /* in the order of enum cuda_arithmetic */

static int devices(struct error *e)
{
    int count = 0, driver = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        return count; /* the last error, if there is one, is of an open set's launch */
    (void)cudaGetLastError();
    if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
        cudaRuntimeGetVersion(&runtime) == cudaSuccess && driver > 0)
        return fail(e,
                    "the NVIDIA driver knows CUDA up to %d.%d and reach was built with %d.%d "
                    "(expected a newer driver, or --device cpu)",
                    driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ||
        error == cudaSuccess) {
        fail(e, "no NVIDIA GPU with a driver was found (nvidia-smi lists the GPUs that the driver "
                "sees; --device cpu runs "
                "without one)");
        return 0;
    }
    return fail(
        e, "the GPU cannot be used: %s (nvidia-smi shows its state; --device cpu runs without)",
        cudaGetErrorString(error));
}

static void close_set(struct kernels *k)
{
    if (!k)
        return;
    struct cuda_state *s = cuda_state(k);
    if (s->stream)
        cudaStreamSynchronize(s->stream);
    if (s->copies)
        cudaStreamSynchronize(s->copies);
    cuda_memory_close(s);
    cuda_products_close(s);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    if (s->copies)
        cudaStreamDestroy(s->copies);
    free(s);
    kernels_release(k);
}

/* Streams, the fault record, cuBLASLt. */
static int start(struct kernels *k, struct error *e)
{
    struct cuda_state *s = cuda_state(k);
    struct cudaDeviceProp properties;
    int least, greatest;
    if (cuda_check_now(cudaSetDevice(s->device), "choice of the device", e) ||
        cuda_check_now(cudaGetDeviceProperties(&properties, s->device), "properties of the device",
                       e))
        return -1;
    if (properties.major < 8)
        return fail(e,
                    "cuda:%d, %.100s, has compute capability %d.%d (expected 8.0 or newer, or "
                    "--device cpu)",
                    s->device, properties.name, properties.major, properties.minor);
    s->processors = properties.multiProcessorCount;
    snprintf(k->name, sizeof k->name, "cuda (%.38s, cuBLASLt %d.%d.%d)", properties.name,
             (int)(cublasLtGetVersion() / 10000), (int)(cublasLtGetVersion() / 100 % 100),
             (int)(cublasLtGetVersion() % 100));
    if (cuda_check_now(cudaDeviceGetAttribute(&s->shared_most,
                                              cudaDevAttrMaxSharedMemoryPerBlockOptin, s->device),
                       "properties of the device", e) ||
        cuda_check_now(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), "stream", e) ||
        cuda_check_now(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream", e) ||
        /* its small kernels go first: whatever computes next waits for them */
        cuda_check_now(cudaStreamCreateWithPriority(&s->copies, cudaStreamNonBlocking, greatest),
                       "stream", e) ||
        cuda_check_now(cudaMalloc((void **)&s->fault, sizeof *s->fault), "memory", e) ||
        cuda_check_now(cudaMemsetAsync(s->fault, 0, sizeof *s->fault, s->stream), "memory", e))
        return -1;
    return cuda_products_open(k, e);
}

static struct kernels *open_set(int device, const char *dtype, struct error *e)
{
    struct kernels *k;
    struct cuda_state *s;
    int count = devices(e), arithmetic = 0;
    if (count < 0)
        return NULL;
    if (device < 0 || device >= count) {
        fail(e, "there is no GPU with the number %d (there %s %d, counted from 0)", device,
             count > 1 ? "are" : "is", count);
        return NULL;
    }
    while (arithmetic < 3 && strcmp(dtypes[arithmetic], dtype))
        arithmetic++;
    if (arithmetic == 3) {
        fail(e, "cuda: no arithmetic in %s (expected f32, tf32 or bf16)", dtype);
        return NULL;
    }
    k = kernels_allocate(e);
    if (!k)
        return NULL;
    s = (struct cuda_state *)calloc(1, sizeof *s);
    if (!s) {
        kernels_release(k);
        fail_memory(e, sizeof *s, "a kernel set");
        return NULL;
    }
    ((struct kernels_state *)k->state)->fast = s;
    s->device = device;
    s->arithmetic = (enum cuda_arithmetic)arithmetic;
    if (start(k, e)) {
        close_set(k);
        return NULL;
    }
    snprintf(k->dtype, sizeof k->dtype, "%s", dtype);
    for (int role = 0; role < ROLE_COUNT; role++)
        k->role_size[role] = sizeof(float);
    if (s->arithmetic == ARITHMETIC_BF16)
        k->role_size[ROLE_ACTIVATION] = sizeof(bf16);
    k->workers = s->processors;
    k->tile = 128;
    k->prefetches = 1;
    cuda_fill_memory(k);
    k->close = close_set;
    cuda_fill_weight(k);
    cuda_fill_linear(k);
    cuda_fill_norm(k);
    cuda_fill_activation(k);
    cuda_fill_convolution(k);
    cuda_fill_rows(k);
    cuda_fill_move(k);
    cuda_fill_experts(k);
    cuda_fill_gating(k);
    cuda_fill_recurrence(k);
    cuda_fill_scan(k);
    cuda_fill_lru(k);
    cuda_fill_wkv(k);
    cuda_fill_head(k);
    cuda_fill_attention_tables(k);
    cuda_fill_attention(k);
    return k;
}

static void versions(char *text, size_t size)
{
    int runtime = 0, library = (int)cublasLtGetVersion();
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(text, size, "CUDA %d.%d, cuBLASLt %d.%d.%d", runtime / 1000, runtime % 1000 / 10,
             library / 10000, library / 100 % 100, library % 100);
}

extern "C" __attribute__((visibility("default"))) const struct plugin *reach_plugin(void)
{
    static const struct plugin plugin = {PLUGIN_VERSION,
                                         sizeof(struct plugin),
                                         sizeof(struct kernels),
                                         sizeof(struct attention_shape),
                                         sizeof(struct weight_part),
                                         sizeof(struct error),
                                         devices,
                                         open_set,
                                         versions};
    return &plugin;
}
