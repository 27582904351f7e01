/* The heads of the cpu set, in fixed chunks of the table's rows, added in order. For the formulas
 * see the reference's.
 *
 * One row per segment, with gradient: the table is read twice in place, for the logits and for
 * their gradient; sums in double. Many rows, without: matrix products on tiles, of which only each
 * row's largest logit and sum of exponentials are kept. */
#include "kernels/cpu/state.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    CHUNKS_MOST = 64,
    CHUNK_LEAST = 64,
    FEW_ROWS = 8,
    TILE_ROWS = 512,
    TILE_COLUMNS = 768,
    TILE_FLOATS = 1 << 20,
    LANES = 8
};

/* Row `row` of the table as floats: in place if possible, else widened into `buffer`. */
static const float *table_row(float *buffer, const struct weight *w, size_t row)
{
    const struct weight_part *p = w->parts;
    if (p->type == ELEMENT_F32 && p->groups == 1 && row < p->rows && p->column_stride == 1 &&
        p->offset == 0 && !p->factors && (uintptr_t)p->data % sizeof(float) == 0)
        return (const float *)p->data + row * p->row_stride;
    weight_parts_read_f32(buffer, p, row, 0, w->columns);
    return buffer;
}

/* g[v] = seed d log p / d (x . w_v), replacing z[v] = x . w_v + bias_v; returns log p. */
static double softmax_reverse(double *z, size_t vocabulary, size_t target, double soft_cap,
                              double seed)
{
    double largest = -INFINITY, sum = 0, others = 0;
    for (size_t v = 0; v < vocabulary; v++) {
        double capped = soft_cap > 0 ? soft_cap * tanh(z[v] / soft_cap) : z[v];
        if (!(capped <= largest)) /* NaN wins, and makes everything NaN */
            largest = capped;
    }
    double z_target = soft_cap > 0 ? soft_cap * tanh(z[target] / soft_cap) : z[target];
    for (size_t v = 0; v < vocabulary; v++) {
        double tangent = soft_cap > 0 ? tanh(z[v] / soft_cap) : 0,
               e = exp((soft_cap > 0 ? soft_cap * tangent : z[v]) - largest);
        sum += e;
        others += v == target ? 0 : e;
        z[v] = -seed * e * (1 - tangent * tangent);
    }
    double tangent = soft_cap > 0 ? z_target / soft_cap : 0;
    for (size_t v = 0; v < vocabulary; v++)
        z[v] /= sum;
    z[target] =
        seed * (others / sum) *
        (1 -
         tangent * tangent); /* 1 - p is the sum of the others: no cancellation where p is near 1 */
    return z_target - largest - log(sum);
}

/* The scratch of `head`. */
struct one_room {
    size_t chunk, chunks; /* of the vocabulary */
    size_t z_bytes, sum_bytes, bytes;
};

static struct one_room one_room(size_t segments, size_t vocabulary, size_t width)
{
    struct one_room r = {.chunk = (vocabulary + CHUNKS_MOST - 1) / CHUNKS_MOST,
                         .z_bytes = segments * vocabulary * sizeof(double)};
    if (r.chunk < CHUNK_LEAST)
        r.chunk = CHUNK_LEAST;
    r.chunks = (vocabulary + r.chunk - 1) / r.chunk;
    r.sum_bytes = r.chunks * segments * width * sizeof(double);
    r.bytes = r.z_bytes + r.sum_bytes + (size_t)omp_get_max_threads() * width * sizeof(float);
    return r;
}

static void head(struct kernels *k, struct buffer *dx, struct buffer *logprob,
                 const struct buffer *x, const struct buffer *targets, const struct weight *w,
                 const struct weight *bias, double soft_cap, double seed, int segments, int width)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    const float *in = x->data, *b = bias ? bias->data : NULL; /* [segments, width], [vocabulary] */
    size_t vocabulary = w->rows, columns = (size_t)width, count = (size_t)segments;
    struct one_room room = one_room(count, vocabulary, columns);
    size_t chunk = room.chunk, chunks = room.chunks, z_bytes = room.z_bytes,
           sum_bytes = room.sum_bytes;
    char *scratch = cpu_scratch(k, room.bytes, "the head");
    if (!scratch)
        return;
    double *z = (double *)scratch,
           *sums = (double *)(scratch +
                              z_bytes); /* [segments, vocabulary], [chunks, segments, width] */
    float *rows = (float *)(scratch + z_bytes + sum_bytes); /* [threads, width] */

#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < chunks; c++)
        for (size_t v = c * chunk; v < vocabulary && v < (c + 1) * chunk; v++) {
            const float *row = table_row(rows + (size_t)omp_get_thread_num() * columns, w, v);
            for (size_t s = 0; s < count; s++)
                z[s * vocabulary + v] = vector->dot_double(in + s * columns, row, columns) +
                                        (b ? (double)b[v] : 0.0);
        }
#pragma omp parallel for schedule(dynamic)
    for (size_t s = 0; s < count; s++) {
        int32_t target = ((const int32_t *)targets->data)[s];
        float *out = (float *)logprob->data + s;
        if (target >= 0 && (size_t)target < vocabulary) {
            *out = (float)softmax_reverse(z + s * vocabulary, vocabulary, (size_t)target, soft_cap,
                                          seed);
        } else {
            kernels_keep_error(k, "head: target id %d (expected 0 to %zu)", (int)target,
                               vocabulary - 1);
            memset(z + s * vocabulary, 0, vocabulary * sizeof *z);
            *out = NAN;
        }
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < chunks; c++) {
        double *sum = sums + c * count * columns; /* [segments, width] */
        memset(sum, 0, count * columns * sizeof *sum);
        for (size_t v = c * chunk; v < vocabulary && v < (c + 1) * chunk; v++) {
            const float *row = table_row(rows + (size_t)omp_get_thread_num() * columns, w, v);
            for (size_t s = 0; s < count; s++)
                vector->add_scaled_double(sum + s * columns, row, z[s * vocabulary + v], columns);
        }
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count * columns; i++) {
        double total = 0;
        for (size_t c = 0; c < chunks; c++)
            total += sums[c * count * columns + i];
        ((float *)dx->data)[i] = (float)total;
    }
}

/* For some of a row's logits: the largest, and the sum of exp(z - largest). */
struct partial {
    double largest, sum;
};

static void partial_rescale(struct partial *p, double largest)
{
    if (largest > p->largest) { /* the sum gets any NaN, and everything is NaN */
        p->sum *= exp(p->largest - largest);
        p->largest = largest;
    }
}

/* exp(z - largest); 0 for a z of -inf, even if largest is -inf too. */
static double exp_below(double z, double largest)
{
    return z == -INFINITY ? 0 : exp(z - largest);
}

/* Adds z[count] to p; z is destroyed. */
static void partial_add(struct partial *p, const struct vector_kernels *v, float *z, size_t count)
{
    float largest[LANES];
    double sum[LANES] = {0}, all = 0;
    size_t whole = count / LANES * LANES;
    for (size_t l = 0; l < LANES; l++)
        largest[l] = -INFINITY;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            largest[l] = z[i + l] > largest[l] ? z[i + l] : largest[l];
    for (size_t i = whole; i < count; i++)
        largest[0] = z[i] > largest[0] ? z[i] : largest[0];
    for (size_t l = 0; l < LANES; l++)
        partial_rescale(p, (double)largest[l]);
    float from = p->largest == -INFINITY ? 0 : (float)p->largest;
    for (size_t i = 0; i < count; i++)
        z[i] -= from;
    v->exp(z, z, count);
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            sum[l] += z[i + l];
    for (size_t i = whole; i < count; i++)
        all += z[i];
    for (size_t l = 0; l < LANES; l++)
        all += sum[l];
    p->sum += all;
}

static double cap(double z, double soft_cap)
{
    return soft_cap > 0 ? soft_cap * tanh(z / soft_cap) : z;
}

/* Everything shared by the parts of head_rows. */
struct row_task {
    struct kernels *k;
    const struct vector_kernels *vector;
    const struct weight *w;
    const float *x, *bias; /* [rows, width]; [vocabulary] or NULL */
    const int32_t *target; /* [rows] */
    double soft_cap;
    size_t width, chunk, chunks; /* the table's rows are taken in chunks of `chunk`, */
    size_t columns; /* and in a tile `columns` at a time */
    float *target_logit; /* [rows] from products in double, rounded once */
    struct partial *partial; /* [rows, chunks] */
};

/* A few rows per segment: each row of the table is read once for all of them; products in
 * double. */
static void few_rows(const struct row_task *t, size_t c, float *buffer, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        t->partial[r * t->chunks + c] = (struct partial){-INFINITY, 0};
    for (size_t v = c * t->chunk; v < t->w->rows && v < (c + 1) * t->chunk; v++) {
        const float *row = table_row(buffer, t->w, v);
        for (size_t r = 0; r < rows; r++) {
            struct partial *p = &t->partial[r * t->chunks + c];
            double z = cap(t->vector->dot_double(t->x + r * t->width, row, t->width) +
                               (t->bias ? (double)t->bias[v] : 0.0),
                           t->soft_cap);
            if (v == (size_t)t->target[r])
                z = t->target_logit[r];
            partial_rescale(p, z);
            p->sum += exp_below(z, p->largest);
        }
    }
}

/* Rows first .. first + count of one tile with chunk c: products of `columns` columns in z [count,
 * columns]; `table` holds as many widened rows. */
static void many_rows(const struct row_task *t, size_t c, float *z, float *table, size_t first,
                      size_t count)
{
    const struct weight_part *part = t->w->parts;
    size_t end = (c + 1) * t->chunk < t->w->rows ? (c + 1) * t->chunk : t->w->rows;
    for (size_t r = first; r < first + count; r++)
        t->partial[r * t->chunks + c] = (struct partial){-INFINITY, 0};
    for (size_t v = c * t->chunk; v < end; v += t->columns) {
        size_t columns = end - v < t->columns ? end - v : t->columns, ld = t->width;
        const float *in = table;
        if (table_row(table, t->w, v) != table && v + columns <= part->rows) {
            in = table_row(table, t->w, v);
            ld = part->row_stride;
        } else {
            for (size_t j = 0; j < columns; j++)
                weight_parts_read_f32(table + j * t->width, part, v + j, 0, t->width);
        }
        cpu_multiply(t->k, z, columns, t->x + first * t->width, t->width, in, ld, 1, count, columns,
                     t->width, 0.0f);
        for (size_t r = 0; r < count; r++) {
            float *row = z + r * columns;
            size_t target = (size_t)t->target[first + r];
            if (t->bias)
                t->vector->add(row, t->bias + v, columns);
            if (t->soft_cap > 0) {
                for (size_t j = 0; j < columns; j++)
                    row[j] *= (float)(1 / t->soft_cap);
                t->vector->tanh(row, row, columns);
                for (size_t j = 0; j < columns; j++)
                    row[j] *= (float)t->soft_cap;
            }
            if (target >= v && target < v + columns)
                row[target - v] = t->target_logit[first + r];
            partial_add(&t->partial[(first + r) * t->chunks + c], t->vector, row, columns);
        }
    }
}

/* The target's logit of row r; -1 if there is no such target. */
static int take_target(const struct row_task *t, float *buffer, size_t r)
{
    int32_t id = t->target[r];
    if (id < 0 || (size_t)id >= t->w->rows)
        return kernels_keep_error(t->k, "head: target id %d (expected 0 to %zu)", (int)id,
                                  t->w->rows - 1);
    double z = t->vector->dot_double(t->x + r * t->width, table_row(buffer, t->w, (size_t)id),
                                     t->width);
    t->target_logit[r] = (float)cap(z + (t->bias ? (double)t->bias[id] : 0.0), t->soft_cap);
    return 0;
}

/* The scratch of head_rows, and its division. */
struct many_room {
    int few;
    size_t tiles, tile; /* of each segment, all equal; rows of one */
    size_t chunk, chunks, widest; /* of the vocabulary; the most rows of it at once */
    size_t partial_bytes, share_bytes, bytes; /* share: of a thread */
};

static struct many_room many_room(struct rows rows, size_t vocabulary, size_t width)
{
    size_t count = (size_t)rows.count, total = (size_t)rows.segments * count,
           chunk = (vocabulary + CHUNKS_MOST - 1) / CHUNKS_MOST,
           threads = (size_t)omp_get_max_threads(),
           widest = width * TILE_COLUMNS <= TILE_FLOATS ? TILE_COLUMNS
                    : width * CHUNK_LEAST < TILE_FLOATS ? TILE_FLOATS / width
                                                        : CHUNK_LEAST;
    struct many_room r = {.few = count <= FEW_ROWS, .tiles = (count + TILE_ROWS - 1) / TILE_ROWS};
    r.tile = (count + r.tiles - 1) / r.tiles;
    r.chunk = r.few ? (chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk)
                    : (chunk + widest - 1) / widest * widest;
    r.chunks = (vocabulary + r.chunk - 1) / r.chunk;
    r.widest = vocabulary < widest ? vocabulary : widest;
    size_t share = r.few ? width : (r.tile + width) * r.widest; /* floats of a thread */
    r.partial_bytes = total * r.chunks * sizeof(struct partial);
    r.share_bytes = (share * sizeof(float) + 63) / 64 * 64;
    r.bytes = r.partial_bytes + threads * r.share_bytes + total * sizeof(float);
    return r;
}

size_t cpu_head_scratch(int segments, struct head_shape head)
{
    size_t one = head.targets > 0 ? one_room((size_t)segments, head.vocabulary, head.width).bytes
                                  : 0,
           many = head.targets > 0 ? many_room((struct rows){segments, head.targets},
                                               head.vocabulary, head.width)
                                         .bytes
                                   : 0;
    return one > many ? one : many;
}

static void head_rows(struct kernels *k, struct buffer *logprob, const struct buffer *x,
                      const struct buffer *targets, const struct weight *w,
                      const struct weight *bias, double soft_cap, struct rows rows, int width)
{
    size_t segments = (size_t)rows.segments, count = (size_t)rows.count, total = segments * count,
           columns = (size_t)width;
    struct many_room room = many_room(rows, w->rows, columns);
    size_t tiles = room.tiles, tile = room.tile, chunk = room.chunk, chunks = room.chunks,
           widest = room.widest, partial_bytes = room.partial_bytes,
           threads = (size_t)omp_get_max_threads(), share_bytes = room.share_bytes;
    int few = room.few, bad = 0;
    char *scratch = cpu_scratch(k, room.bytes, "the head");
    if (!scratch)
        return;
    struct row_task t = {k,
                         cpu_state(k)->vector,
                         w,
                         x->data,
                         bias ? bias->data : NULL,
                         targets->data,
                         soft_cap,
                         columns,
                         chunk,
                         chunks,
                         widest,
                         (float *)(scratch + partial_bytes + threads * share_bytes),
                         (struct partial *)scratch};
    char *shares = scratch + partial_bytes;

#pragma omp parallel for schedule(static) reduction(| : bad)
    for (size_t r = 0; r < total; r++)
        bad |= take_target(&t, (float *)(shares + (size_t)omp_get_thread_num() * share_bytes), r) !=
               0;
    if (bad)
        return;
#pragma omp parallel for schedule(dynamic)
    for (size_t task = 0; task < (few ? chunks : chunks * segments * tiles); task++) {
        float *own = (float *)(shares + (size_t)omp_get_thread_num() * share_bytes);
        if (few) {
            few_rows(&t, task, own, total);
        } else {
            size_t at = task % (segments * tiles), from = at % tiles * tile,
                   some = count - from < tile ? count - from : tile;
            many_rows(&t, task / (segments * tiles), own, own + tile * widest,
                      at / tiles * count + from, some);
        }
    }
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++) {
        struct partial all = {-INFINITY, 0};
        for (size_t c = 0; c < chunks; c++) {
            const struct partial *p = &t.partial[r * chunks + c];
            partial_rescale(&all, p->largest);
            all.sum += p->sum * exp_below(p->largest, all.largest);
        }
        ((float *)logprob->data)[r] = (float)(t.target_logit[r] - all.largest - log(all.sum));
    }
}

void cpu_fill_head(struct kernels *k)
{
    k->head = head;
    k->head_rows = head_rows;
}
