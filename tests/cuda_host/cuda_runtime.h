/* A small stand-in for the CUDA runtime, so that the .cu files run on the host in tests. See
 * doc/cuda.md for what that proves.
 *
 * Threads of a block are fibers of one OS thread, switched at barriers and warp operations, in an
 * order that the environment variable REACH_CUDA_HOST_SEED shuffles. Streams are queues that run as
 * late as they may: an operation runs when the host, or another stream by an event, waits for it;
 * so a missing event, or a staging buffer that is filled again too early, gives wrong numbers.
 * REACH_CUDA_HOST_COPIES=early lets streams with a priority run as early as they may instead, at
 * once unless they wait for an event. Fresh device memory and the shared memory of each block hold
 * NaN. Misuse (divergent barriers, too much shared memory, copies outside an allocation) ends the
 * program with a message. */
#ifndef REACH_TESTS_CUDA_RUNTIME_H
#define REACH_TESTS_CUDA_RUNTIME_H

#include <functional>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tuple>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define __shared__ \
    static thread_local /* the module's thread-local memory holds nothing else, which is how \
                           runtime.cpp finds it */
#define __restrict__ __restrict

/* -- vector types -- */
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
static inline int2 make_int2(int x, int y)
{
    return {x, y};
}
static inline int4 make_int4(int x, int y, int z, int w)
{
    return {x, y, z, w};
}
static inline double2 make_double2(double x, double y)
{
    return {x, y};
}

/* -- inside a kernel -- */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

void __syncthreads(void);
int __syncthreads_or(int condition);
int __syncthreads_and(int condition);
void __syncwarp(unsigned mask = 0xffffffffu);
void __threadfence(void);
unsigned __ballot_sync(unsigned mask, int condition);
int __any_sync(unsigned mask, int condition);
int __all_sync(unsigned mask, int condition);

/* 8 bytes of lane `from` of each lane's group of `width`; a lane that asks outside its group gets
 * its own. kind: 'i' index, 'x' xor, 'd' down, 'u' up. */
uint64_t host_shuffle(unsigned mask, uint64_t value, char kind, int from, int width);

template <class T>
T host_shuffle_as(unsigned mask, T value, char kind, int from, int width)
{
    static_assert(sizeof(T) <= 8, "at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = host_shuffle(mask, bits, kind, from, width);
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    return host_shuffle_as(mask, value, 'i', from, width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    return host_shuffle_as(mask, value, 'x', with, width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    return host_shuffle_as(mask, value, 'd', (int)by, width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    return host_shuffle_as(mask, value, 'u', (int)by, width);
}

__attribute__((no_sanitize("thread"))) static inline int atomicCAS(int *at, int expected, int value)
{
    int old = *at;
    if (old == expected)
        *at = value;
    return old;
}

static inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}
static inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}
static inline float __uint_as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static inline int __float_as_int(float x)
{
    return (int)__float_as_uint(x);
}
static inline float __int_as_float(int bits)
{
    return __uint_as_float((uint32_t)bits);
}
template <class T>
T __ldg(const T *p)
{
    return *p;
}
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
static inline float __fdividef(float a, float b)
{
    return a / b;
}
#define __expf expf /* the C library has other functions of these names */
#define __logf logf
#define __log2f log2f
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline int min(int a, int b)
{
    return a < b ? a : b;
}
static inline int max(int a, int b)
{
    return a > b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
static inline unsigned max(unsigned a, unsigned b)
{
    return a > b ? a : b;
}
static inline float min(float a, float b)
{
    return fminf(a, b);
}
static inline float max(float a, float b)
{
    return fmaxf(a, b);
}

/* Instructions that kernels/cuda/device.cuh wraps. */
uint16_t host_bf16_bits(float x);
uint32_t host_tf32_bits(float x);
void host_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]);
void host_mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2]);
void host_ldmatrix_x4(uint32_t r[4], const void *row, int transposed);
void host_cp_async_16(void *shared, const void *global, int valid);
void host_cp_async_commit(void);
void host_cp_async_wait(int groups);
static inline float host_exp2(float x)
{
    float r = exp2f(x);
    return r < 0x1p-126f ? 0.0f : r;
}
unsigned char *host_shared_memory(void);

/* -- the runtime -- */
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};
enum { cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum { cudaSharedmemCarveoutMaxShared = 100 };
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
typedef struct host_stream *cudaStream_t;
typedef struct host_event *cudaEvent_t;
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor, multiProcessorCount;
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t host_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value);
template <class F>
cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute attribute, int value)
{
    return host_set_attribute((const void *)kernel, attribute, value);
}

/* -- launches and queues, for LAUNCH and the other stand-ins -- */
/* Puts an operation behind what the stream holds. */
void host_enqueue(cudaStream_t stream, std::function<void()> operation);
/* A kernel as nvcc compiled it, in C++ once more (ptx.py). `run` is one thread of it: at[i] is
 * where argument i lies, host_shared_memory() its dynamic shared memory, before which its static
 * shared memory lies, `fixed` bytes rounded up to 1024.
 */
struct host_translated {
    const void *kernel;
    void (*run)(const char *const *at);
    unsigned fixed, threads; /* the most threads of a block; 0: as many as any */
};
/* NULL: the kernel runs as the host's compiler made it. */
const struct host_translated *host_find_translated(const void *kernel);
/* Enqueues a grid; checks its sizes as a launch does (the error is cudaGetLastError's). */
void host_enqueue_grid(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                       cudaStream_t stream, std::function<void()> thread);

template <class... P, class... A>
void host_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
                 cudaStream_t stream, A... arguments)
{
    const struct host_translated *translated = host_find_translated((const void *)kernel);
    std::tuple<P...> all{P(arguments)...};
    host_enqueue_grid((const void *)kernel, grid, block, shared_bytes, stream, [=] {
        if (translated)
            std::apply(
                [=](const P &...p) {
                    translated->run(
                        std::initializer_list<const char *>{(const char *)&p...}.begin());
                },
                all);
        else
            std::apply(kernel, all);
    });
}

#endif
