#include "tests/kernel_cases.h"

#include "tests/compare.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernels *oracle;
struct kernels *sets[16];
int set_count;

int open_sets(void **state)
{
    const char *plugin = getenv("REACH_CUDA");
    (void)state;
    for (int i = 0; i < kernel_set_count; i++) {
        struct error e;
        if (plugin && strcmp(kernel_sets[i].name, "cuda") != 0 &&
            strcmp(kernel_sets[i].dtype, "f64") != 0)
            continue; /* a run for the plug-in's sets */
        if (!set_usable(&kernel_sets[i])) {
            print_message("kernel set %s (%s) cannot run here\n", kernel_sets[i].name,
                          kernel_sets[i].dtype);
            continue;
        }
        struct kernels *k = set_count < (int)(sizeof sets / sizeof *sets) ? kernel_sets[i].open(&e)
                                                                          : NULL;
        if (!k) {
            print_error("kernel set %s (%s): %s\n", kernel_sets[i].name, kernel_sets[i].dtype,
                        e.text);
            return -1;
        }
        print_message("kernel set %s (%s): %s\n", kernel_sets[i].name, kernel_sets[i].dtype,
                      k->name);
        sets[set_count++] = k;
        if (!strcmp(kernel_sets[i].name, "reference") && !strcmp(k->dtype, "f64"))
            oracle = k;
    }
    omp_set_num_threads(2);
    return oracle ? 0 : -1;
}

int close_sets(void **state)
{
    (void)state;
    for (int i = 0; i < set_count; i++)
        sets[i]->close(sets[i]);
    return 0;
}

/* 1: a set whose buffers hold bf16 too, a GPU's. */
static int stores_bf16(const struct kernels *k)
{
    return !strcmp(k->dtype, "bf16") && k->role_size[ROLE_ACTIVATION] == 2;
}

double roundoff(const struct kernels *k, enum op op)
{
    int plain = op == OP_EMBED || op == OP_MOVES || op == OP_ROW_NORMS || op == OP_COPY ||
                op == OP_ROUTE || op == OP_GATING ||
                op == OP_CHANNEL_GATING; /* on float alone in every set but f64 */
    if (!strcmp(k->dtype, "f64"))
        return ldexp(1, -53);
    if (stores_bf16(k))
        return plain ? ldexp(1, -24) : ldexp(1, -8);
    if (!strcmp(k->dtype, "bf16"))
        return op == OP_LINEAR || op == OP_RUNS || (op == OP_ATTENTION && rounds_attention(k))
                   ? ldexp(1, -8)
                   : ldexp(1, -24);
    if (!strcmp(k->dtype, "bf16x3")) /* 2^-17 for each factor, and what products leave out */
        return op == OP_LINEAR || op == OP_RUNS ? ldexp(1, -15) : ldexp(1, -24);
    if (!strcmp(k->dtype, "tf32"))
        return op == OP_LINEAR || op == OP_RUNS || op == OP_ATTENTION || op == OP_HEAD_ROWS
                   ? ldexp(1, -11)
                   : ldexp(1, -24);
    assert_string_equal(k->dtype, "f32");
    return ldexp(1, -24);
}

static struct outputs run(struct kernels *k, const struct any_case *c, int bounds)
{
    switch (c->op) {
    case OP_LINEAR: return run_linear(k, &c->linear, bounds);
    case OP_NORM: return run_norm(k, &c->norm, bounds);
    case OP_HEADS: return run_norm_heads(k, &c->heads, bounds);
    case OP_CLIP: return run_clip(k, &c->clip, bounds);
    case OP_ACTIVATION: return run_activation(k, &c->activation, bounds);
    case OP_XIELU: return run_xielu(k, &c->xielu, bounds);
    case OP_EMBED: return run_embed(k, &c->rows, bounds);
    case OP_ROTATE: return run_rotate(k, &c->rows, bounds);
    case OP_SCALE_QUERIES: return run_scale_queries(k, &c->rows, bounds);
    case OP_MOVES: return run_moves(k, &c->rows, bounds);
    case OP_ROW_NORMS: return run_row_norms(k, &c->rows, bounds);
    case OP_COPY: return run_copy(k, &c->copy, bounds);
    case OP_HEAD: return run_head(k, &c->head, bounds);
    case OP_HEAD_ROWS: return run_head_rows(k, &c->head_rows, bounds);
    case OP_JOIN: return run_join(k, &c->join, bounds);
    case OP_JOIN_KEYS: return run_join_keys(k, &c->join_keys, bounds);
    case OP_RECURRENCE: return run_recurrence(k, &c->recurrence, bounds);
    case OP_LRU: return run_lru(k, &c->lru, bounds);
    case OP_GATING: return run_gating(k, &c->gating, bounds);
    case OP_SCAN: return run_scan(k, &c->scan, bounds);
    case OP_CHANNEL_GATING: return run_channel_gating(k, &c->channel_gating, bounds);
    case OP_WKV: return run_wkv(k, &c->wkv, bounds);
    case OP_CONVOLUTION: return run_convolution(k, &c->convolution, bounds);
    case OP_ROUTE: return run_route(k, &c->route, bounds);
    case OP_MIX: return run_mix(k, &c->mix, bounds);
    case OP_RUNS: return run_runs(k, &c->runs, bounds);
    default: return run_attention(k, &c->attention, bounds);
    }
}

void describe(char text[300], const struct kernels *k, const struct any_case *c)
{
    const struct linear_case *l = &c->linear;
    const struct norm_case *n = &c->norm;
    const struct activation_case *v = &c->activation;
    const struct rows_case *r = &c->rows;
    const struct head_case *h = &c->head;
    const struct attention_case *a = &c->attention;
    int at = snprintf(text, 300, "%s %s, segments %d from %d: ", k->name, k->dtype, c->segments,
                      c->first);
    char *rest = text + at;
    size_t left = 300 - (size_t)at;
    switch (c->op) {
    case OP_LINEAR:
        snprintf(rest, left, "linear rows %d in %d out %d bias %d accumulate %d blocks %d", l->rows,
                 l->in, l->out, l->bias, l->accumulate, l->blocks);
        break;
    case OP_NORM:
        snprintf(
            rest, left,
            "norm rows %d width %d kind %d shift %d accumulate %d mean %g epsilon %g vectors %d",
            n->rows, n->width, n->kind, n->shift, n->accumulate, n->mean, n->epsilon, n->vectors);
        break;
    case OP_HEADS:
        snprintf(rest, left, "norm_heads rows %d heads %d of %d in %d, kind %d shift %d alias %d",
                 c->heads.rows, c->heads.heads, c->heads.head_size, c->heads.width, c->heads.kind,
                 c->heads.shift, c->heads.alias);
        break;
    case OP_CLIP:
        snprintf(rest, left, "clip rows %d width %d limit %g", c->clip.rows, c->clip.width,
                 c->clip.limit);
        break;
    case OP_ACTIVATION:
        snprintf(rest, left, "activation rows %d width %d kind %d gated %d alias %d size %g",
                 v->rows, v->width, v->kind, v->gated, v->alias, v->size);
        break;
    case OP_XIELU:
        snprintf(rest, left, "xielu rows %d width %d alias %d size %g limit %g", c->xielu.rows,
                 c->xielu.width, c->xielu.alias, c->xielu.size, c->xielu.numbers.limit);
        break;
    case OP_HEAD:
        snprintf(rest, left, "head width %d vocabulary %d bias %d soft-cap %g seed %g size %g",
                 h->width, h->vocabulary, h->bias, h->soft_cap, h->seed, h->size);
        break;
    case OP_HEAD_ROWS:
        snprintf(rest, left, "head_rows rows %d width %d vocabulary %d bias %d soft-cap %g size %g",
                 c->head_rows.rows, c->head_rows.width, c->head_rows.vocabulary, c->head_rows.bias,
                 c->head_rows.soft_cap, c->head_rows.size);
        break;
    case OP_COPY:
        snprintf(rest, left, "copy rows %d width %d role %d to %d", c->copy.rows, c->copy.width,
                 c->copy.x, c->copy.y);
        break;
    case OP_JOIN:
        snprintf(rest, left, "join %d rows and %d of width %d", c->join.before, c->join.behind,
                 c->join.width);
        break;
    case OP_JOIN_KEYS:
        snprintf(rest, left, "join_keys rows %d heads %d of %d, %d shared, values %d",
                 c->join_keys.rows, c->join_keys.heads, c->join_keys.head_size, c->join_keys.shared,
                 c->join_keys.value_size);
        break;
    case OP_RECURRENCE:
        snprintf(rest, left,
                 "recurrence keys %d queries %d heads %d/%d of %d x %d delta %d states %d decay %g "
                 "scale %g size %g by_channel %d",
                 c->recurrence.keys, c->recurrence.queries, c->recurrence.heads,
                 c->recurrence.key_heads, c->recurrence.key_size, c->recurrence.value_size,
                 c->recurrence.delta, c->recurrence.states, c->recurrence.decay,
                 c->recurrence.scale, c->recurrence.size, c->recurrence.by_channel);
        break;
    case OP_GATING:
        snprintf(rest, left, "gating rows %d heads %d bias %d alias %d low %g high %g write %g",
                 c->gating.rows, c->gating.heads, c->gating.bias, c->gating.alias, c->gating.low,
                 c->gating.high, c->gating.write);
        break;
    case OP_LRU:
        snprintf(rest, left, "lru rows %d width %d before %d size %g rates %g", c->lru.rows,
                 c->lru.width, c->lru.before, c->lru.size, c->lru.rates);
        break;
    case OP_SCAN:
        snprintf(rest, left,
                 "scan keys %d queries %d channels %d of %d groups %d selective %d plain %d "
                 "decay %g time %g",
                 c->scan.keys, c->scan.queries, c->scan.channels, c->scan.size, c->scan.groups,
                 c->scan.selective, c->scan.plain, c->scan.decay, c->scan.time);
        break;
    case OP_CHANNEL_GATING:
        snprintf(rest, left, "channel gating rows %d heads %d of %d bias %d write %g floor %g",
                 c->channel_gating.rows, c->channel_gating.heads, c->channel_gating.key_size,
                 c->channel_gating.bias, c->channel_gating.write, c->channel_gating.floor);
        break;
    case OP_WKV:
        snprintf(rest, left, "wkv rows %d queries %d channels %d decay %g size %g", c->wkv.rows,
                 c->wkv.queries, c->wkv.channels, c->wkv.decay, c->wkv.size);
        break;
    case OP_CONVOLUTION:
        snprintf(rest, left, "convolution keys %d queries %d width %d reach %d bias %d gated %d",
                 c->convolution.keys, c->convolution.queries, c->convolution.width,
                 c->convolution.reach, c->convolution.bias, c->convolution.gated);
        break;
    case OP_ROUTE:
        snprintf(rest, left,
                 "route rows %d experts %d of %d scoring %d groups %d of %d normalised %d "
                 "corrected %d ties %d size %g",
                 c->route.rows, c->route.routing.chosen, c->route.routing.experts,
                 c->route.routing.scoring, c->route.routing.chosen_groups, c->route.routing.groups,
                 c->route.routing.normalised, c->route.corrected, c->route.ties, c->route.size);
        break;
    case OP_MIX:
        snprintf(rest, left, "mix rows %d times %d width %d role %d accumulate %d plain %d",
                 c->mix.rows, c->mix.each, c->mix.width, c->mix.role, c->mix.accumulate,
                 c->mix.plain);
        break;
    case OP_RUNS:
        snprintf(rest, left, "runs in rows %d in %d out %d bias %d accumulate %d one %d",
                 c->runs.rows, c->runs.in, c->runs.out, c->runs.bias, c->runs.accumulate,
                 c->runs.one);
        break;
    case OP_ATTENTION:
        snprintf(
            rest, left,
            "attention heads %d/%d of %d and %d, positions %d keys %d queries %d window %d keep %d "
            "bias %d multiplier %d key bias %d "
            "soft-cap %g size %g sinks %g",
            a->heads, a->kv_heads, a->head_size, a->value_size, a->positions, a->keys, a->queries,
            a->window, a->keep, a->bias, a->multiplier, a->key_bias, a->soft_cap, a->size,
            a->sinks);
        break;
    default:
        snprintf(rest, left,
                 "op %d rows %d of %d, heads %d of %d, rotary %d from %d pairing %d position rows "
                 "%d tables in bf16 %d",
                 c->op, r->rows, r->positions, r->heads, r->head_size, r->rotary_size,
                 r->rotary_first, r->pairing, r->position_rows, r->tables_bf16);
    }
}

void require_same(const char *change, struct kernels *k, const struct any_case *c,
                  const struct outputs *got, const struct outputs *want, int from)
{
    char text[300];
    for (int a = 0; a < want->count; a++)
        if (compare_exact(want->array[a].name, got->array[a].value,
                          want->array[a].value + (size_t)from * want->array[a].each,
                          (size_t)got->segments * want->array[a].each)) {
            describe(text, k, c);
            fail_msg("%s changes bits: %s", change, text);
        }
}

/* `whole` ran with 2 threads: all of it with 1 thread, and its last segment alone with 4, give the
 * same bits. */
static void check_invariance(struct kernels *k, const struct any_case *c,
                             const struct outputs *whole)
{
    struct any_case last = *c;
    last.segments = 1;
    last.first = c->first + c->segments - 1;
    omp_set_num_threads(1);
    thread_order("5"); /* the stand-in for a GPU: its threads in another order */
    struct outputs again = run(k, c, 0);
    thread_order(NULL);
    require_same("one thread, or another order of threads,", k, c, &again, whole, 0);
    omp_set_num_threads(4);
    struct outputs alone = run(k, &last, 0);
    require_same("one segment, four threads", k, c, &alone, whole, c->segments - 1);
    omp_set_num_threads(2);
    outputs_free(&again);
    outputs_free(&alone);
}

/* 0 if an output is as near to the oracle's as its bound says. Where buffers hold bf16 the inputs
 * were rounded when they were written: by that much more an output that is a copy may differ. */
static int compare_output(struct kernels *k, const struct output *got, const struct output *want,
                          size_t count, enum op op)
{
    double *bound = allocate(count * sizeof *bound);
    for (size_t i = 0; i < count; i++)
        bound[i] = want->bound[i] + (stores_bf16(k) ? fabs(want->value[i]) : 0);
    int differs = compare_bounded(want->name, got->value, want->value, bound, count,
                                  roundoff(k, op));
    free(bound);
    return differs;
}

void check_case(const struct any_case *c)
{
    char text[300];
    struct outputs want = run(oracle, c, 1);
    for (int i = 0; i < set_count; i++) {
        if (sets[i] == oracle) /* one source with the f32 reference, which is checked below;
                                  t-kernels-reference.c checks its numbers */
            continue;
        struct outputs got = run(sets[i], c, 0);
        assert_int_equal(got.count, want.count);
        for (int a = 0; a < want.count; a++)
            if (compare_output(sets[i], &got.array[a], &want.array[a],
                               (size_t)want.segments * want.array[a].each, c->op)) {
                describe(text, sets[i], c);
                fail_msg("differs from the f64 reference: %s", text);
            }
        check_invariance(sets[i], c, &got);
        outputs_free(&got);
    }
    outputs_free(&want);
}
