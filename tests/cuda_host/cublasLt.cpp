/* cuBLASLt's stand-in. See cublasLt.h. */
#include "cublasLt.h"
#include "tests/cuda_host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <vector>

struct host_blas {
    int unused;
};
struct host_desc {
    cublasComputeType_t compute;
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};
struct host_layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t ld;
};
struct host_preference {
    size_t workspace;
    uint32_t schemes;
    uint32_t alignment[4]; /* of a, b, c and d */
};

enum { ALGO_SPLIT = 1, ALGO_NEVER, ALGO_FEW_ROWS, ALGO_LATE, ALGO_WHOLE };

/* The mode that a test asks for. */
static int is_mode(const char *mode)
{
    const char *named = getenv("REACH_CUDA_HOST_BLAS");
    return named && !strcmp(named, mode);
}

[[noreturn]] static void die(const char *what)
{
    fprintf(stderr, "cuBLASLt stand-in: %s\n", what);
    abort();
}

size_t cublasLtGetVersion(void)
{
    return 130000;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_INVALID_VALUE";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = new host_blas();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    if (scale != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    *desc = new host_desc{compute, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, NULL};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    void *to = NULL;
    size_t size = 4;
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: to = &desc->transpose_a; break;
    case CUBLASLT_MATMUL_DESC_TRANSB: to = &desc->transpose_b; break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: to = &desc->epilogue; break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: to = &desc->bias, size = sizeof desc->bias; break;
    }
    if (!to || bytes != size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    if (!rows || !columns || ld < (int64_t)rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    *layout = new host_layout{type, rows, columns, ld};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = new host_preference{0, 0x1f, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes)
{
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
        bytes == sizeof preference->workspace)
        memcpy(&preference->workspace, value, bytes);
    else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
             bytes == sizeof preference->schemes)
        memcpy(&preference->schemes, value, bytes);
    else if (attribute >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
             attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES &&
             bytes == sizeof preference->alignment[0])
        memcpy(&preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
               value, bytes);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

/* 1 if the layouts fit: d[m, n] = op(a) b. */
static int fits(const struct host_desc *desc, const struct host_layout *a,
                const struct host_layout *b, const struct host_layout *d)
{
    uint64_t m = desc->transpose_a == CUBLAS_OP_T ? a->columns : a->rows,
             depth = desc->transpose_a == CUBLAS_OP_T ? a->rows : a->columns;
    return desc->transpose_b == CUBLAS_OP_N && m == d->rows && depth == b->rows &&
           b->columns == d->columns && a->type == b->type &&
           (a->type == CUDA_R_16BF || d->type == CUDA_R_32F);
}

static int is_odd(const struct host_layout *l)
{
    return l->ld * (l->type == CUDA_R_16BF ? 2 : 4) % 16 != 0;
}

/* Where the caller wants no split sums, one comes first all the same: it has to look. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    (void)handle;
    if (wanted < 2 || !fits(desc, a, b, d) || c->rows != d->rows || c->columns != d->columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    static const int plain[] = {ALGO_SPLIT, ALGO_WHOLE},
                     hostile[] = {ALGO_NEVER, ALGO_SPLIT, ALGO_FEW_ROWS, ALGO_LATE};
    const int *algos = is_mode("hostile") ? hostile : plain, count = algos == hostile ? 4 : 2;
    *found = 0;
    if (is_mode("nothing") || (algos == hostile && (is_odd(a) || is_odd(b) || is_odd(d))))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int n = 0; n < count && n < wanted; n++) {
        memset(&results[n], 0, sizeof *results);
        results[n].algo.data[0] = (uint64_t)algos[n];
        for (int i = 0; i < 4; i++)
            results[n].algo.data[1 + i] = preference->alignment[i];
        ++*found;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    (void)handle, (void)c;
    memset(result, 0, sizeof *result);
    if (!fits(desc, a, b, d))
        return CUBLAS_STATUS_INVALID_VALUE;
    /* as the library does on Hopper for more tiles than multiprocessors: what it would take, though
     * it runs with none */
    result->workspaceSize = d->columns > 40 ? 4 : 0;
    return algo->data[0] == ALGO_FEW_ROWS && d->columns > 1000 ? CUBLAS_STATUS_NOT_SUPPORTED
                                                               : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void *value, size_t bytes, size_t *written)
{
    int32_t number = 0;
    if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
        number = algo->data[0] == ALGO_SPLIT ? 4 : 1;
    if (bytes !=
        (attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ? sizeof(uint16_t) : sizeof number))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, &number, bytes);
    *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

static float element(const void *data, cudaDataType_t type, uint64_t i)
{
    return type == CUDA_R_16BF ? __uint_as_float((uint32_t)((const uint16_t *)data)[i] << 16)
                               : ((const float *)data)[i];
}

struct call {
    host_desc desc;
    host_layout a, b, d;
    const void *a_data, *b_data, *c_data;
    void *d_data;
    float alpha, beta;
};

static float operand(const struct call &c, const void *data, cudaDataType_t type, uint64_t i)
{
    float x = element(data, type, i);
    return c.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && type == CUDA_R_32F
               ? __uint_as_float(__float_as_uint(x) & ~0x1fffu)
               : x;
}

/* sum[0..m) = op(a) b[:, column], over the depth in order; `w` is op(a) as [depth, m]. A product is
 * added before it is rounded, as a GPU does it. */
static void product_column(float *sum, const float *w, const struct call &c, uint64_t column,
                           uint64_t m, uint64_t depth)
{
    memset(sum, 0, m * sizeof *sum);
    for (uint64_t k = 0; k < depth; k++) {
        float x = operand(c, c.b_data, c.b.type, column * (uint64_t)c.b.ld + k);
        const float *row = w + k * m;
        for (uint64_t i = 0; i < m; i++)
            sum[i] = (float)((double)x * row[i] + sum[i]);
    }
}

static size_t bytes_of(const struct host_layout &l)
{
    return ((l.columns - 1) * (uint64_t)l.ld + l.rows) * (l.type == CUDA_R_16BF ? 2 : 4);
}

static void run(const struct call &c)
{
    int transposed = c.desc.transpose_a == CUBLAS_OP_T;
    race_read(c.a_data, bytes_of(c.a), NULL);
    race_read(c.b_data, bytes_of(c.b), NULL);
    if (c.beta != 0)
        race_read(c.c_data, bytes_of(c.d), NULL);
    if (c.desc.epilogue == CUBLASLT_EPILOGUE_BIAS)
        race_read(c.desc.bias, c.d.rows * (c.d.type == CUDA_R_16BF ? 2 : 4), NULL);
    race_write(c.d_data, bytes_of(c.d), NULL);
    uint64_t m = c.d.rows, depth = c.b.rows;
    std::vector<float> w(depth * m), sum(m);
    for (uint64_t k = 0; k < depth; k++)
        for (uint64_t i = 0; i < m; i++)
            w[k * m + i] = operand(c, c.a_data, c.a.type,
                                   transposed ? i * (uint64_t)c.a.ld + k
                                              : k * (uint64_t)c.a.ld + i);
    for (uint64_t j = 0; j < c.d.columns; j++) {
        product_column(sum.data(), w.data(), c, j, m, depth);
        for (uint64_t i = 0; i < m; i++) {
            uint64_t at = j * (uint64_t)c.d.ld + i;
            float x =
                c.alpha * sum[i] + (c.beta != 0 ? c.beta * element(c.c_data, c.d.type, at) : 0) +
                (c.desc.epilogue == CUBLASLT_EPILOGUE_BIAS ? element(c.desc.bias, c.d.type, i) : 0);
            if (c.d.type == CUDA_R_16BF)
                ((uint16_t *)c.d_data)[at] = host_bf16_bits(x);
            else
                ((float *)c.d_data)[at] = x;
        }
    }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    (void)handle, (void)workspace, (void)workspace_bytes;
    const void *operands[] = {a, b, c, d};
    if (algo->data[0] == ALGO_SPLIT)
        die("a product by an algorithm with a split sum");
    if (algo->data[0] == ALGO_FEW_ROWS)
        die("a product by an algorithm that was not checked for many rows");
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)operands[i] % algo->data[1 + i])
            die("a product by an algorithm for operands of another alignment");
    if (algo->data[0] == ALGO_NEVER || (algo->data[0] == ALGO_LATE && d_layout->columns > 40))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (c_layout->type != d_layout->type || c_layout->ld != d_layout->ld ||
        !fits(desc, a_layout, b_layout, d_layout) ||
        (desc->epilogue == CUBLASLT_EPILOGUE_BIAS && !desc->bias))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct call call = {*desc,
                        *a_layout,
                        *b_layout,
                        *d_layout,
                        a,
                        b,
                        c,
                        d,
                        *(const float *)alpha,
                        *(const float *)beta};
    host_enqueue(stream, [=] { run(call); });
    return CUBLAS_STATUS_SUCCESS;
}
