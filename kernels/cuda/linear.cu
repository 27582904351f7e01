/* Matrix products of the cuda set, by cuBLASLt.
 *
 * The library sees column-major matrices: y^T [out, rows] = w' x^T, so that the bias runs along its first dimension, as the
 * epilogue wants it. For one shape of weight one algorithm is chosen, by the library's own ranking for a number of rows that
 * follows from the rows of ONE segment; it then serves every batch. Split-K and anything that needs a workspace (stream-K) are
 * ruled out, so each output is one sum over tiles in a fixed order, whatever the number of rows. */
#include "kernels/cuda/state.cuh"

#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 16 };

/* A kind of product with its algorithm. */
struct plan {
    struct product shape; /* its pointers and accumulate are of the first use */
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulAlgo_t algo;
};

struct cuda_products {
    cublasLtHandle_t library;
    struct plan *plans;
    size_t count, room;
};

/* The layouts of one call; freed together. */
struct layouts {
    cublasLtMatrixLayout_t w, x, d;
};

static int check(struct kernels *k, cublasStatus_t status, const char *what, const struct product *p)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    return kernels_keep_error(k, "GPU: matrix product of depth %zu and width %zu: %s: %s", p->depth, p->out, what,
                              cublasLtGetStatusString(status));
}

static void layouts_free(struct layouts *l)
{
    cublasLtMatrixLayout_t all[] = {l->w, l->x, l->d};
    for (int i = 0; i < 3; i++)
        if (all[i])
            cublasLtMatrixLayoutDestroy(all[i]);
}

static int layouts_make(struct kernels *k, struct layouts *l, const struct product *p, size_t rows)
{
    cudaDataType_t in = p->in_bf16 ? CUDA_R_16BF : CUDA_R_32F, out = p->out_bf16 ? CUDA_R_16BF : CUDA_R_32F;
    size_t w_rows = p->forward ? p->depth : p->out, w_columns = p->forward ? p->out : p->depth;
    memset(l, 0, sizeof *l);
    if (check(k, cublasLtMatrixLayoutCreate(&l->w, in, w_rows, w_columns, (int64_t)w_rows), "layout", p) ||
        check(k, cublasLtMatrixLayoutCreate(&l->x, in, p->depth, rows, (int64_t)p->depth), "layout", p) ||
        check(k, cublasLtMatrixLayoutCreate(&l->d, out, p->out, rows, (int64_t)p->out), "layout", p)) {
        layouts_free(l);
        return -1;
    }
    return 0;
}

static int set_bias(struct kernels *k, struct plan *plan, const struct product *p)
{
    return p->bias
               ? check(k, cublasLtMatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->bias, sizeof p->bias),
                       "bias", p)
               : 0;
}

/* 1 if the algorithm sums over the depth in one piece. */
static int in_one_piece(const cublasLtMatmulAlgo_t *algo)
{
    int32_t split = 0;
    uint32_t scheme = 0;
    size_t written;
    return cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split, sizeof split, &written) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof scheme, &written) ==
               CUBLAS_STATUS_SUCCESS &&
           split <= 1 && scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
}

/* Rows that algorithms are ranked for: a few segments, or a tile where a segment has few rows. */
static size_t rows_for_choice(size_t count)
{
    size_t rows = 4 * (count < 32 ? 32 : count);
    return rows < 16384 ? rows : 16384;
}

/* The largest power of two up to 256 that divides the bytes of a row: what any row of an array is aligned to. */
static uint32_t row_alignment(size_t columns, int is_bf16)
{
    size_t bytes = columns * (is_bf16 ? 2 : 4), alignment = bytes & (~bytes + 1);
    return (uint32_t)(alignment < 256 ? alignment : 256);
}

/* Of products that begin in the middle of arrays. */
static int set_alignment(struct kernels *k, cublasLtMatmulPreference_t preference, const struct product *p)
{
    uint32_t x = row_alignment(p->depth, p->in_bf16), d = row_alignment(p->out, p->out_bf16);
    return check(k, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &x, sizeof x),
                 "choice", p) ||
           check(k, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &d, sizeof d),
                 "choice", p) ||
           check(k, cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &d, sizeof d),
                 "choice", p);
}

static int choose_algorithm(struct kernels *k, struct plan *plan, cublasLtMatmulPreference_t preference, const struct product *p)
{
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    const size_t workspace = 0;
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE;
    struct layouts l;
    int count = 0;
    if (check(k,
              cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                   sizeof workspace),
              "choice", p) ||
        check(k,
              cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
                                                   sizeof schemes),
              "choice", p) ||
        (p->inside && set_alignment(k, preference, p)) || layouts_make(k, &l, p, rows_for_choice(p->count)))
        return -1;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(cuda_state(k)->products->library, plan->desc, l.w, l.x, l.d, l.d,
                                                           preference, CANDIDATES, found, &count);
    layouts_free(&l);
    if (check(k, status, "no algorithm", p))
        return -1;
    for (int i = 0; i < count; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS && in_one_piece(&found[i].algo)) {
            plan->algo = found[i].algo;
            return 0;
        }
    return kernels_keep_error(k, "GPU: matrix product of depth %zu and width %zu: cuBLASLt has no algorithm without split sums",
                              p->depth, p->out);
}

static int plan_fill(struct kernels *k, struct plan *plan, const struct product *p)
{
    cublasComputeType_t compute = cuda_state(k)->arithmetic == ARITHMETIC_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                               : CUBLAS_COMPUTE_32F;
    cublasOperation_t transpose = p->forward ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = p->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    cublasLtMatmulPreference_t preference;
    plan->shape = *p;
    if (check(k, cublasLtMatmulDescCreate(&plan->desc, compute, CUDA_R_32F), "descriptor", p))
        return -1;
    if (check(k, cublasLtMatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose),
              "descriptor", p) ||
        check(k, cublasLtMatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
              "descriptor", p) ||
        set_bias(k, plan, p) || check(k, cublasLtMatmulPreferenceCreate(&preference), "choice", p)) {
        cublasLtMatmulDescDestroy(plan->desc);
        return -1;
    }
    int failed = choose_algorithm(k, plan, preference, p);
    cublasLtMatmulPreferenceDestroy(preference);
    if (failed)
        cublasLtMatmulDescDestroy(plan->desc);
    return failed;
}

/* 1 if one plan serves both. */
static int same_kind(const struct product *a, const struct product *b)
{
    return a->out == b->out && a->depth == b->depth && a->forward == b->forward && a->in_bf16 == b->in_bf16 &&
           a->out_bf16 == b->out_bf16 && a->inside == b->inside && (a->bias != NULL) == (b->bias != NULL) &&
           rows_for_choice(a->count) == rows_for_choice(b->count);
}

static struct plan *plan_find(struct kernels *k, const struct product *p)
{
    struct cuda_products *all = cuda_state(k)->products;
    for (size_t i = 0; i < all->count; i++)
        if (same_kind(&all->plans[i].shape, p))
            return &all->plans[i];
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 32;
        struct plan *grown = (struct plan *)realloc(all->plans, room * sizeof *grown);
        if (!grown) {
            kernels_keep_error(k, "out of memory (%zu bytes for plans of matrix products)", room * sizeof *grown);
            return NULL;
        }
        all->plans = grown;
        all->room = room;
    }
    return plan_fill(k, &all->plans[all->count], p) ? NULL : &all->plans[all->count++];
}

void cuda_multiply(struct kernels *k, const struct product *p, size_t rows)
{
    struct cuda_state *s = cuda_state(k);
    const float one = 1, beta = p->accumulate ? 1 : 0;
    struct plan *plan = plan_find(k, p);
    struct layouts l;
    if (!plan || !rows || set_bias(k, plan, p) || layouts_make(k, &l, p, rows))
        return;
    check(k,
          cublasLtMatmul(s->products->library, plan->desc, &one, p->w, l.w, p->x, l.x, &beta, p->d, l.d, p->d, l.d, &plan->algo,
                         NULL, 0, s->stream),
          "run", p);
    layouts_free(&l);
}

static void linear(struct kernels *k, struct buffer *y, const struct buffer *x, const struct weight *w, const struct weight *bias,
                   struct rows rows, int accumulate)
{
    int out_bf16 = cuda_is_bf16(k, y);
    struct product p = {y->data,
                        x->data,
                        cuda_weight_data(k, w),
                        out_bf16 ? cuda_weight_bf16(k, bias) : cuda_weight_data(k, bias),
                        w->rows,
                        w->columns,
                        (size_t)rows.count,
                        1,
                        cuda_is_bf16(k, x),
                        out_bf16,
                        accumulate,
                        0};
    cuda_multiply(k, &p, (size_t)rows.segments * (size_t)rows.count);
}

static void linear_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy, const struct weight *w,
                           struct rows rows, int accumulate)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    int in_bf16 = cuda_state(k)->arithmetic == ARITHMETIC_BF16;
    const void *in = dy->data;
    if (in_bf16 && !cuda_is_bf16(k, dy)) { /* the gradient of the residual stream, rounded once */
        bf16 *narrow = (bf16 *)cuda_scratch(k, total * w->rows * sizeof(bf16), "a gradient in bf16");
        if (!narrow)
            return;
        cuda_convert_bf16(cuda_state(k)->stream, narrow, (const float *)dy->data, total * w->rows);
        in = narrow;
    }
    struct product p = {dx->data, in,      cuda_weight_data(k, w), NULL,       w->columns, w->rows, (size_t)rows.count,
                        0,        in_bf16, cuda_is_bf16(k, dx),    accumulate, 0};
    cuda_multiply(k, &p, total);
}

/* The number of runs from `first` on that lie one behind the other and have one matrix: one product is for them. Their rows. */
static size_t join_runs(size_t *rows, const struct run *runs, size_t first, size_t run_count)
{
    size_t i = first;
    *rows = 0;
    for (; i < run_count && runs[i].weight == runs[first].weight && runs[i].first == runs[first].first + *rows; i++)
        *rows += (size_t)runs[i].count;
    return i - first;
}

/* The array from row `first` of `width` elements on. */
static char *row_of(struct kernels *k, const struct buffer *b, size_t first, size_t width)
{
    return (char *)b->data + first * width * k->role_size[b->role];
}

static void linear_runs(struct kernels *k, struct buffer *y, const struct buffer *x, const struct run *runs, size_t run_count,
                        int typical, int accumulate)
{
    size_t rows;
    int out_bf16 = cuda_is_bf16(k, y);
    for (size_t i = 0; i < run_count; i += join_runs(&rows, runs, i, run_count)) {
        const struct weight *w = runs[i].weight, *bias = runs[i].bias;
        join_runs(&rows, runs, i, run_count);
        struct product p = {row_of(k, y, runs[i].first, w->rows),
                            row_of(k, x, runs[i].first, w->columns),
                            cuda_weight_data(k, w),
                            out_bf16 ? cuda_weight_bf16(k, bias) : cuda_weight_data(k, bias),
                            w->rows,
                            w->columns,
                            (size_t)typical,
                            1,
                            cuda_is_bf16(k, x),
                            out_bf16,
                            accumulate,
                            1};
        cuda_multiply(k, &p, rows);
    }
}

static void linear_runs_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy, const struct run *runs,
                                size_t run_count, int typical, int accumulate)
{
    size_t rows;
    for (size_t i = 0; i < run_count; i += join_runs(&rows, runs, i, run_count)) {
        const struct weight *w = runs[i].weight;
        join_runs(&rows, runs, i, run_count);
        struct product p = {row_of(k, dx, runs[i].first, w->columns),
                            row_of(k, dy, runs[i].first, w->rows),
                            cuda_weight_data(k, w),
                            NULL,
                            w->columns,
                            w->rows,
                            (size_t)typical,
                            0,
                            cuda_is_bf16(k, dy),
                            cuda_is_bf16(k, dx),
                            accumulate,
                            1};
        cuda_multiply(k, &p, rows);
    }
}

int cuda_products_open(struct kernels *k, struct error *e)
{
    struct cuda_products *all = (struct cuda_products *)calloc(1, sizeof *all);
    if (!all)
        return fail_memory(e, sizeof *all, "a kernel set");
    cublasStatus_t status = cublasLtCreate(&all->library);
    if (status != CUBLAS_STATUS_SUCCESS) {
        free(all);
        return fail(e, "cuBLASLt cannot start: %s", cublasLtGetStatusString(status));
    }
    cuda_state(k)->products = all;
    return 0;
}

void cuda_products_close(struct cuda_state *s)
{
    struct cuda_products *all = s->products;
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        cublasLtMatmulDescDestroy(all->plans[i].desc);
    cublasLtDestroy(all->library);
    free(all->plans);
    free(all);
}

void cuda_fill_linear(struct kernels *k)
{
    k->linear = linear;
    k->linear_reverse = linear_reverse;
    k->linear_runs = linear_runs;
    k->linear_runs_reverse = linear_runs_reverse;
}
