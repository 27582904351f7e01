/* Linear layers of the cuda set, forward and reverse: which matrices are multiplied; product.cu
 * says how. */
#include "kernels/cuda/state.cuh"

static void product(struct kernels *k, struct buffer *y, const void *c, const struct buffer *x,
                    const struct weight *w, const struct weight *bias, struct rows rows,
                    int accumulate)
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
                        c};
    cuda_multiply(k, &p, (size_t)rows.segments * (size_t)rows.count);
}

static void linear(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct weight *w, const struct weight *bias, struct rows rows,
                   int accumulate)
{
    struct cuda_range range("linear");
    product(k, y, NULL, x, w, bias, rows, accumulate);
}

/* The product reads c itself if it has y's type, which saves a copy. */
static void linear_add(struct kernels *k, struct buffer *y, const struct buffer *c,
                       const struct buffer *x, const struct weight *w, const struct weight *bias,
                       struct rows rows)
{
    struct cuda_range range("linear_add");
    if (cuda_is_bf16(k, c) == cuda_is_bf16(k, y)) {
        product(k, y, c->data, x, w, bias, rows, 1);
        return;
    }
    k->copy(k, y, c, rows, (int)w->rows);
    product(k, y, NULL, x, w, bias, rows, 1);
}

static void linear_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                           const struct weight *w, struct rows rows, int accumulate)
{
    struct cuda_range range("linear_reverse");
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    int in_bf16 = cuda_state(k)->arithmetic == ARITHMETIC_BF16;
    const void *in = dy->data;
    if (in_bf16 && !cuda_is_bf16(k, dy)) { /* the gradient of the residual stream, rounded once */
        bf16 *narrow = (bf16 *)cuda_scratch(k, total * w->rows * sizeof(bf16),
                                            "a gradient in bf16");
        if (!narrow)
            return;
        cuda_convert_bf16(cuda_state(k)->stream, narrow, (const float *)dy->data, total * w->rows);
        in = narrow;
    }
    struct product p = {dx->data,
                        in,
                        cuda_weight_data(k, w),
                        NULL,
                        w->columns,
                        w->rows,
                        (size_t)rows.count,
                        0,
                        in_bf16,
                        cuda_is_bf16(k, dx),
                        accumulate,
                        NULL};
    cuda_multiply(k, &p, total);
}

/* The number of runs from `first` on that are adjacent and have one matrix, so that one product
 * serves them; and their rows. */
static size_t join_runs(size_t *rows, const struct run *runs, size_t first, size_t run_count)
{
    size_t i = first;
    *rows = 0;
    for (; i < run_count && runs[i].weight == runs[first].weight &&
           runs[i].first == runs[first].first + *rows;
         i++)
        *rows += (size_t)runs[i].count;
    return i - first;
}

/* The array from row `first` of `width` elements on. */
static char *row_of(struct kernels *k, const struct buffer *b, size_t first, size_t width)
{
    return (char *)b->data + first * width * k->role_size[b->role];
}

static void linear_runs(struct kernels *k, struct buffer *y, const struct buffer *x,
                        const struct run *runs, size_t run_count, int typical, int accumulate)
{
    struct cuda_range range("linear_runs");
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
                            NULL};
        cuda_multiply(k, &p, rows);
    }
}

static void linear_runs_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                                const struct run *runs, size_t run_count, int typical,
                                int accumulate)
{
    struct cuda_range range("linear_runs_reverse");
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
                            NULL};
        cuda_multiply(k, &p, rows);
    }
}

void cuda_fill_linear(struct kernels *k)
{
    k->linear = linear;
    k->linear_add = linear_add;
    k->linear_reverse = linear_reverse;
    k->linear_runs = linear_runs;
    k->linear_runs_reverse = linear_runs_reverse;
}
