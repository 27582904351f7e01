/* The memory plan: all sizes before allocation, and the choice of storing or recomputing. */
#include "model/engine_parts.h"

#include "io/system/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes to use if the user gives no budget: nine tenths of a device's free memory, four fifths of
 * the memory that the system reports as available. */
static double default_budget(struct kernels *k)
{
    if (k->memory_free)
        return 0.9 * (double)k->memory_free(k);
    size_t available = memory_available();
    return available == SIZE_MAX ? INFINITY : 0.8 * (double)available;
}

/* The inputs of a plan. */
struct choice {
    struct kernels *k;
    const struct engine_request *request;
    struct shape *shape; /* of the trial */
    int copied; /* blocks whose matrices the set does not read in place */
    enum keep_mode keep;
    double shared, blocks,
        at_once; /* of weights: all except blocks, all blocks, those in memory at a time */
};

/* The set's scratch for the recurrence of block l; 0 if the block has none. */
static double recurrence_bytes(const struct choice *c, int l)
{
    const struct shape *s = c->shape;
    const struct block *b = &s->d->blocks[l];
    const struct recurrence_view *v = &b->mixer.recurrence;
    struct recurrence r = {.heads = v->heads,
                           .key_heads = v->key_heads,
                           .key_size = v->key_size,
                           .value_size = v->value_size,
                           .delta = v->delta,
                           .by_channel = v->by_channel};
    struct scan scan = {.channels = v->value_size,
                        .size = v->scan.size,
                        .groups = v->scan.groups,
                        .selective = !block_is_lru(b)};
    if (!block_recurs(b) || block_mixes_time(b))
        return 0;
    if (block_scans(b))
        return (double)c->k->scan_bytes(c->k, &scan, s->batch, s->keys[l]);
    return (double)c->k->recurrence_bytes(c->k, &r, s->batch, s->keys[l], s->queries[l] <= 1);
}

/* Memory other than weights and buffers: the set's scratch, tables of positions, and the host's. */
static double beside_bytes(const struct choice *c)
{
    const struct shape *s = c->shape;
    const struct head_shape head = {(size_t)s->d->vocabulary, (size_t)s->d->embedding_width,
                                    s->kind == REQUEST_ATTENTION ? 0 : s->keys[s->d->layers]};
    double scratch = 0, passing;
    double tables = scores_bytes(&passing, s->d, s->n);
    for (int l = 0; l < s->d->layers; l++) {
        /* carried rows precede the others, of which a window's cone has only a few */
        int span = shape_span(s, l);
        struct attention_shape shape = scores_shape(s->d, l, s->carry ? s->n : span);
        scratch = fmax(scratch, (double)c->k->scratch_bytes(c->k, &shape,
                                                            (struct rows){s->batch, span}, head));
        scratch = fmax(scratch, recurrence_bytes(c, l));
        if (s->kind == REQUEST_GRADIENT && s->outputs > 1) /* the head's rows are all at once */
            scratch = fmax(scratch,
                           (double)c->k->scratch_bytes(c->k, &shape,
                                                       (struct rows){s->batch * s->outputs, 1},
                                                       head));
    }
    /* tables are made in double before there is scratch */
    return fmax(scratch, passing) + tables + 8.0 * (double)attribution_host(s) + experts_host(s);
}

/* Adds up the memory of the shape; `beside`: bytes that depend only on n and batch. */
static void add_up(struct memory_plan *p, const struct choice *c, double beside)
{
    const struct shape *s = c->shape;
    double kept, others, waiting, passing;
    buffers_bytes(&kept, &others, c->k, s);
    aside_bytes(&waiting, &p->disk, &passing, c->k, s);
    p->stored_layers = s->stored_layers;
    p->sliced_layers = 0;
    p->disk_layers = s->disk_layers;
    for (int l = 0; l < p->layers; l++)
        p->sliced_layers += slices_count(s, l) > 0;
    p->activations = kept + waiting;
    p->buffers = kept + others;
    p->scratch = others + beside + passing;
    p->weights = c->shared + (p->resident ? c->blocks : c->at_once);
    p->total = p->scratch + p->weights + p->activations;
}

/* 1 if slices may take the place of whole blocks, of which none is stored. */
static int can_slice(const struct choice *c)
{
    const struct shape *s = c->shape;
    return s->kind == REQUEST_GRADIENT && s->stored_layers == 0 && s->batch == 1 && c->k->aim;
}

/* Fills the plan for this n and batch with the first that fits: resident and stored, stored, as
 * many stored as possible, by slices, and with a folder as few inputs on disk as possible. Returns
 * 0, or -1 if none fits. */
static int plan_for(struct memory_plan *p, const struct choice *c, int n, int batch)
{
    struct shape *s = c->shape;
    int on_disk = s->kind == REQUEST_GRADIENT && c->request->gradient.scratch ? p->layers
                                                                              : 0; /* at most */
    shape_rows(s, n);
    s->batch = p->batch = batch;
    s->stored_layers = c->keep == KEEP_RECOMPUTE || c->keep == KEEP_BF16 ? 0 : p->layers;
    s->disk_layers = s->slices = 0;
    double beside = beside_bytes(c);
    p->resident = 1;
    add_up(p, c, beside);
    p->resident = c->request->weights == WEIGHTS_RESIDENT ||
                  (c->request->weights == WEIGHTS_AUTO && p->total <= p->budget);
    add_up(p, c, beside);
    while (c->keep == KEEP_AUTO && s->stored_layers > 0 && p->total > p->budget) {
        s->stored_layers--; /* the first layers go first: the last ones are small and used soonest
                             */
        add_up(p, c, beside);
    }
    if (p->total > p->budget && can_slice(c)) { /* a little slower */
        s->slices = 1;
        add_up(p, c, beside);
    }
    while (s->disk_layers < on_disk && p->total > p->budget) {
        s->disk_layers++; /* and are stored here longest */
        add_up(p, c, beside);
    }
    return p->total <= p->budget ? 0 : -1;
}

/* The longest n that would fit with one segment at a time; if blocks have slices, one that does, as
 * a longer segment may have smaller slices. */
static int longest_fit(const struct memory_plan *p, const struct choice *c)
{
    int low = 0, high = p->positions;
    while (low + 1 < high) {
        struct memory_plan trial = *p;
        int middle = low + (high - low) / 2;
        if (plan_for(&trial, c, middle, 1) == 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The same for a set with tiles as tasks: attention and the narrowest product have enough tasks for
 * several rounds of all workers. A worker has two tiles of attention at a time, and one of a
 * product. A nearly empty last round then costs at most a seventh. */
static double batch_by_tiles(const struct choice *c, int workers)
{
    const double turns = 5.5, tile = c->k->tile;
    const struct decoder *d = c->shape->d;
    double attention = d->heads * ceil(c->shape->queries[0] / tile),
           product = ceil(c->shape->keys[0] / tile) * ceil(d->hidden / tile);
    return fmax(ceil(2 * turns * workers / attention), ceil(turns * workers / product));
}

/* Segments at once if there is room: enough (segment, head) pairs for every worker, and enough
 * numbers in an operation (half a million, or 2^15 for each worker) that the overhead of starting
 * workers does not matter: a small model, or a narrow cone, takes many. */
static int wanted_batch(const struct choice *c)
{
    const struct decoder *d = c->shape->d;
    int workers = c->k->workers > 0 ? c->k->workers : 1;
    const double busy = fmax(1 << 19, ldexp(workers, 15)), most = 32;
    if (workers == 1)
        return 1;
    if (c->k->tile > 0)
        return (int)fmin(most, batch_by_tiles(c, workers));
    double by_heads = ceil(2.0 * workers / d->heads),
           by_size = ceil(busy / ((double)c->shape->keys[0] * d->hidden));
    return (int)fmin(most, fmax(by_heads, by_size));
}

/* The largest batch of at most `batch` that fits with every layer stored and nothing on disk:
 * recomputing costs a third of the time, so a smaller batch is better. If a quarter of `batch` fits
 * with resident weights, these are better than a larger batch. 1 if none fits. */
static int largest_batch(struct memory_plan *p, const struct choice *c, int batch)
{
    int found = 0;
    for (int b = batch; b > 1 && (!found || 4 * b >= batch); b--) {
        if (plan_for(p, c, p->positions, b) ||
            (p->stored_layers < p->layers && c->keep == KEEP_AUTO) || p->disk > 0)
            continue;
        if (p->resident)
            return b;
        found = found ? found : b;
    }
    return found ? found : 1;
}

/* Fills the plan for the requested batch, or else for the best one. */
static void choose_batch(struct memory_plan *p, const struct choice *c)
{
    const struct engine_request *r = c->request;
    int n = p->positions, batch = r->batch ? r->batch : wanted_batch(c);
    if (!r->batch && plan_for(p, c, n, batch) == 0 && !p->resident && c->copied > 0)
        batch = batch > 4 ? batch
                          : 4; /* if weights are reloaded for each pass, a few segments share it */
    if (r->segments && (size_t)batch > r->segments)
        batch = (int)r->segments;
    if (!r->batch)
        batch = largest_batch(p, c, batch);
    if (!r->batch && r->segments > (size_t)batch) {
        /* the same number of passes, of about equal size: 5 and 5 segments rather than 8 and 2 */
        size_t passes = (r->segments + (size_t)batch - 1) / (size_t)batch;
        batch = (int)((r->segments + passes - 1) / passes);
    }
    plan_for(p, c, n, batch);
}

/* 1 if the segment would fit with a folder for layer inputs, which was not given. */
static int fits_on_disk(const struct memory_plan *p, const struct choice *c)
{
    struct engine_request request = *c->request;
    struct choice with = *c;
    struct memory_plan trial = *p;

    if (c->k->memory_free || request.gradient.scratch)
        return 0;
    request.gradient.scratch = ".";
    with.request = &request;
    return plan_for(&trial, &with, p->positions, 1) == 0;
}

/* Reports that the plan exceeds its budget, and what would fit. Always -1. */
static int refuse(const struct memory_plan *p, const struct choice *c, struct error *e)
{
    const char *path = c->shape->d->path;
    char needs[BYTES_TEXT], may[BYTES_TEXT];
    int longest = longest_fit(p, c);
    struct memory_plan least = *p;
    if (longest == 0)
        plan_for(&least, c, 1, 1);
    bytes_text(needs, least.total), bytes_text(may, p->budget);
    if (longest == 0)
        return fail(e,
                    "%s: the weights of one layer and one token need %s, and only %s may be used "
                    "(--memory SIZE sets the limit)",
                    path, needs, may);
    if (c->shape->kind == REQUEST_SCORE)
        return fail(e,
                    "%s: %d inputs need %s, and only %s may be used (%d would fit; --memory SIZE "
                    "sets the limit)",
                    path, p->positions, needs, may, longest);
    return fail(e,
                "%s: a segment of %d tokens needs %s, and only %s may be used (--length %d would "
                "fit%s; --memory SIZE sets the limit)",
                path, p->positions + 1, needs, may, longest + 1,
                fits_on_disk(p, c) ? ", or --scratch DIR with this length" : "");
}

/* Refuses requests that the set or the model cannot satisfy. */
static int check_keep(const struct kernels *k, const struct decoder *d,
                      const struct gradient_request *g, struct error *e)
{
    const int is_short = g->keep == KEEP_BF16;
    if ((is_short || g->scratch) && k->memory_free)
        return fail(e,
                    "%s: a GPU keeps the inputs of layers in its own memory, unrounded (expected "
                    "--device cpu with %s)",
                    k->name, is_short ? "--keep bf16" : "--scratch");
    if (is_short && decoder_has_experts(d))
        return fail(e,
                    "%s: the model has experts, and rounded inputs may choose others in reverse "
                    "than forward (expected --keep f32)",
                    d->path);
    return 0;
}

int plan_make(struct memory_plan *p, struct shape *shape, struct kernels *k,
              const struct decoder *d, const struct engine_request *request, struct error *e)
{
    struct choice c = {.k = k,
                       .request = request,
                       .shape = shape,
                       .keep = KEEP_RECOMPUTE}; /* forward alone keeps nothing */
    double largest = 0, largest_expert = 0;
    int passes = 1;
    if (shape_open(shape, d, request, e))
        return -1;
    shape->rounds = k->role_size[ROLE_ACTIVATION] < k->role_size[ROLE_RESIDUAL];
    if (shape->kind == REQUEST_ATTENTION && !k->attention_mass)
        return fail(e,
                    "%s: cannot sum attention by distance (expected --device cpu with --attention)",
                    k->name);
    if (shape->kind == REQUEST_GRADIENT) {
        if (check_keep(k, d, &request->gradient, e))
            return -1;
        c.keep = request->gradient.keep, passes = attribution_passes(request->gradient.attribution);
    }
    struct weight_bytes shared = weights_shared_bytes(k, d, shape->n);
    c.shared = (double)(shared.matrices + shared.vectors);
    if (!k->memory_free) /* else the set's memory is not the decoder's */
        c.shared += (double)d->vector_bytes;
    for (int l = 0; l < d->layers; l++) {
        struct weight_bytes block = weights_block_bytes(k, d, l);
        double one = (double)(block.matrices + block.vectors), part;
        struct weight_bytes experts = weights_experts_bytes(&part, k, d, l);
        c.blocks += one + (double)(experts.matrices + experts.vectors);
        c.copied += block.matrices + experts.matrices > 0;
        largest = fmax(largest, one), largest_expert = fmax(largest_expert, part);
    }
    largest += largest_expert;
    c.at_once = fmin(c.blocks, k->prefetches ? 2 * largest : largest);
    *p = (struct memory_plan){.positions = shape->n,
                              .layers = d->layers,
                              .forward = shape->kind != REQUEST_GRADIENT,
                              .short_inputs = shape->short_inputs,
                              .in_place = c.copied == 0 && shared.matrices == 0,
                              .budget = request->memory ? (double)request->memory
                                                        : default_budget(k)};
    choose_batch(p, &c);
    p->attention_flops = work_attention(shape) * passes;
    p->recurrence_flops = work_recurrences(shape) * passes;
    p->flops = work_products(shape) * passes + p->attention_flops + p->recurrence_flops;
    return p->total <= p->budget ? 0 : refuse(p, &c, e);
}

int engine_estimate(struct memory_plan *plan, struct kernels *k, const struct decoder *d,
                    const struct engine_request *request, struct error *e)
{
    struct shape shape;
    int rc = plan_make(plan, &shape, k, d, request, e);
    shape_close(&shape);
    return rc;
}

char *memory_plan_text(char text[MEMORY_PLAN_TEXT], const struct memory_plan *p)
{
    char kept[128], held[48], sliced[48] = "", waits[96] = "", total[BYTES_TEXT],
                              weights[BYTES_TEXT], activations[BYTES_TEXT], scratch[BYTES_TEXT],
                              disk[BYTES_TEXT];
    const char *unit = p->flops < 1e9 ? "MFLOP" : p->flops < 1e12 ? "GFLOP" : "TFLOP";
    if (p->sliced_layers)
        snprintf(sliced, sizeof sliced, " by slices of positions");
    if (p->forward)
        snprintf(kept, sizeof kept, "one layer at a time");
    else if (p->short_inputs)
        snprintf(kept, sizeof kept, "inputs of layers in bf16, the rest recomputed%s", sliced);
    else if (p->stored_layers == p->layers)
        snprintf(kept, sizeof kept, "all layers stored");
    else
        snprintf(kept, sizeof kept, "%d of %d layers stored, the others recomputed%s",
                 p->stored_layers, p->layers, sliced);
    if (p->disk > 0)
        snprintf(waits, sizeof waits, ", %s on disk for the inputs of %d layers",
                 bytes_text(disk, p->disk), p->disk_layers);
    if (p->in_place)
        snprintf(held, sizeof held, "weights read in place");
    else
        snprintf(held, sizeof held, "weights %s %s", bytes_text(weights, p->weights),
                 p->resident ? "resident" : "by layer");
    snprintf(
        text, MEMORY_PLAN_TEXT,
        "%s (%s, activations %s, %s, work space %s)%s, %d segment%s at a time, %.3g %s per segment",
        bytes_text(total, p->total), held, bytes_text(activations, p->activations), kept,
        bytes_text(scratch, p->scratch), waits, p->batch, p->batch == 1 ? "" : "s",
        p->flops / (p->flops < 1e9    ? 1e6
                    : p->flops < 1e12 ? 1e9
                                      : 1e12),
        unit);
    return text;
}
