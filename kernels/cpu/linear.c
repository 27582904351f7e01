/* Matrix products of the cpu set: oneDNN, or of rounded factors possibly our own kernels
 * (multiply.c), on fixed tiles.
 *
 * oneDNN divides a product among threads in ways that change its sums, so each call gets one tile
 * and one thread. Tiles are cut from each segment's rows the same way, so neither threads nor
 * neighbours change a segment's bytes. Measured on AVX2, oneDNN reaches its full rate from about
 * TILE_AREA results per call; below that, one of its two kernels is up to half as fast. A few rows
 * per segment (such as the last block's one) are read-bound: each weight is read once, and each row
 * has its own sums. */
#include "kernels/cpu/state.h"

#include <omp.h>

enum {
    TILE_ROWS = 1024,
    TILE_COLUMNS = 384,
    TILE_AREA = TILE_ROWS * TILE_COLUMNS,
    LONG_ROWS = 4 * TILE_ROWS,
    FEW_ROWS = 8,
    FEW_COLUMNS = 128,
    FEW_DEPTH = 4096,
    GROUP = 8
};

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* How a product [count, columns] of a segment is divided: evenly, or if it is long where that of
 * its first rows alone would be. */
struct tiling {
    size_t rows, row_tiles; /* rows of a tile, tiles a segment */
    size_t columns;
};

static struct tiling tiling_of(size_t count)
{
    struct tiling t = {.row_tiles = divide_up(count, TILE_ROWS)};
    t.rows = count > LONG_ROWS ? TILE_ROWS : divide_up(divide_up(count, t.row_tiles), 8) * 8;
    t.row_tiles = divide_up(count, t.rows);
    t.columns = t.rows >= TILE_ROWS
                    ? TILE_COLUMNS
                    : divide_up(divide_up(TILE_AREA, t.rows), TILE_COLUMNS) * TILE_COLUMNS;
    return t;
}

static size_t forward_tiles(const struct cpu_matrix *m, size_t columns)
{
    size_t tiles = 0;
    for (int i = 0; i < m->slice_count; i++)
        tiles += divide_up(m->slices[i].rows, columns);
    return tiles;
}

/* Columns first .. first + count - 1 of a matrix. */
struct range {
    size_t first, count;
};

/* Tiles of `columns` columns, each in one block, of a reverse product; and one of them. */
static size_t reverse_tiles(const struct weight *w, size_t columns)
{
    const struct cpu_matrix *m = w->fast;
    return m->blocks * divide_up(w->columns / m->blocks, columns);
}

static struct range reverse_tile(const struct weight *w, size_t columns, size_t index)
{
    const struct cpu_matrix *m = w->fast;
    size_t each = w->columns / m->blocks, tiles = divide_up(each, columns),
           first = index % tiles * columns;
    return (struct range){index / tiles * each + first, smaller(columns, each - first)};
}

/* 1 if the slice has the column. */
static int slice_has(const struct cpu_slice *s, size_t column)
{
    return column >= s->column && column - s->column < s->depth;
}

/* Columns of a tile, for a forward product with m or, if m is NULL, a reverse one of `width`
 * columns. Our own kernels pack a tile's rows once, and give an element the same sum in any tile:
 * for them tiles are as wide as equal work for all threads allows. */
static size_t tile_columns(struct kernels *k, const struct tiling *t, size_t segments,
                           const struct cpu_matrix *m, size_t width)
{
    size_t threads = (size_t)omp_get_max_threads(), widest = t->columns;
    if (!cpu_state(k)->rounds || !cpu_state(k)->products->multiply_bf16)
        return widest;
    for (size_t columns = t->columns; columns < width + TILE_COLUMNS; columns += TILE_COLUMNS) {
        size_t tasks = segments * t->row_tiles *
                       (m ? forward_tiles(m, columns) : divide_up(width, columns));
        if (tasks % threads == 0 || tasks >= 8 * threads)
            widest = columns;
    }
    return widest;
}

/* The `index`-th tile of columns over all slices' rows: its slice, first column in the slice,
 * number. NULL after the last. */
static const struct cpu_slice *forward_tile(size_t *first, size_t *count,
                                            const struct cpu_matrix *m, size_t columns,
                                            size_t index)
{
    for (int i = 0; i < m->slice_count; i++) {
        const struct cpu_slice *s = &m->slices[i];
        size_t tiles = divide_up(s->rows, columns);
        if (index < tiles) {
            *first = index * columns;
            *count = smaller(columns, s->rows - *first);
            return s;
        }
        index -= tiles;
    }
    return NULL;
}

/* x[count] as products read it: its terms one behind the other in `room` if that is not NULL. */
static const float *operand(struct kernels *k, float *room, const float *x, size_t count,
                            enum cpu_side side)
{
    if (!room)
        return x;
    cpu_factor(k, room, count, x, count, side);
    return room;
}

/* sum[rows][count] += x w^T for columns first.. of a slice with dense rows: as many of them at a
 * time as have FEW_DEPTH terms if they are rounded into `room`. */
static void few_dots(struct kernels *k, float sum[GROUP][FEW_COLUMNS], float *room, const float *x,
                     size_t ldx, const struct cpu_slice *s, size_t depth, size_t first,
                     size_t count, size_t rows)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t terms = (size_t)cpu_state(k)->terms;
    for (size_t at = 0, some; at < depth; at += some) {
        const float *in[GROUP];
        some = room ? smaller(FEW_DEPTH / terms, depth - at) : depth;
        for (size_t r = 0; r < rows; r++)
            in[r] = operand(k, room ? room + (1 + r) * FEW_DEPTH : NULL, x + r * ldx + at, some,
                            CPU_LEFT);
        for (size_t o = 0; o < count; o++) {
            const float *w = operand(k, room, s->data + (first + o) * s->ld + at, some, CPU_RIGHT);
            for (size_t r = 0; r < rows; r++)
                sum[r][o] += v->dot(in[r], w, terms * some);
        }
    }
}

/* sum[rows][count] += x w for a matrix row w[count] and one number of each row, `ldx` apart. */
static void few_add(struct kernels *k, float sum[GROUP][FEW_COLUMNS], float *room, const float *x,
                    size_t ldx, const float *w, size_t count, size_t rows)
{
    const struct cpu_state *s = cpu_state(k);
    w = operand(k, room, w, count, CPU_RIGHT);
    for (size_t r = 0; r < rows; r++) {
        const float *one = operand(k, room ? room + FEW_DEPTH : NULL, x + r * ldx, 1, CPU_LEFT);
        for (int t = 0; t < s->terms; t++)
            s->vector->add_scaled(sum[r], w + (size_t)t * count, one[t], count);
    }
}

/* One group of rows of a product with few rows: y[rows, count] += x w^T for columns first.. of a
 * slice. */
static void few_forward(struct kernels *k, float *y, size_t ldy, const float *x, size_t ldx,
                        const struct cpu_slice *s, size_t columns, size_t first, size_t count,
                        size_t rows, int accumulate, const float *bias)
{
    float sum[GROUP][FEW_COLUMNS] = {{0}}, *room = cpu_operands_own(k);
    if (s->transposed)
        for (size_t i = 0; i < columns; i++)
            few_add(k, sum, room, x + i, ldx, s->data + i * s->ld + first, count, rows);
    else
        few_dots(k, sum, room, x, ldx, s, columns, first, count, rows);
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < count; o++)
            y[r * ldy + o] = sum[r][o] + (bias ? bias[o] : 0.0f) +
                             (accumulate ? y[r * ldy + o] : 0.0f);
}

static void linear(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct weight *w, const struct weight *bias, struct rows rows,
                   int accumulate)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const struct cpu_matrix *m = w->fast;
    const float *in = x->data, *b = bias ? bias->data : NULL; /* [R, w->columns], [w->rows] */
    float *out = y->data; /* [R, w->rows] */
    size_t segments = (size_t)rows.segments, count = (size_t)rows.count, first, columns;
    if (cpu_operands(k))
        return;
    if (rows.count <= FEW_ROWS) {
        size_t total = segments * count, groups = divide_up(total, GROUP),
               tiles = forward_tiles(m, FEW_COLUMNS);
#pragma omp parallel for schedule(dynamic) private(first, columns)
        for (size_t task = 0; task < tiles * groups; task++) {
            const struct cpu_slice *s = forward_tile(&first, &columns, m, FEW_COLUMNS,
                                                     task / groups);
            size_t row = task % groups * GROUP, at = s->first + first;
            few_forward(k, out + row * w->rows + at, w->rows, in + row * w->columns + s->column,
                        w->columns, s, s->depth, first, columns, smaller(GROUP, total - row),
                        accumulate, b ? b + at : NULL);
        }
        return;
    }
    struct tiling t = tiling_of(count);
    t.columns = tile_columns(k, &t, segments, m, w->rows);
    size_t tiles = forward_tiles(m, t.columns);
#pragma omp parallel for schedule(dynamic) private(first, columns)
    for (size_t task = 0; task < segments * t.row_tiles * tiles; task++) {
        const struct cpu_slice *s = forward_tile(&first, &columns, m, t.columns, task % tiles);
        size_t tile = task / tiles, row = tile % t.row_tiles * t.rows,
               some = smaller(t.rows, count - row);
        row += tile / t.row_tiles * count;
        float *to = out + row * w->rows + s->first + first;
        cpu_multiply_operands(k, to, w->rows, in + row * w->columns + s->column, w->columns,
                              s->data + first * (s->transposed ? 1 : s->ld), s->ld, !s->transposed,
                              some, columns, s->depth, accumulate);
        if (b)
            for (size_t r = 0; r < some; r++)
                v->add(to + r * w->rows, b + s->first + first, columns);
    }
}

/* dx[rows, count] (+)= dy w for columns first.. of the matrix. */
static void few_reverse(struct kernels *k, float *dx, size_t ldx, const float *dy, size_t ldy,
                        const struct cpu_matrix *m, size_t first, size_t count, size_t rows,
                        int accumulate)
{
    float sum[GROUP][FEW_COLUMNS] = {{0}}, *room = cpu_operands_own(k);
    for (int i = 0; i < m->slice_count; i++) {
        const struct cpu_slice *s = &m->slices[i];
        size_t own = first - s->column;
        if (!slice_has(s, first))
            continue;
        if (s->transposed)
            few_dots(k, sum, room, dy + s->first, ldy, s, s->rows, own, count, rows);
        else
            for (size_t o = 0; o < s->rows; o++)
                few_add(k, sum, room, dy + s->first + o, ldy, s->data + o * s->ld + own, count,
                        rows);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            dx[r * ldx + c] = sum[r][c] + (accumulate ? dx[r * ldx + c] : 0.0f);
}

/* dx[rows, own.count] (+)= dy w for these columns; rows as far apart as w has columns, and rows. */
static void multiply_slices(struct kernels *k, float *dx, const float *dy, const struct weight *w,
                            struct range own, size_t rows, int accumulate)
{
    const struct cpu_matrix *m = w->fast;
    for (int i = 0; i < m->slice_count; i++) {
        const struct cpu_slice *s = &m->slices[i];
        if (!slice_has(s, own.first))
            continue;
        cpu_multiply_operands(k, dx, w->columns, dy + s->first, w->rows,
                              s->data + (own.first - s->column) * (s->transposed ? s->ld : 1),
                              s->ld, s->transposed, rows, own.count, s->rows, accumulate);
        accumulate = 1;
    }
}

static void linear_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                           const struct weight *w, struct rows rows, int accumulate)
{
    const struct cpu_matrix *m = w->fast;
    const float *in = dy->data; /* [R, w->rows] */
    float *out = dx->data; /* [R, w->columns] */
    size_t segments = (size_t)rows.segments, count = (size_t)rows.count;
    if (cpu_operands(k))
        return;
    if (rows.count <= FEW_ROWS) {
        size_t total = segments * count, groups = divide_up(total, GROUP),
               tiles = reverse_tiles(w, FEW_COLUMNS);
#pragma omp parallel for schedule(dynamic)
        for (size_t task = 0; task < tiles * groups; task++) {
            struct range tile = reverse_tile(w, FEW_COLUMNS, task / groups);
            size_t row = task % groups * GROUP;
            few_reverse(k, out + row * w->columns + tile.first, w->columns, in + row * w->rows,
                        w->rows, m, tile.first, tile.count, smaller(GROUP, total - row),
                        accumulate);
        }
        return;
    }
    struct tiling t = tiling_of(count);
    t.columns = tile_columns(k, &t, segments, NULL, w->columns);
    size_t tiles = reverse_tiles(w, t.columns);
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < segments * t.row_tiles * tiles; task++) {
        struct range own = reverse_tile(w, t.columns, task % tiles);
        size_t tile = task / tiles, row = tile % t.row_tiles * t.rows,
               some = smaller(t.rows, count - row);
        row += tile / t.row_tiles * count;
        multiply_slices(k, out + row * w->columns + own.first, in + row * w->rows, w, own, some,
                        accumulate);
    }
}

/* How a run's product is divided, by its own rows alone. Tiles are smaller than for a whole
 * segment, so that there are enough of them when the experts of a block are computed one after the
 * other. */
static struct tiling run_tiling(const struct run *run)
{
    struct tiling t = {.rows = (size_t)run->count, .row_tiles = 1, .columns = FEW_COLUMNS};
    if (run->count > FEW_ROWS) {
        t = tiling_of((size_t)run->count);
        t.columns = TILE_COLUMNS;
    }
    return t;
}

static size_t run_columns(const struct run *run, size_t columns, int forward)
{
    return forward ? forward_tiles(run->weight->fast, columns)
                   : reverse_tiles(run->weight, columns);
}

/* starts[run_count + 1]: the first tile of each run; NULL, with the error kept, without memory. */
static size_t *run_starts(struct kernels *k, const struct run *runs, size_t run_count, int forward)
{
    size_t *starts = cpu_scratch(k, (run_count + 1) * sizeof *starts, "runs of rows"), at = 0;
    for (size_t i = 0; starts && i <= run_count; i++) {
        starts[i] = at;
        if (i < run_count && runs[i].count > 0) {
            struct tiling t = run_tiling(&runs[i]);
            at += t.row_tiles * run_columns(&runs[i], t.columns, forward);
        }
    }
    return starts;
}

/* The tile's run: the last one that starts at or before it. */
static size_t run_of(const size_t *starts, size_t run_count, size_t tile)
{
    size_t low = 0, high = run_count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void linear_runs(struct kernels *k, struct buffer *y, const struct buffer *x,
                        const struct run *runs, size_t run_count, int typical, int accumulate)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t *starts = run_starts(k, runs, run_count, 1);
    (void)typical;
    if (!starts || cpu_operands(k))
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < starts[run_count]; task++) {
        size_t i = run_of(starts, run_count, task), tile = task - starts[i], first = 0, columns = 0;
        const struct run *run = &runs[i];
        const struct weight *w = run->weight;
        struct tiling t = run_tiling(run);
        size_t tiles = forward_tiles(w->fast, t.columns), row = tile / tiles * t.rows,
               some = smaller(t.rows, (size_t)run->count - row);
        const struct cpu_slice *s = forward_tile(&first, &columns, w->fast, t.columns,
                                                 tile % tiles);
        const float *in = (const float *)x->data + (run->first + row) * w->columns + s->column,
                    *b = run->bias ? (const float *)run->bias->data + s->first + first : NULL;
        float *to = (float *)y->data + (run->first + row) * w->rows + s->first + first;
        if (run->count <= FEW_ROWS) {
            few_forward(k, to, w->rows, in, w->columns, s, s->depth, first, columns, some,
                        accumulate, b);
            continue;
        }
        cpu_multiply_operands(k, to, w->rows, in, w->columns,
                              s->data + first * (s->transposed ? 1 : s->ld), s->ld, !s->transposed,
                              some, columns, s->depth, accumulate);
        for (size_t r = 0; b && r < some; r++)
            v->add(to + r * w->rows, b, columns);
    }
}

static void linear_runs_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                                const struct run *runs, size_t run_count, int typical,
                                int accumulate)
{
    size_t *starts = run_starts(k, runs, run_count, 0);
    (void)typical;
    if (!starts || cpu_operands(k))
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < starts[run_count]; task++) {
        size_t i = run_of(starts, run_count, task), tile = task - starts[i];
        const struct run *run = &runs[i];
        const struct weight *w = run->weight;
        const struct cpu_matrix *m = w->fast;
        struct tiling t = run_tiling(run);
        size_t tiles = reverse_tiles(w, t.columns), row = tile / tiles * t.rows,
               some = smaller(t.rows, (size_t)run->count - row);
        struct range own = reverse_tile(w, t.columns, tile % tiles);
        const float *in = (const float *)dy->data + (run->first + row) * w->rows;
        float *to = (float *)dx->data + (run->first + row) * w->columns + own.first;
        if (run->count <= FEW_ROWS)
            few_reverse(k, to, w->columns, in, w->rows, m, own.first, own.count, some, accumulate);
        else
            multiply_slices(k, to, in, w, own, some, accumulate);
    }
}

void cpu_fill_linear(struct kernels *k)
{
    k->linear = linear;
    k->linear_reverse = linear_reverse;
    k->linear_runs = linear_runs;
    k->linear_runs_reverse = linear_runs_reverse;
}
