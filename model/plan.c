/* The memory plan: sizes of everything before anything is allocated, and the choice between storing and recomputing. */
#include "model/engine_parts.h"

#include "io/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plan_rows(const struct decoder *d, const struct engine_options *o, int n, int *keys, int *queries)
{
    int rows = o->outputs > n ? n : o->outputs > 0 ? o->outputs : 1;
    for (int l = d->layers - 1; l >= 0; l--) {
        int window = d->blocks[l].score.window;
        queries[l] = rows;
        if (!o->carry)
            rows = window && window - 1 < n - rows ? rows + window - 1 : n;
        keys[l] = rows;
    }
}

int plan_carry(const struct decoder *d, const struct engine_options *o, int l)
{
    int before = d->blocks[l].score.window - 1;
    return !o->carry ? 0 : o->carry < before ? o->carry : before;
}

void plan_kept(size_t elements[KEPT_BUFFERS], const struct decoder *d, int l, int keys, int queries, int batch)
{
    const struct block *b = &d->blocks[l];
    size_t key_rows = (size_t)batch * (size_t)keys, query_rows = (size_t)batch * (size_t)queries;
    size_t q_width = (size_t)d->heads * (size_t)d->head_size, kv_width = 2 * (size_t)d->kv_heads * (size_t)d->head_size,
           mlp = (size_t)d->mlp;
    int heads = b->query_norm.present, after_attention = b->attention_post_norm.present, after_mlp = b->mlp_post_norm.present;
    size_t residual = query_rows * (size_t)d->hidden;
    const size_t sizes[KEPT_BUFFERS] = {2 * key_rows,
                                        query_rows * q_width,
                                        key_rows * kv_width,
                                        query_rows * (size_t)d->heads,
                                        query_rows * q_width,
                                        b->residual == RESIDUAL_PARALLEL ? 0 : residual,
                                        2 * query_rows,
                                        query_rows * mlp,
                                        b->gate.weight.data ? query_rows * mlp : 0,
                                        heads ? query_rows * q_width : 0,
                                        heads ? key_rows * kv_width : 0,
                                        heads ? query_rows * (size_t)d->heads * 2 : 0,
                                        heads ? key_rows * (size_t)d->kv_heads * 2 : 0,
                                        after_attention ? residual : 0,
                                        after_mlp ? residual : 0,
                                        after_attention ? 2 * query_rows : 0,
                                        after_mlp ? 2 * query_rows : 0};
    memcpy(elements, sizes, sizeof sizes);
}

enum buffer_role plan_kept_role(int member)
{
    static const enum buffer_role roles[KEPT_BUFFERS] = {ROLE_STATISTIC,  ROLE_ACTIVATION, ROLE_ACTIVATION, ROLE_STATISTIC,
                                                         ROLE_ACTIVATION, ROLE_RESIDUAL,   ROLE_STATISTIC,  ROLE_ACTIVATION,
                                                         ROLE_ACTIVATION, ROLE_ACTIVATION, ROLE_ACTIVATION, ROLE_STATISTIC,
                                                         ROLE_STATISTIC,  ROLE_RESIDUAL,   ROLE_RESIDUAL,   ROLE_STATISTIC,
                                                         ROLE_STATISTIC};
    return roles[member];
}

static double kept_bytes(struct kernels *k, const struct decoder *d, int l, int keys, int queries, int batch)
{
    size_t elements[KEPT_BUFFERS];
    double bytes = 0;
    plan_kept(elements, d, l, keys, queries, batch);
    for (int i = 0; i < KEPT_BUFFERS; i++)
        bytes += (double)elements[i] * (double)k->role_size[plan_kept_role(i)];
    return bytes;
}

/* What any plan with this batch needs beside kept layers and block weights: residual inputs of all blocks and the temporaries of
 * engine_create. */
static double common_bytes(struct kernels *k, const struct decoder *d, const struct engine_options *o, int n, const int *keys,
                           const int *queries, int batch)
{
    double activation = (double)k->role_size[ROLE_ACTIVATION], residual = (double)k->role_size[ROLE_RESIDUAL];
    double rows = (double)batch * keys[0], q_width = (double)d->heads * d->head_size, kv_width = 2.0 * d->kv_heads * d->head_size;
    double inner = fmax(d->hidden, q_width), widest = fmax(inner, d->embedding_width), bytes = 0;
    int gated = 0;
    for (int l = 0; l < d->layers; l++) {
        bytes += o->outputs ? activation * batch * plan_carry(d, o, l) * kv_width : residual * batch * keys[l] * d->hidden;
        gated |= d->blocks[l].gate.weight.data != NULL;
    }
    bytes += activation * rows *
             (widest + inner + (gated && !o->outputs ? 2.0 : 1.0) * d->mlp + (o->outputs ? 0.0 : q_width) +
              (o->outputs && !o->carry ? 0.0 : kv_width));
    bytes += batch * queries[d->layers - 1] * (activation * d->embedding_width + residual * d->hidden);
    bytes += residual * rows * d->hidden * (2 + d->embedding_norm.present);
    if (o->attribution != ATTRIBUTION_GRAD)
        bytes += rows * d->embedding_width * (residual + 8.0 / batch);
    for (int l = 1; o->by_layer && l < d->layers; l++)
        bytes += (double)k->role_size[ROLE_STATISTIC] * batch * keys[l];
    if (o->attention)
        bytes += (double)k->role_size[ROLE_STATISTIC] * batch * d->heads * keys[0];
    if (d->project_in.weight.data)
        bytes += rows * (residual * d->embedding_width + (double)k->role_size[ROLE_INDEX]);
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].residual == RESIDUAL_PARALLEL && queries[l] < keys[l]) {
            bytes += 2 * residual * batch * queries[l] * d->hidden;
            break;
        }
    size_t scratch = 0;
    for (int l = 0; l < d->layers; l++) {
        struct attention_shape shape = scores_shape(d, l, n);
        size_t one = k->scratch_bytes(k, &shape, (struct rows){batch, keys[l]});
        scratch = one > scratch ? one : scratch;
    }
    /* position tables of the distinct attention shapes, doubles on the way */
    bytes += 3.0 * 8 * d->heads * n + 2.0 * 8 * n * d->rotary.size / 2;
    return bytes + (double)scratch;
}

/* Multiplications and additions that one segment needs, forward and, unless only outputs are wanted, reverse; softmax, norms and
 * activations are not counted. */
static double needed_flops(const struct decoder *d, const struct engine_options *o, int n, const int *keys, const int *queries)
{
    double each = o->outputs ? 2 : 4, outputs = queries[d->layers - 1],
           flops = each * outputs * d->vocabulary * d->embedding_width;
    if (d->project_in.weight.data)
        flops += each * keys[0] * d->hidden * d->embedding_width;
    if (d->project_out.weight.data)
        flops += each * outputs * d->hidden * d->embedding_width;
    for (int l = 0; l < d->layers; l++) {
        const struct block *b = &d->blocks[l];
        double q_width = (double)d->heads * d->head_size, kv_width = 2.0 * d->kv_heads * d->head_size,
               mlps = b->gate.weight.data ? 3 : 2, pairs = 0;
        flops += each * keys[l] * d->hidden * kv_width + each * queries[l] * d->hidden * (2 * q_width + mlps * d->mlp);
        for (int i = n - queries[l]; i < n; i++)
            pairs += b->score.window && b->score.window < i + 1 ? b->score.window : i + 1;
        flops += (o->outputs ? 4.0 : 14.0) * q_width * pairs;
    }
    return flops;
}

/* Bytes that may be used when the user names no budget: nine tenths of a device's free memory, four fifths of what the system
 * says is available. */
static double default_budget(struct kernels *k)
{
    if (k->memory_free)
        return 0.9 * (double)k->memory_free(k);
    size_t available = memory_available();
    return available == SIZE_MAX ? INFINITY : 0.8 * (double)available;
}

struct sizes {
    double shared, blocks, largest_block,
        at_once; /* weights: of all but blocks, all blocks, one, those in memory where they are not resident */
};

/* Fills the plan for this n and batch: the best of what fits, in the order resident and stored, stored, as many stored as
 * possible. Returns 0, or -1 when even recomputing everything does not fit. */
static int plan_for(struct memory_plan *p, struct kernels *k, const struct decoder *d, const struct engine_options *o,
                    const struct sizes *w, int n, int batch, int *keys, int *queries)
{
    plan_rows(d, o, n, keys, queries);
    double common = common_bytes(k, d, o, n, keys, queries, batch) + w->shared, stored_all = 0, largest_kept = 0;
    enum keep_mode keep = o->outputs ? KEEP_RECOMPUTE : o->keep; /* without a reverse pass nothing is kept */
    for (int l = 0; l < d->layers; l++) {
        double one = kept_bytes(k, d, l, keys[l] + plan_carry(d, o, l), queries[l], batch);
        stored_all += one;
        largest_kept = fmax(largest_kept, one);
    }
    int resident = o->resident != 0;
    if (o->resident < 0 && common + w->blocks + (keep == KEEP_RECOMPUTE ? largest_kept : stored_all) > p->budget)
        resident = 0;
    p->weights = w->shared + (resident ? w->blocks : w->at_once);
    p->resident = resident;
    double base = common - w->shared + p->weights, activations = stored_all;
    p->stored_layers = d->layers;
    if (keep == KEEP_RECOMPUTE || (keep == KEEP_AUTO && base + stored_all > p->budget)) {
        /* the last layers first: they are small and used soonest */
        p->stored_layers = 0;
        activations = largest_kept;
        for (int l = d->layers - 1; l >= 0 && keep != KEEP_RECOMPUTE; l--) {
            double one = kept_bytes(k, d, l, keys[l], queries[l], batch);
            if (base + activations + one > p->budget)
                break;
            activations += one;
            p->stored_layers++;
        }
    }
    p->batch = batch;
    p->scratch = common - w->shared;
    p->activations = activations;
    p->total = base + activations;
    return p->total <= p->budget ? 0 : -1;
}

/* The longest n that would fit with one segment at a time. */
static int longest_fit(const struct memory_plan *p, struct kernels *k, const struct decoder *d, const struct engine_options *o,
                       const struct sizes *w, int *keys, int *queries)
{
    int low = 0, high = p->positions;
    while (low + 1 < high) {
        struct memory_plan trial = *p;
        int middle = low + (high - low) / 2;
        if (plan_for(&trial, k, d, o, w, middle, 1, keys, queries) == 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Segments at once when there is room: enough (segment, head) pairs for every worker, and enough numbers in an operation (half a
 * million, or 2^15 for each worker) that starting the workers does not show: a small model, or a narrow cone, takes many. */
static int wanted_batch(struct kernels *k, const struct decoder *d, const struct engine_options *o, int *keys, int *queries)
{
    int workers = k->workers > 0 ? k->workers : 1;
    const double busy = fmax(1 << 19, ldexp(workers, 15)), most = 32;
    if (workers == 1)
        return 1;
    plan_rows(d, o, o->positions, keys, queries);
    double by_heads = ceil(2.0 * workers / d->heads), by_size = ceil(busy / ((double)keys[0] * d->hidden));
    return (int)fmin(most, fmax(by_heads, by_size));
}

/* The largest batch of at most `batch` that fits with every layer stored: recomputing costs a third of the time, so a smaller
 * batch comes before it. And where a quarter of `batch` fits beside resident weights, those come before a larger batch. 1 when
 * none fits. */
static int largest_batch(struct memory_plan *p, struct kernels *k, const struct decoder *d, const struct engine_options *o,
                         const struct sizes *w, int n, int batch, int *keys, int *queries)
{
    int found = 0;
    for (int b = batch; b > 1 && (!found || 4 * b >= batch); b--) {
        if (plan_for(p, k, d, o, w, n, b, keys, queries) || (p->stored_layers < d->layers && o->keep == KEEP_AUTO && !o->outputs))
            continue;
        if (p->resident)
            return b;
        found = found ? found : b;
    }
    return found ? found : 1;
}

/* Bytes for a message: 1.23 GB, 1.2 MB, 12 kB. */
static char *bytes_text(char out[16], double bytes)
{
    if (bytes >= 1e9)
        snprintf(out, 16, "%.2f GB", fmin(bytes * 1e-9, 1e9));
    else if (bytes >= 1e6)
        snprintf(out, 16, "%.1f MB", bytes * 1e-6);
    else
        snprintf(out, 16, "%.0f kB", ceil(bytes * 1e-3));
    return out;
}

int engine_estimate(struct memory_plan *plan, struct kernels *k, const struct decoder *d, const struct engine_options *o,
                    struct error *e)
{
    int *keys = calloc((size_t)d->layers, sizeof *keys), *queries = calloc((size_t)d->layers, sizeof *queries), n = o->positions,
        result = -1;
    struct sizes w = {.shared = (double)weights_shared_bytes(k, d, n)};
    if (o->attention && !k->attention_mass) {
        fail(e, "%s: cannot sum attention by distance (expected --device cpu with --attention)", k->name);
        goto end;
    }
    *plan =
        (struct memory_plan){.positions = n, .layers = d->layers, .budget = o->memory ? (double)o->memory : default_budget(k)};
    if (!keys || !queries) {
        fail_memory(e, 8.0 * d->layers, "memory plan");
        goto end;
    }
    for (int l = 0; l < d->layers; l++) {
        double one = (double)weights_block_bytes(k, d, l);
        w.blocks += one;
        w.largest_block = fmax(w.largest_block, one);
    }
    w.at_once = fmin(w.blocks, k->prefetches ? 2 * w.largest_block : w.largest_block);
    int batch = o->batch ? o->batch : wanted_batch(k, d, o, keys, queries);
    if (!o->batch && plan_for(plan, k, d, o, &w, n, batch, keys, queries) == 0 && !plan->resident && w.blocks > 0)
        batch = batch > 4 ? batch : 4; /* where weights are loaded again for each pass, a few segments share it */
    if (o->segments && (size_t)batch > o->segments)
        batch = (int)o->segments;
    if (!o->batch)
        batch = largest_batch(plan, k, d, o, &w, n, batch, keys, queries);
    plan_for(plan, k, d, o, &w, n, batch, keys, queries);
    if (!o->batch &&
        o->segments > (size_t)batch) { /* as many passes, and about the same in each: 5 and 5 segments rather than 8 and 2 */
        size_t passes = (o->segments + (size_t)batch - 1) / (size_t)batch;
        batch = (int)((o->segments + passes - 1) / passes);
        plan_for(plan, k, d, o, &w, n, batch, keys, queries);
    }
    plan->flops = needed_flops(d, o, n, keys, queries) * attribution_passes(o->attribution);
    plan->forward = o->outputs > 0;
    if (plan->total > plan->budget) {
        double total = plan->total, budget = plan->budget;
        char needs[16], may[16];
        int longest = longest_fit(plan, k, d, o, &w, keys, queries);
        if (longest > 0 && o->outputs)
            fail(e, "%s: %d inputs need %s and %s may be used (%d would fit; --memory SIZE sets the budget)", d->path, n,
                 bytes_text(needs, total), bytes_text(may, budget), longest);
        else if (longest > 0)
            fail(e,
                 "%s: a segment of %d tokens needs %s and %s may be used (--length %d would fit; --memory SIZE sets the budget)",
                 d->path, n + 1, bytes_text(needs, total), bytes_text(may, budget), longest + 1);
        else
            fail(e, "%s: the weights of one layer and one token need %s and %s may be used (--memory SIZE sets the budget)",
                 d->path, bytes_text(needs, total), bytes_text(may, budget));
        goto end;
    }
    result = 0;
end:
    free(keys), free(queries);
    return result;
}

char *memory_plan_text(char text[256], const struct memory_plan *p)
{
    char kept[64], held[48], total[16], weights[16], activations[16], scratch[16];
    const char *unit = p->flops < 1e9 ? "MFLOP" : p->flops < 1e12 ? "GFLOP" : "TFLOP";
    if (p->forward)
        snprintf(kept, sizeof kept, "one layer at a time");
    else if (p->stored_layers == p->layers)
        snprintf(kept, sizeof kept, "all layers stored");
    else
        snprintf(kept, sizeof kept, "%d of %d layers stored, the others recomputed", p->stored_layers, p->layers);
    if (p->weights < 1)
        snprintf(held, sizeof held, "weights read where they lie");
    else
        snprintf(held, sizeof held, "weights %s %s", bytes_text(weights, p->weights), p->resident ? "resident" : "by layer");
    snprintf(text, 256, "%s (%s, activations %s, %s, work space %s), %d segment%s at a time, %.3g %s a segment",
             bytes_text(total, p->total), held, bytes_text(activations, p->activations), kept, bytes_text(scratch, p->scratch),
             p->batch, p->batch == 1 ? "" : "s",
             p->flops / (p->flops < 1e9    ? 1e6
                         : p->flops < 1e12 ? 1e9
                                           : 1e12),
             unit);
    return text;
}
