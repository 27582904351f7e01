/* Matrix products of the cuda set, by cuBLASLt; by product_tile.cu where it has no way.
 *
 * The library sees column-major matrices: y^T [out, rows] = w' x^T, so that the bias runs along its
 * first dimension, as the epilogue wants it. For one shape of weight and one number of rows of a
 * segment one algorithm is chosen, and then serves every batch: of those that the library ranks for
 * RANKED_ROWS rows (then for one segment's) the first that sums in one piece and that the library's
 * own check passes for the fewest and for very many rows. Split-K is ruled out, and what needs a
 * workspace to sum in (stream-K) is not offered, because there is none: so each output is one sum
 * over tiles in a fixed order, whatever the number of rows. The check names a workspace of 4 bytes
 * for nearly all of Hopper's algorithms (a counter of tiles, by which blocks that stay take the
 * next one); they run without it, as the ranking says, and give the same bytes at all numbers of
 * rows (doc/cuda.md). Asked and checked with are the epilogue, the bias (its type is that of D),
 * the layouts of C and D, which are one, and what all four are aligned to; the library's questions
 * have no place for beta, or for whether C lies apart from D, so that one algorithm serves a
 * product with and without them. One that cannot add C from elsewhere refuses the call, and if it
 * has not run yet the next one is taken. If the library still refuses a number of rows, the call is
 * made in pieces.
 *
 * tf32: the matrix units cut the lower 13 bits of an operand off, so operands are rounded before:
 * weights when they are loaded, x here. */
#include "kernels/cuda/state.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 32 };
static const size_t RANKED_ROWS =
    16384; /* as many as a batch of the memory plan has; up to 6 % faster there than by 65536 */

/* A kind of product with the algorithms that may serve it, the best first; the first one that runs
 * stays. */
struct plan {
    struct product shape; /* its pointers, accumulate and c are of the first use */
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulAlgo_t algos[CANDIDATES];
    int next, count; /* of algos: in use; how many there are. next == count: the library has none */
    int ran; /* algos[next] has */
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

static int check(struct kernels *k, cublasStatus_t status, const char *what,
                 const struct product *p)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    return kernels_keep_error(k, "GPU: matrix product of depth %zu and width %zu: %s: %s", p->depth,
                              p->out, what, cublasLtGetStatusString(status));
}

/* 1 if the library says that it cannot do this, rather than that something broke. */
static int is_refused(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
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
    cudaDataType_t in = p->in_bf16 ? CUDA_R_16BF : CUDA_R_32F,
                   out = p->out_bf16 ? CUDA_R_16BF : CUDA_R_32F;
    size_t w_rows = p->forward ? p->depth : p->out, w_columns = p->forward ? p->out : p->depth;
    memset(l, 0, sizeof *l);
    if (check(k, cublasLtMatrixLayoutCreate(&l->w, in, w_rows, w_columns, (int64_t)w_rows),
              "layout", p) ||
        check(k, cublasLtMatrixLayoutCreate(&l->x, in, p->depth, rows, (int64_t)p->depth), "layout",
              p) ||
        check(k, cublasLtMatrixLayoutCreate(&l->d, out, p->out, rows, (int64_t)p->out), "layout",
              p)) {
        layouts_free(l);
        return -1;
    }
    return 0;
}

static int set_bias(struct kernels *k, struct plan *plan, const struct product *p)
{
    return p->bias
               ? check(k,
                       cublasLtMatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                      &p->bias, sizeof p->bias),
                       "bias", p)
               : 0;
}

/* 1 if the algorithm sums over the depth in one piece. */
static int in_one_piece(const cublasLtMatmulAlgo_t *algo)
{
    int32_t split = 0;
    uint32_t scheme = 0;
    size_t written;
    return cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &split,
                                                sizeof split, &written) == CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                &scheme, sizeof scheme,
                                                &written) == CUBLAS_STATUS_SUCCESS &&
           split <= 1 && scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
}

/* 1 if the library's check passes the algorithm for this many rows, 0 if not, -1 with the error
 * kept.
 */
static int serves(struct kernels *k, struct plan *plan, const cublasLtMatmulAlgo_t *algo,
                  size_t rows)
{
    cublasLtMatmulHeuristicResult_t result;
    struct layouts l;
    if (layouts_make(k, &l, &plan->shape, rows))
        return -1;
    cublasStatus_t status = cublasLtMatmulAlgoCheck(cuda_state(k)->products->library, plan->desc,
                                                    l.w, l.x, l.d, l.d, algo, &result);
    layouts_free(&l);
    return status == CUBLAS_STATUS_SUCCESS;
}

/* The largest power of two up to 256 that divides the bytes of a row: what any row of an array is
 * aligned to. */
static uint32_t row_alignment(size_t columns, int is_bf16)
{
    size_t bytes = columns * (is_bf16 ? 2 : 4), alignment = bytes & (~bytes + 1);
    return (uint32_t)(alignment < 256 ? alignment : 256);
}

/* No workspace, no split sums; rows of any of the arrays may be a call's first. */
static int set_preference(struct kernels *k, cublasLtMatmulPreference_t preference,
                          const struct product *p)
{
    const size_t workspace = 0;
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE,
                   w = row_alignment(p->forward ? p->depth : p->out, p->in_bf16),
                   x = row_alignment(p->depth, p->in_bf16), d = row_alignment(p->out, p->out_bf16);
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t size;
    } all[] = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
               {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &w, sizeof w},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &x, sizeof x},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &d, sizeof d},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &d, sizeof d}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (check(k,
                  cublasLtMatmulPreferenceSetAttribute(preference, all[i].name, all[i].value,
                                                       all[i].size),
                  "choice", p))
            return -1;
    return 0;
}

/* Adds what the library ranks for this many rows and the plan can use. */
static int add_candidates(struct kernels *k, struct plan *plan,
                          cublasLtMatmulPreference_t preference, size_t rows)
{
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    const struct product *p = &plan->shape;
    size_t most = 32 * p->count > 65536 ? 32 * p->count : 65536;
    struct layouts l;
    int count = 0;
    if (layouts_make(k, &l, p, rows))
        return -1;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(cuda_state(k)->products->library,
                                                           plan->desc, l.w, l.x, l.d, l.d,
                                                           preference, CANDIDATES, found, &count);
    layouts_free(&l);
    if (is_refused(status))
        return 0;
    if (check(k, status, "no algorithm", p))
        return -1;
    for (int i = 0; i < count && plan->count < CANDIDATES; i++) {
        int good = found[i].state == CUBLAS_STATUS_SUCCESS && found[i].workspaceSize == 0 &&
                   in_one_piece(&found[i].algo);
        good = good ? serves(k, plan, &found[i].algo, 1) : 0;
        good = good > 0 ? serves(k, plan, &found[i].algo, most) : good;
        if (good < 0)
            return -1;
        if (good)
            plan->algos[plan->count++] = found[i].algo;
    }
    return 0;
}

static int plan_fill(struct kernels *k, struct plan *plan, const struct product *p)
{
    cublasComputeType_t compute = cuda_state(k)->arithmetic == ARITHMETIC_TF32
                                      ? CUBLAS_COMPUTE_32F_FAST_TF32
                                      : CUBLAS_COMPUTE_32F;
    cublasOperation_t transpose = p->forward ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = p->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    cublasLtMatmulPreference_t preference;
    memset(plan, 0, sizeof *plan);
    plan->shape = *p;
    if (check(k, cublasLtMatmulDescCreate(&plan->desc, compute, CUDA_R_32F), "descriptor", p))
        return -1;
    if (check(k,
              cublasLtMatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                             sizeof transpose),
              "descriptor", p) ||
        check(k,
              cublasLtMatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                             sizeof epilogue),
              "descriptor", p) ||
        set_bias(k, plan, p) ||
        check(k, cublasLtMatmulPreferenceCreate(&preference), "choice", p)) {
        cublasLtMatmulDescDestroy(plan->desc);
        return -1;
    }
    int failed = set_preference(k, preference, p) ||
                 add_candidates(k, plan, preference, RANKED_ROWS) ||
                 (!plan->count && add_candidates(k, plan, preference, p->count ? p->count : 1));
    cublasLtMatmulPreferenceDestroy(preference);
    if (failed)
        cublasLtMatmulDescDestroy(plan->desc);
    return failed ? -1 : 0;
}

/* 1 if one plan serves both. */
static int same_kind(const struct product *a, const struct product *b)
{
    return a->out == b->out && a->depth == b->depth && a->forward == b->forward &&
           a->in_bf16 == b->in_bf16 && a->out_bf16 == b->out_bf16 &&
           (a->bias != NULL) == (b->bias != NULL) && a->count == b->count;
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
            kernels_keep_error(k, "out of memory (%zu bytes for plans of matrix products)",
                               room * sizeof *grown);
            return NULL;
        }
        all->plans = grown;
        all->room = room;
    }
    return plan_fill(k, &all->plans[all->count], p) ? NULL : &all->plans[all->count++];
}

/* The same product from row `first` on. */
static struct product rows_from(const struct product *p, size_t first)
{
    struct product rest = *p;
    rest.x = (const char *)p->x + first * p->depth * (p->in_bf16 ? sizeof(bf16) : sizeof(float));
    rest.d = (char *)p->d + first * p->out * (p->out_bf16 ? sizeof(bf16) : sizeof(float));
    if (p->c)
        rest.c = (const char *)p->c + first * p->out * (p->out_bf16 ? sizeof(bf16) : sizeof(float));
    return rest;
}

/* By the plan's algorithm; in halves if the library refuses this many rows. */
static cublasStatus_t run(struct kernels *k, struct plan *plan, const struct product *p,
                          size_t rows)
{
    struct cuda_state *s = cuda_state(k);
    const float one = 1, beta = p->accumulate ? 1 : 0;
    struct layouts l;
    if (layouts_make(k, &l, p, rows))
        return CUBLAS_STATUS_SUCCESS; /* the error is kept */
    cublasStatus_t status = cublasLtMatmul(s->products->library, plan->desc, &one, p->w, l.w, p->x,
                                           l.x, &beta, p->c ? p->c : p->d, l.d, p->d, l.d,
                                           &plan->algos[plan->next], NULL, 0, s->stream);
    layouts_free(&l);
    if (status == CUBLAS_STATUS_SUCCESS)
        plan->ran = 1;
    if (!is_refused(status) || rows == 1)
        return status;
    size_t half = rows / 2;
    struct product rest = rows_from(p, half);
    status = run(k, plan, p, half);
    return status == CUBLAS_STATUS_SUCCESS ? run(k, plan, &rest, rows - half) : status;
}

/* By the plan, which drops algorithms that do not run even once. */
static void multiply(struct kernels *k, struct plan *plan, const struct product *p, size_t rows)
{
    while (plan->next < plan->count) {
        cublasStatus_t status = run(k, plan, p, rows);
        if (status == CUBLAS_STATUS_SUCCESS)
            return;
        if (plan->ran || !is_refused(status)) {
            check(k, status, "run", p);
            return;
        }
        plan->next++;
    }
    cuda_multiply_by_tiles(cuda_state(k)->stream, p, rows);
    cuda_check(k, cudaGetLastError(), "matrix product");
}

/* Rows of x of which rounded copies are in memory at a time. */
static size_t rounded_rows(size_t depth)
{
    size_t rows = ROUNDED_BYTES / sizeof(float) / depth;
    return rows > 128 ? rows / 128 * 128 : rows ? rows : 1;
}

void cuda_multiply(struct kernels *k, const struct product *p, size_t rows)
{
    struct cuda_state *s = cuda_state(k);
    struct plan *plan = plan_find(k, p);
    if (!plan || !rows || set_bias(k, plan, p))
        return;
    if (s->arithmetic != ARITHMETIC_TF32) {
        multiply(k, plan, p, rows);
        return;
    }
    size_t each = rounded_rows(p->depth);
    for (size_t first = 0; first < rows; first += each) {
        size_t some = rows - first < each ? rows - first : each;
        struct product part = rows_from(p, first);
        float *x = (float *)cuda_rounded_scratch(k, (each < rows ? each : rows) * p->depth *
                                                        sizeof(float));
        if (!x)
            return;
        cuda_round_tf32(s->stream, x, (const float *)part.x, some * p->depth);
        part.x = x;
        multiply(k, plan, &part, some);
    }
}

/* A number of the algorithm's configuration; -1 if it has none. */
static int config(const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t name,
                  size_t bytes)
{
    uint32_t wide = 0;
    uint16_t narrow = 0;
    size_t written = 0;
    void *to = bytes == sizeof narrow ? (void *)&narrow : (void *)&wide;
    if (cublasLtMatmulAlgoConfigGetAttribute(algo, name, to, bytes, &written) !=
        CUBLAS_STATUS_SUCCESS)
        return -1;
    return bytes == sizeof narrow ? (int)narrow : (int)wide;
}

static enum product_by product_text(struct kernels *k, int i, char *text, size_t size)
{
    const struct cuda_products *all = cuda_state(k)->products;
    if (i < 0 || (size_t)i >= all->count)
        return PRODUCT_NONE;
    const struct plan *plan = &all->plans[i];
    const struct product *p = &plan->shape;
    int n = snprintf(text, size, "%s %zu -> %zu, %zu rows a segment, %s to %s%s: ",
                     p->forward ? "forward" : "reverse", p->depth, p->out, p->count,
                     p->in_bf16 ? "bf16" : "float", p->out_bf16 ? "bf16" : "float",
                     p->bias ? ", bias" : "");
    enum product_by by = plan->next == plan->count ? PRODUCT_OWN : PRODUCT_LIBRARY;
    if (n < 0 || (size_t)n >= size)
        return by;
    if (by == PRODUCT_OWN) {
        snprintf(text + n, size - (size_t)n,
                 "kernel of our own (cuBLASLt offered %d algorithms that qualify, none ran)",
                 plan->count);
        return by;
    }
    const cublasLtMatmulAlgo_t *algo = &plan->algos[plan->next];
    snprintf(text + n, size - (size_t)n,
             "cuBLASLt algorithm %d, tile %d, stages %d, cluster %d, split %d, workspace 0; number "
             "%d of %d that qualify",
             config(algo, CUBLASLT_ALGO_CONFIG_ID, 4),
             config(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
             config(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
             config(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
             config(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4), plan->next + 1, plan->count);
    return by;
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
    k->product_text = product_text;
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
