/* What the kernels of the cuda set are written in: one launch macro, bf16, and the instructions
 * that CUDA C++ has no plain name for (PTX ISA 9.0: mma, ldmatrix, cp.async, cvt), each in a small
 * function.
 *
 * The same sources compile for the host against tests/cuda_host, whose <cuda_runtime.h> runs the
 * threads of a block as fibers; there the functions below call host_* with the fragment layouts
 * that PTX documents. So: no <<<>>>, no asm and no `extern
 * __shared__` outside this file. */
#ifndef REACH_KERNELS_CUDA_DEVICE_CUH
#define REACH_KERNELS_CUDA_DEVICE_CUH

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

enum { WARP = 32 };
#define FULL_WARP 0xffffffffu

/* LAUNCH(kernel, grid, block, dynamic shared bytes, stream, arguments...); a template's name goes
 * in parentheses: LAUNCH((f<float, 4>), ...). More than 48 KB of dynamic shared memory need
 * cudaFuncSetAttribute once. SHARED_MEMORY(name): the dynamic shared memory as `unsigned char
 * *name`. */
#ifdef __CUDACC__
#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    kernel<<<(grid), (block), (shared_bytes), (stream)>>>(__VA_ARGS__)
#define SHARED_MEMORY(name) extern __shared__ __align__(1024) unsigned char name[]
#else
#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    host_launch((kernel), (grid), (block), (shared_bytes), (stream), __VA_ARGS__)
#define SHARED_MEMORY(name) unsigned char *name = host_shared_memory()
#endif

/* -- bf16: the upper half of a float -- */

struct bf16 {
    uint16_t bits;
};

__device__ static inline float to_float(bf16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

__device__ static inline float to_float(float x)
{
    return x;
}

/* Two floats rounded to nearest even, `low` in the lower half. */
__device__ static inline uint32_t pack_bf16(float low, float high)
{
#ifdef __CUDACC__
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
#else
    return host_bf16_bits(low) | (uint32_t)host_bf16_bits(high) << 16;
#endif
}

/* from_float<T>: to float itself, or rounded to bf16. */
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x)
{
    return x;
}
template <>
__device__ inline bf16 from_float<bf16>(float x)
{
    return bf16{(uint16_t)pack_bf16(x, 0.0f)};
}

/* The two bf16 of a register as floats. */
__device__ static inline float2 unpack_bf16(uint32_t pair)
{
    return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
}

/* N consecutive elements as floats, and back; N = 1, 2, 4 (bf16 also 8), aligned to their size
 * together. */
template <int N>
__device__ static inline void load_floats(float out[N], const float *from)
{
    static_assert(N == 1 || N == 2 || N == 4, "1, 2 or 4 floats at once");
    if (N == 4) {
        float4 v = *(const float4 *)from;
        out[0] = v.x, out[1 % N] = v.y, out[2 % N] = v.z, out[3 % N] = v.w;
    } else if (N == 2) {
        float2 v = *(const float2 *)from;
        out[0] = v.x, out[1 % N] = v.y;
    } else
        out[0] = *from;
}

template <int N>
__device__ static inline void store_floats(float *to, const float in[N])
{
    static_assert(N == 1 || N == 2 || N == 4, "1, 2 or 4 floats at once");
    if (N == 4)
        *(float4 *)to = make_float4(in[0], in[1 % N], in[2 % N], in[3 % N]);
    else if (N == 2)
        *(float2 *)to = make_float2(in[0], in[1 % N]);
    else
        *to = in[0];
}

template <int N>
__device__ static inline void load_floats(float out[N], const bf16 *from)
{
    static_assert(N == 1 || N == 2 || N == 4 || N == 8, "1, 2, 4 or 8 bf16 at once");
    uint32_t pair[4] = {0, 0, 0, 0};
    if (N == 1) {
        out[0] = to_float(*from);
        return;
    }
    if (N == 8) {
        uint4 v = *(const uint4 *)from;
        pair[0] = v.x, pair[1] = v.y, pair[2] = v.z, pair[3] = v.w;
    } else if (N == 4) {
        uint2 v = *(const uint2 *)from;
        pair[0] = v.x, pair[1] = v.y;
    } else
        pair[0] = *(const uint32_t *)from;
    for (int i = 0; i < N / 2; i++) {
        float2 v = unpack_bf16(pair[i]);
        out[2 * i] = v.x, out[2 * i + 1] = v.y;
    }
}

template <int N>
__device__ static inline void store_floats(bf16 *to, const float in[N])
{
    static_assert(N == 1 || N == 2 || N == 4 || N == 8, "1, 2, 4 or 8 bf16 at once");
    if (N == 1)
        *to = from_float<bf16>(in[0]);
    else if (N == 2)
        *(uint32_t *)to = pack_bf16(in[0], in[1 % N]);
    else if (N == 4)
        *(uint2 *)to = make_uint2(pack_bf16(in[0], in[1 % N]), pack_bf16(in[2 % N], in[3 % N]));
    else
        *(uint4 *)to = make_uint4(pack_bf16(in[0], in[1 % N]), pack_bf16(in[2 % N], in[3 % N]),
                                  pack_bf16(in[4 % N], in[5 % N]), pack_bf16(in[6 % N], in[7 % N]));
}

/* e^log x, near 1 as 1 + (e^log - 1), so that the factor's rounding does not add up over many
 * rows. */
__device__ static inline float keep(float log, float x)
{
    return log > -0.35f ? fmaf(expm1f(log), x, x) : expf(log) * x;
}

/* -- warps: every lane calls, every lane gets the result, in one fixed order of additions -- */

template <class T>
__device__ static inline T warp_sum(T x)
{
    for (int step = WARP / 2; step; step /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, step);
    return x;
}

/* NaN is lost, as in fmaxf. */
__device__ static inline float warp_max(float x)
{
    for (int step = WARP / 2; step; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, step));
    return x;
}

/* The sum over a block of a multiple of 32 threads, at most 1024; every thread calls and gets it.
 * `space` is shared memory for 32 values that no one else uses until the next barrier. */
template <class T>
__device__ static inline T block_sum(T x, T *space)
{
    int warps = (int)blockDim.x / WARP, lane = (int)threadIdx.x % WARP;
    x = warp_sum(x);
    __syncthreads(); /* an earlier use of `space` is over */
    if (lane == 0)
        space[threadIdx.x / WARP] = x;
    __syncthreads();
    return warp_sum(lane < warps ? space[lane] : T(0));
}

__device__ static inline float block_max(float x, float *space)
{
    int warps = (int)blockDim.x / WARP, lane = (int)threadIdx.x % WARP;
    x = warp_max(x);
    __syncthreads();
    if (lane == 0)
        space[threadIdx.x / WARP] = x;
    __syncthreads();
    return warp_max(lane < warps ? space[lane] : -INFINITY);
}

/* -- tensor cores: d += a b, all lanes of a warp. Fragments as PTX ISA "Matrix Fragments for
 * mma.m16n8k16" and "mma.m16n8k8" have them; with g = lane / 4 and t = lane % 4:
 *
 *     both: d[0..1] = D[g][2t..2t+1], d[2..3] = D[g+8][2t..2t+1]
 *
 *     bf16: a[0] = A[g][2t..2t+1], a[1] = A[g+8][..], a[2] = A[g][2t+8..], a[3] = A[g+8][2t+8..]
 *
 *           b[0] = B[2t..2t+1][g], b[1] = B[2t+8..2t+9][g]
 *
 *     tf32: a[0] = A[g][t], a[1] = A[g+8][t], a[2] = A[g][t+4], a[3] = A[g+8][t+4]
 *
 *           b[0] = B[t][g], b[1] = B[t+4][g]
 *
 * -- */

__device__ static inline void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, "
                 "%6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    host_mma_bf16(d, a, b);
#endif
}

/* Operands from to_tf32; the lowest 13 bits of others are cut off. */
__device__ static inline void mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, "
                 "%6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    host_mma_tf32(d, a, b);
#endif
}

/* A float rounded to the 10-bit mantissa of tf32, ties away from 0. */
__device__ static inline uint32_t to_tf32(float x)
{
#ifdef __CUDACC__
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
#else
    return host_tf32_bits(x);
#endif
}

/* What reads or writes memory by an instruction of its own says so ("memory"), or the compiler
 * could move it across plain accesses of the same memory. */

/* 8x8 matrices of 16-bit elements from shared memory. Lane 8i + j gives the address of row j of
 * matrix i, 16-byte aligned; r[i] gets M_i[lane / 4][2 (lane % 4) ..+1]; _trans: the transpose's.
 */
__device__ static inline void ldmatrix_x4(uint32_t r[4], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
#else
    host_ldmatrix_x4(r, row, 0);
#endif
}

__device__ static inline void ldmatrix_x4_trans(uint32_t r[4], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
#else
    host_ldmatrix_x4(r, row, 1);
#endif
}

/* -- asynchronous copies from global to shared memory. The data is there for the thread after
 * cp_async_wait, for others after a barrier that follows it -- */

/* 16 bytes, both addresses 16-byte aligned; with valid = 0 nothing is read and zeros are written.
 */
__device__ static inline void cp_async_16(void *shared, const void *global, int valid)
{
#ifdef __CUDACC__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"(valid ? 16 : 0)
                 : "memory");
#else
    host_cp_async_16(shared, global, valid);
#endif
}

/* Ends a group of copies. */
__device__ static inline void cp_async_commit(void)
{
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    host_cp_async_commit();
#endif
}

/* Waits until at most the N latest groups are under way. */
template <int N>
__device__ static inline void cp_async_wait(void)
{
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#else
    host_cp_async_wait(N);
#endif
}

/* 2^x to about 2 ulp; denormals become 0; 2^-inf = 0. */
__device__ static inline float exp2_fast(float x)
{
#ifdef __CUDACC__
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
#else
    return host_exp2(x);
#endif
}

/* x, hidden from the compiler: what depends on it is computed here, not before a loop and kept in
 * registers. */
__device__ static inline unsigned not_before(unsigned x)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(x));
#endif
    return x;
}

#endif
