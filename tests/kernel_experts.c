/* The operations of experts on inputs made from a seed: see kernel_run.h. */
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERTS = 4 };

/* Reads a buffer into the next output. */
static struct output *take_of(struct outputs *o, struct kernels *k, const char *name,
                              struct buffer *b, enum buffer_role role, size_t each, int bounds)
{
    struct output *out = &o->array[o->count++];
    size_t count = (size_t)o->segments * each;
    struct error e;
    out->name = name, out->each = each;
    out->value = allocate(count * sizeof(double));
    out->bound = bounds ? allocate(count * sizeof(double)) : NULL;
    if (role == ROLE_INDEX) {
        int32_t *index = allocate(count * sizeof *index);
        k->read_index(k, index, b, 0, count);
        for (size_t i = 0; i < count; i++)
            out->value[i] = index[i];
        free(index);
    } else {
        k->read(k, out->value, b, 0, count);
    }
    if (k->synchronize(k, &e))
        fail_msg("%s: %s", k->name, e.text);
    k->destroy(k, b);
    return out;
}

static struct output *take(struct outputs *o, struct kernels *k, const char *name, struct buffer *b,
                           size_t each, int bounds)
{
    return take_of(o, k, name, b, ROLE_RESIDUAL, each, bounds);
}

struct outputs run_route(struct kernels *k, const struct route_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t experts = (size_t)c->routing.experts, chosen = (size_t)c->routing.chosen,
           S = (size_t)c->segments, rows = (size_t)c->rows;
    double *logits = random_segments(c->segments, c->first, rows * experts, 1, c->size),
           *dw = random_segments(c->segments, c->first, rows * chosen, 2, 1),
           *correction = random_values(experts, 3, 0.25);
    for (size_t i = 0; i < S * rows * experts && c->ties; i++)
        logits[i] = rint(logits[i]);
    struct buffer *z = buffer_of(k, ROLE_RESIDUAL, logits, S * rows * experts),
                  *d = buffer_of(k, ROLE_RESIDUAL, dw, S * rows * chosen);
    struct buffer *choice = experts > 1 ? buffer_new(k, ROLE_INDEX, S * rows * chosen) : NULL,
                  *weights = buffer_new(k, ROLE_RESIDUAL, S * rows * chosen),
                  *dz = buffer_new(k, ROLE_RESIDUAL, S * rows * experts);
    struct weight *bias = c->corrected ? weight_of(k, WEIGHT_VECTOR, correction, experts, 1) : NULL;
    struct rows r = {c->segments, c->rows};
    k->route(k, choice, weights, z, bias, &c->routing, r);
    k->route_reverse(k, dz, d, z, choice, &c->routing, r);
    struct output *w = take(&o, k, "route weights", weights, rows * chosen, bounds),
                  *g = take(&o, k, "route d_logits", dz, rows * experts, bounds);
    if (choice)
        take_of(&o, k, "route choice", choice, ROLE_INDEX, rows * chosen, bounds); /* bound 0 */
    /* a weight is at most factor; exp(z - largest) is wrong by the rounding of z; sums have
     * `experts` terms */
    for (size_t i = 0; bounds && i < S * rows * chosen; i++)
        w->bound[i] = (16 + 4 * c->size + (double)experts) * fabs(w->value[i]) + 1e-30;
    for (size_t i = 0; bounds && i < S * rows * experts; i++)
        g->bound[i] = (32 + 8 * c->size + 2 * (double)experts) * c->routing.factor * (double)chosen;
    k->destroy(k, z), k->destroy(k, d);
    k->weight_free(k, bias);
    free(logits), free(dw), free(correction);
    return o;
}

/* An order of `count` numbers from a seed. */
static int32_t *shuffled(size_t count, unsigned seed)
{
    int32_t *order = allocate(count * sizeof *order);
    double *draw = random_values(count, seed, 0.5);
    for (size_t i = 0; i < count; i++)
        order[i] = (int32_t)i;
    for (size_t i = count; i-- > 1;) {
        size_t j = (size_t)(fabs(draw[i]) * (double)(i + 1));
        int32_t swap = order[i];
        order[i] = order[j], order[j] = swap;
    }
    free(draw);
    return order;
}

struct outputs run_mix(struct kernels *k, const struct mix_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, each = (size_t)c->each, width = (size_t)c->width,
           rows = (size_t)c->rows, slots = rows * each, n = S * slots * width;
    double *x = random_segments(c->segments, c->first, rows * width, 1, 1),
           *y0 = random_segments(c->segments, c->first, rows * width, 2, 1),
           *w = random_segments(c->segments, c->first, slots, 3, 1),
           *dx = random_segments(c->segments, c->first, slots * width, 4, 1);
    int32_t *order = allocate(S * slots * sizeof *order),
            *place = allocate(S * slots * sizeof *place);
    for (size_t s = 0; s < S; s++) { /* within each segment */
        int32_t *own = shuffled(slots, 5 + (unsigned)c->first + (unsigned)s);
        for (size_t i = 0; i < slots; i++) {
            order[s * slots + i] = own[i] + (int32_t)(s * slots);
            place[s * slots + (size_t)own[i]] = (int32_t)(s * slots + i);
        }
        free(own);
    }
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * rows * width),
                  *gathered = buffer_new(k, ROLE_ACTIVATION, n),
                  *by = buffer_of(k, c->role, y0, S * rows * width),
                  *bw = buffer_of(k, ROLE_RESIDUAL, w, S * slots),
                  *bd = buffer_of(k, ROLE_ACTIVATION, dx, n),
                  *dw = buffer_new(k, ROLE_RESIDUAL, S * slots);
    struct buffer *residual = buffer_of(k, ROLE_RESIDUAL, x, S * rows * width),
                  *widened = buffer_new(k, ROLE_RESIDUAL, n),
                  *plain = buffer_new(k, ROLE_RESIDUAL, n),
                  *rounded = buffer_new(k, ROLE_ACTIVATION, n);
    struct buffer *unrounded = buffer_new(k, ROLE_RESIDUAL, S * rows * width),
                  *short_y = buffer_new(k, ROLE_ACTIVATION, S * rows * width), *dots[4];
    for (int i = 0; i < 4; i++)
        dots[i] = buffer_new(k, ROLE_RESIDUAL, S * slots);
    struct buffer *to = index_of(k, order, S * slots), *from = index_of(k, place, S * slots);
    struct rows r = {c->segments, c->rows};
    k->gather(k, gathered, bx, to, S * slots, c->each, c->width);
    k->gather(k, widened, bx, to, S * slots, c->each, c->width);
    k->gather(k, rounded, residual, to, S * slots, c->each, c->width);
    k->gather(k, plain, residual, to, S * slots, c->each, c->width);
    k->combine(k, by, gathered, c->plain ? NULL : from, c->plain ? NULL : bw, r, c->each, c->width,
               c->accumulate);
    k->combine(k, unrounded, widened, c->plain ? NULL : from, c->plain ? NULL : bw, r, c->each,
               c->width, 0);
    k->combine(k, short_y, widened, c->plain ? NULL : from, c->plain ? NULL : bw, r, c->each,
               c->width, 0);
    for (int i = 0; i < 4; i++)
        k->combine_reverse(k, dots[i], i & 1 ? residual : bx, i & 2 ? widened : gathered,
                           c->plain ? NULL : from, r, c->each, c->width);
    k->weigh_reverse(k, dw, bd, gathered, c->plain ? NULL : to, bw, S * slots, c->width);
    struct output *g = take(&o, k, "gather", gathered, slots * width, bounds),
                  *y = take(&o, k, "combine", by, rows * width, bounds),
                  *t = take(&o, k, "weigh_reverse d_weights", dw, slots, bounds),
                  *d = take(&o, k, "weigh_reverse dx", bd, slots * width, bounds);
    take(&o, k, "gather, widened", widened, slots * width, bounds);
    take(&o, k, "gather, rounded", rounded, slots * width, bounds);
    take(&o, k, "gather in the residual role", plain, slots * width, bounds);
    (void)g; /* bound 0 */
    struct output *of_wide = take(&o, k, "combine of the residual role", unrounded, rows * width,
                                  bounds),
                  *to_short = take(&o, k, "combine, rounded", short_y, rows * width, bounds);
    for (int i = 0; i < 4; i++) {
        struct output *dot = take(&o, k, "combine_reverse", dots[i], slots, bounds);
        for (size_t j = 0; bounds && j < S * slots; j++)
            dot->bound[j] = 8 * (4 + sqrt((double)width)) * 4 + (double)width * 4;
    }
    for (size_t i = 0; bounds && i < S * rows * width; i++)
        of_wide->bound[i] = to_short->bound[i] = 8 * (4 * (double)each + 2);
    for (size_t i = 0; bounds && i < S * rows * width; i++)
        y->bound[i] = 8 * (4 * (double)each + 2);
    for (size_t i = 0; bounds && i < n; i++)
        d->bound[i] = 8;
    for (size_t i = 0; bounds && i < S * slots; i++)
        t->bound[i] = 8 * (4 + sqrt((double)width)) * 4 + (double)width * 4;
    k->destroy(k, bx), k->destroy(k, residual), k->destroy(k, bw), k->destroy(k, to),
        k->destroy(k, from);
    free(x), free(y0), free(w), free(dx), free(order), free(place);
    return o;
}

/* Where the runs of a segment begin: the last row is in none. */
static void divide(size_t begins[EXPERTS + 1], const struct runs_case *c, int segment)
{
    double *draw = random_values(EXPERTS, 77 + (unsigned)(c->first + segment), 0.5);
    size_t rows = (size_t)c->rows - 1;
    begins[0] = 0, begins[EXPERTS] = rows;
    for (int e = 1; e < EXPERTS; e++) {
        size_t cut = c->one ? rows : (size_t)(fabs(draw[e]) * (double)rows);
        begins[e] = cut > begins[e - 1] ? cut : begins[e - 1];
    }
    free(draw);
}

struct outputs run_runs(struct kernels *k, const struct runs_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t in = (size_t)c->in, out = (size_t)c->out, S = (size_t)c->segments,
           x_each = (size_t)c->rows * in, y_each = (size_t)c->rows * out, count = 0;
    double *x = random_segments(c->segments, c->first, x_each, 1, 1),
           *dy = random_segments(c->segments, c->first, y_each, 2, 1),
           *y0 = random_segments(c->segments, c->first, y_each, 3, 1),
           *dx0 = random_segments(c->segments, c->first, x_each, 4, 1), *w[EXPERTS], *b[EXPERTS];
    struct run *runs = allocate(S * EXPERTS * sizeof *runs);
    struct weight *weights[EXPERTS], *biases[EXPERTS];
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * x_each),
                  *by = buffer_of(k, ROLE_ACTIVATION, y0, S * y_each),
                  *bdy = buffer_of(k, ROLE_ACTIVATION, dy, S * y_each),
                  *bdx = buffer_of(k, ROLE_ACTIVATION, dx0, S * x_each);
    for (unsigned e = 0; e < EXPERTS; e++) {
        w[e] = random_values(in * out, 5 + e, 0.25), b[e] = random_values(out, 15 + e, 1);
        weights[e] = weight_of(k, WEIGHT_MATRIX, w[e], out, in);
        biases[e] = c->bias ? weight_of(k, WEIGHT_VECTOR, b[e], out, 1) : NULL;
    }
    for (size_t e = 0; e < EXPERTS; e++)
        for (size_t s = 0; s < S; s++) {
            size_t begins[EXPERTS + 1];
            divide(begins, c, (int)s);
            runs[count++] = (struct run){.first = s * (size_t)c->rows + begins[e],
                                         .count = (int)(begins[e + 1] - begins[e]),
                                         .weight = weights[e],
                                         .bias = biases[e]};
        }
    k->linear_runs(k, by, bx, runs, count, c->rows / EXPERTS, c->accumulate);
    k->linear_runs_reverse(k, bdx, bdy, runs, count, c->rows / EXPERTS, c->accumulate);
    struct output *y = take(&o, k, "linear_runs y", by, y_each, bounds),
                  *dx = take(&o, k, "linear_runs dx", bdx, x_each, bounds);
    for (size_t i = 0; bounds && i < S * y_each;
         i++) /* as run_linear, with the largest there can be of each factor */
        y->bound[i] = (4 + sqrt((double)in)) * (2 * 0.5 * (double)in + 4);
    for (size_t i = 0; bounds && i < S * x_each; i++)
        dx->bound[i] = (4 + sqrt((double)out)) * (2 * 0.5 * (double)out + 2);
    for (int e = 0; e < EXPERTS; e++) {
        k->weight_free(k, weights[e]);
        k->weight_free(k, biases[e]);
        free(w[e]), free(b[e]);
    }
    k->destroy(k, bx), k->destroy(k, bdy);
    free(x), free(dy), free(y0), free(dx0), free(runs);
    return o;
}
