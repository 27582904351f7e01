/* Matrix products without cuBLASLt, for shapes that it has no algorithm for: plain fused
 * multiply-add, any size, any alignment. Not fast. Each output is one sum over the depth in order,
 * whatever the number of rows. */
#include "kernels/cuda/state.cuh"

enum { TILE = 64, DEPTH = 16, SIDE = 16, EACH = TILE / SIDE, BLOCK = SIDE * SIDE };

struct tile_product {
    size_t rows, out, depth;
    int accumulate;
};

/* d[TILE rows, TILE columns] of a block, (+)= onto `onto`, which may be d; a thread has EACH x EACH
 * of them, SIDE apart. Grid: tiles of rows, tiles of columns. */
template <class X, class D, bool FORWARD>
__global__ void __launch_bounds__(BLOCK)
    multiply_tile(D *d, const D *onto, const X *x, const X *w, const D *bias, struct tile_product p)
{
    __shared__ float xs[DEPTH][TILE + 1], ws[DEPTH][TILE + 1];
    size_t row = (size_t)blockIdx.x * TILE, column = (size_t)blockIdx.y * TILE;
    int down = (int)threadIdx.x / SIDE, across = (int)threadIdx.x % SIDE;
    float sum[EACH][EACH] = {};
    for (size_t from = 0; from < p.depth; from += DEPTH) {
        for (int i = (int)threadIdx.x; i < TILE * DEPTH; i += BLOCK) {
            size_t r = (size_t)(i / DEPTH), k = (size_t)(i % DEPTH), c = (size_t)(i % TILE),
                   l = (size_t)(i / TILE);
            xs[k][r] = row + r < p.rows && from + k < p.depth
                           ? to_float(x[(row + r) * p.depth + from + k])
                           : 0;
            if (FORWARD) /* w [out, depth], else [depth, out] */
                ws[k][r] = column + r < p.out && from + k < p.depth
                               ? to_float(w[(column + r) * p.depth + from + k])
                               : 0;
            else
                ws[l][c] = column + c < p.out && from + l < p.depth
                               ? to_float(w[(from + l) * p.out + column + c])
                               : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sum[i][j] = fmaf(xs[k][down + SIDE * i], ws[k][across + SIDE * j], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            size_t r = row + (size_t)(down + SIDE * i), c = column + (size_t)(across + SIDE * j);
            if (r >= p.rows || c >= p.out)
                continue;
            float value = sum[i][j] + (p.accumulate ? to_float(onto[r * p.out + c]) : 0.0f);
            d[r * p.out + c] = from_float<D>(bias ? value + to_float(bias[c]) : value);
        }
}

template <class X, class D>
static void launch(cudaStream_t stream, const struct product *p, size_t rows)
{
    dim3 grid((unsigned)cuda_divide_up(rows, TILE), (unsigned)cuda_divide_up(p->out, TILE));
    struct tile_product t = {rows, p->out, p->depth, p->accumulate};
    const D *onto = p->c ? (const D *)p->c : (const D *)p->d;
    if (p->forward)
        LAUNCH((multiply_tile<X, D, true>), grid, dim3(BLOCK), 0, stream, (D *)p->d, onto,
               (const X *)p->x, (const X *)p->w, (const D *)p->bias, t);
    else
        LAUNCH((multiply_tile<X, D, false>), grid, dim3(BLOCK), 0, stream, (D *)p->d, onto,
               (const X *)p->x, (const X *)p->w, (const D *)p->bias, t);
}

void cuda_multiply_by_tiles(cudaStream_t stream, const struct product *p, size_t rows)
{
    if (p->in_bf16 && p->out_bf16)
        launch<bf16, bf16>(stream, p, rows);
    else if (p->in_bf16)
        launch<bf16, float>(stream, p, rows);
    else
        launch<float, float>(stream, p, rows);
}
