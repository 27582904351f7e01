/* What cuBLASLt offers for the matrix products of the cuda set: the algorithms that it ranks for a
 * shape, which of them its own check passes for other numbers of rows, whether a row's bytes depend
 * on the number of rows, and how long each takes.
 *
 *   choices bf16|tf32|f32 OUT DEPTH forward|reverse bf16|float BIAS [WORKSPACE_MIB]      the
 * result's type; BIAS 0 or 1
 *
 * A line an algorithm: its configuration, the rows that it is ranked for, the workspace it wants
 * there; of each number of rows s (no), w (wants a workspace) or y; the rows for which the first
 * ones' bytes differ from those of 16376; milliseconds for 16376 rows. */
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

enum { CANDIDATES = 32, MOST = 65536 };
static const int rows_asked[] = {1, 8, 64, 128, 300, 2047, 4094, 16376, 65504, 65536};

[[noreturn]] static void die(const char *what)
{
    fprintf(stderr, "choices: %s\n", what);
    exit(1);
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        die(cudaGetErrorString(error));
}

static int config(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t name,
                  size_t bytes)
{
    uint32_t wide = 0;
    uint16_t narrow = 0;
    size_t written = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(algo, name,
                                             bytes == 2 ? (void *)&narrow : (void *)&wide, bytes,
                                             &written))
        return -1;
    return bytes == 2 ? narrow : (int)wide;
}

struct problem {
    cublasLtHandle_t library;
    cublasLtMatmulDesc_t desc;
    cudaDataType_t in, out_type;
    size_t out, depth;
    int forward;
    void *w, *x, *d, *bias, *workspace;
    size_t workspace_bytes;
    cudaStream_t stream;
};

struct layouts {
    cublasLtMatrixLayout_t w, x, d;
};

static struct layouts layouts_of(const struct problem &p, size_t rows)
{
    struct layouts l;
    size_t w_rows = p.forward ? p.depth : p.out, w_columns = p.forward ? p.out : p.depth;
    if (cublasLtMatrixLayoutCreate(&l.w, p.in, w_rows, w_columns, (int64_t)w_rows) ||
        cublasLtMatrixLayoutCreate(&l.x, p.in, p.depth, rows, (int64_t)p.depth) ||
        cublasLtMatrixLayoutCreate(&l.d, p.out_type, p.out, rows, (int64_t)p.out))
        die("layout");
    return l;
}

static void layouts_free(struct layouts l)
{
    cublasLtMatrixLayoutDestroy(l.w), cublasLtMatrixLayoutDestroy(l.x),
        cublasLtMatrixLayoutDestroy(l.d);
}

static cublasStatus_t run(const struct problem &p, const cublasLtMatmulAlgo_t *algo, size_t rows)
{
    const float one = 1, zero = 0;
    struct layouts l = layouts_of(p, rows);
    cublasStatus_t status = cublasLtMatmul(p.library, p.desc, &one, p.w, l.w, p.x, l.x, &zero, p.d,
                                           l.d, p.d, l.d, algo, p.workspace, p.workspace_bytes,
                                           p.stream);
    layouts_free(l);
    return status;
}

static float milliseconds(const struct problem &p, const cublasLtMatmulAlgo_t *algo, size_t rows)
{
    cudaEvent_t begin, end;
    float ms = 0;
    check(cudaEventCreate(&begin)), check(cudaEventCreate(&end));
    for (int i = 0; i < 3; i++)
        if (run(p, algo, rows))
            return NAN;
    check(cudaEventRecord(begin, p.stream));
    for (int i = 0; i < 10; i++)
        (void)run(p, algo, rows);
    check(cudaEventRecord(end, p.stream));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
    return ms / 10;
}

static void filled(void **to, size_t bytes)
{
    std::vector<unsigned short> host(bytes / 2);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = (unsigned short)(0x3c00 | (((uint32_t)i * 2654435761u) >> 20 & 0x83ff));
    check(cudaMalloc(to, bytes));
    check(cudaMemcpy(*to, host.data(), bytes, cudaMemcpyHostToDevice));
}

static void show(const struct problem &p, const cublasLtMatmulHeuristicResult_t &r, int ranked)
{
    const cublasLtMatmulAlgo_t *algo = &r.algo;
    printf("ranked for %5d: state %d id %d tile %d stages %d cluster %d inner %d split %d scheme "
           "%d swizzle %d custom %d ws %zu "
           "waves %.2f |",
           ranked, (int)r.state, config(algo, CUBLASLT_ALGO_CONFIG_ID, 4),
           config(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
           config(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
           config(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
           config(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2),
           config(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4),
           config(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4),
           config(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4),
           config(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4), r.workspaceSize,
           (double)r.wavesCount);
    size_t first_bytes = p.out * (p.out_type == CUDA_R_16BF ? 2 : 4);
    std::vector<char> whole(first_bytes * 2047), part(first_bytes * 2047);
    check(cudaMemsetAsync(p.d, 0xff, first_bytes * 16376, p.stream));
    int runs = run(p, algo, 16376) == CUBLAS_STATUS_SUCCESS;
    check(cudaMemcpyAsync(whole.data(), p.d, whole.size(), cudaMemcpyDeviceToHost, p.stream));
    check(cudaStreamSynchronize(p.stream));
    char differs[200] = "";
    for (int rows : rows_asked) {
        cublasLtMatmulHeuristicResult_t result = {};
        struct layouts l = layouts_of(p, (size_t)rows);
        cublasStatus_t status = cublasLtMatmulAlgoCheck(p.library, p.desc, l.w, l.x, l.d, l.d, algo,
                                                        &result);
        layouts_free(l);
        printf(" %d%s", rows, status ? "s" : result.workspaceSize ? "w" : "y");
        if (status)
            printf("(%d)", (int)status);
        else if (result.workspaceSize)
            printf("(%zu)", result.workspaceSize);
        if (runs && rows <= 2047) {
            if (run(p, algo, (size_t)rows)) {
                snprintf(differs + strlen(differs), sizeof differs - strlen(differs), " %d:no",
                         rows);
                continue;
            }
            check(cudaMemcpyAsync(part.data(), p.d, first_bytes * (size_t)rows,
                                  cudaMemcpyDeviceToHost, p.stream));
            check(cudaStreamSynchronize(p.stream));
            if (memcmp(part.data(), whole.data(), first_bytes * (size_t)rows))
                snprintf(differs + strlen(differs), sizeof differs - strlen(differs), " %d", rows);
        }
    }
    printf(" | differ:%s | %.3f ms\n", *differs ? differs : " none",
           (double)milliseconds(p, algo, 16376));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 7)
        die("usage: choices bf16|tf32|f32 OUT DEPTH forward|reverse bf16|float BIAS "
            "[WORKSPACE_MIB]");
    int narrow = !strcmp(argv[1], "bf16"), bias = atoi(argv[6]);
    struct problem p = {};
    p.in = narrow ? CUDA_R_16BF : CUDA_R_32F,
    p.out_type = !strcmp(argv[5], "bf16") ? CUDA_R_16BF : CUDA_R_32F;
    p.out = (size_t)atoi(argv[2]), p.depth = (size_t)atoi(argv[3]),
    p.forward = !strcmp(argv[4], "forward");
    p.workspace_bytes = argc > 7 ? (size_t)atoi(argv[7]) << 20 : 0;
    cublasOperation_t transpose = p.forward ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    size_t in_bytes = narrow ? 2 : 4;
    filled(&p.w, p.out * p.depth * in_bytes), filled(&p.x, MOST * p.depth * in_bytes),
        filled(&p.bias, p.out * 4);
    check(cudaMalloc(&p.d, MOST * p.out * 4));
    if (p.workspace_bytes)
        check(cudaMalloc(&p.workspace, p.workspace_bytes));
    check(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    if (cublasLtCreate(&p.library) ||
        cublasLtMatmulDescCreate(&p.desc,
                                 strcmp(argv[1], "tf32") ? CUBLAS_COMPUTE_32F
                                                         : CUBLAS_COMPUTE_32F_FAST_TF32,
                                 CUDA_R_32F) ||
        cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                       sizeof transpose) ||
        cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                       sizeof epilogue) ||
        (bias && cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias,
                                                sizeof p.bias)))
        die("description");
    printf("== %s: cuBLASLt %zu, workspace %zu\n", argv[1], cublasLtGetVersion(),
           p.workspace_bytes);
    for (int ranked : {65536, 16376, 2047, 1}) {
        cublasLtMatmulPreference_t preference;
        cublasLtMatmulHeuristicResult_t found[CANDIDATES];
        const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE;
        int count = 0;
        struct layouts l = layouts_of(p, (size_t)ranked);
        if (cublasLtMatmulPreferenceCreate(&preference) ||
            cublasLtMatmulPreferenceSetAttribute(preference,
                                                 CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &p.workspace_bytes, sizeof p.workspace_bytes) ||
            cublasLtMatmulPreferenceSetAttribute(preference,
                                                 CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                 &schemes, sizeof schemes))
            die("preference");
        cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(p.library, p.desc, l.w, l.x, l.d,
                                                               l.d, preference, CANDIDATES, found,
                                                               &count);
        printf("ranked for %d: status %d, %d algorithms\n", ranked, (int)status, count);
        for (int i = 0; i < count && i < (ranked == 65536 || ranked == 2047 ? 12 : 4); i++)
            show(p, found[i], ranked);
        layouts_free(l);
        cublasLtMatmulPreferenceDestroy(preference);
    }
    return 0;
}
