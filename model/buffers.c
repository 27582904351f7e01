/* The table of the engine's buffers: their members, purposes, conditions and sizes. The memory plan
 * sums the table, and the engine is created from it and closed by it; nothing else lists them. A
 * new buffer is a member in engine_parts.h and a row here. */
#include "model/engine_parts.h"

#include <string.h>

/* The layers that share a buffer. */
enum sharing {
    OWN, /* none: each has its own */
    ALL, /* all */
    KEPT, /* those not stored; as large as the largest of them needs */
    TURNS, /* every second one */
    ASIDE /* every second one of those with input stored elsewhere */
};

struct row {
    size_t place; /* in struct engine, or in struct layer */
    enum buffer_role role; /* the kernel set has an element type for each */
    size_t rows, width; /* elements for a segment; no rows: no buffer */
    enum sharing sharing; /* by layers */
};

enum { ROWS_MOST = 112 };

#define ENGINE(member) offsetof(struct engine, member)
#define LAYER(member) offsetof(struct layer, member)

static void most(size_t *of, size_t count)
{
    *of = count > *of ? count : *of;
}

/* Fills the rows of buffers that exist once; returns their number. */
static int engine_rows(struct row rows[ROWS_MOST], const struct shape *s)
{
    const struct decoder *d = s->d;
    const size_t hidden = (size_t)d->hidden, embedding = (size_t)d->embedding_width,
                 heads = (size_t)d->heads, side = (size_t)d->side_width,
                 streams = (size_t)d->streams.count, width = (size_t)stream_width(d);
    const size_t inputs = (size_t)s->keys[0], outputs = (size_t)s->keys[d->layers];
    const int reverse = s->kind == REQUEST_GRADIENT, head = s->kind != REQUEST_ATTENTION,
              narrow = d->project_in.weight.data != NULL, normed = d->embedding_norm.present;
    size_t q_size = 0, kv_size = 0,
           kv_width = 0; /* the most elements of queries, of what mixers keep */
    size_t pruned = 0; /* the most that any block writes, or any parallel one with fewer rows */
    size_t inner_size = 0,
           gated = 0; /* most elements of any MLP; of any that needs two in reverse */
    size_t slots = 0, slots_size = 0, scaled = 0, logits = 0, weights = 0,
           apart = 0; /* of experts */
    size_t z_size = 0, recurring = 0, mixed = 0, gates = 0, steps = 0, decays = 0, borders = 0,
           key_statistics = 0, factors = 0, own_factors = 0, low_steps = 0, factor_norms = 0,
           step_norms = 0, unit = 0; /* of recurrences */
    size_t rows_at_once = narrow ? inputs : outputs; /* the most of any */
    size_t queries = 0, laurel = 0, low = 0, cut = 0; /* the most of any; with these kinds */
    const size_t detour = detour_has(d) ? inputs : 0, start = side || detour ? inputs : 0;
    size_t inner = hidden, widest, rank = 0, shared = 0, own_width = 0; /* the last of latents */
    for (int l = 0; l < d->layers; l++) {
        const struct block *b = &d->blocks[l];
        const struct experts *x = &b->experts;
        const size_t span = (size_t)slices_rows(s, l); /* of whole segments unless it has slices */
        size_t here = (size_t)slices_queries(s, l), own = here * (size_t)mlp_width(b),
               rows_of_experts = expert_slots(s, l), reads = (size_t)expert_reads(d, b);
        const size_t q_width = block_attends(b) ? (size_t)block_q_width(d, b) : 0,
                     kept_width = (size_t)block_kept_width(d, b);
        most(&inner, q_width);
        most(&inner, (size_t)block_mixed_width(d, b));
        most(&inner, (size_t)block_gate_width(b));
        most(&rank, latent_rank(b));
        most(&rank, latent_query_rank(b));
        most(&shared, latent_shared_size(b));
        most(&own_width, latent_own_width(b));
        most(&q_size, here * q_width);
        most(&kv_width, kept_width);
        most(&kv_size, (size_t)shape_span(s, l) * kept_width);
        most(&inner_size, own);
        most(&inner_size, here * side);
        most(&gated, b->gate.weight.data || x->shared_gate.weight.data ? own : 0);
        most(&gated, here * side);
        const int fewer = s->queries[l] < s->keys[l] || (s->retain && l + 1 == d->layers);
        most(&pruned, b->residual == RESIDUAL_PARALLEL && fewer ? here : 0);
        most(&queries, here);
        most(&rows_at_once, span);
        most(&laurel, b->laurel.down.weight.data ? here : 0);
        most(&low, b->laurel.down.weight.data ? here * b->laurel.down.weight.rows : 0);
        const struct low_rank *const added[] = {&b->detour.query, &b->detour.key_value,
                                                &b->detour.gate, &b->detour.up};
        for (int i = 0; i < 4; i++)
            most(&low, here * (added[i]->down[0].weight.rows + added[i]->down[1].weight.rows));
        most(&inner, block_detours(b) ? 2 * hidden : 0);
        most(&cut, b->gate_cut.present ? own : 0);
        most(&inner, x->routing.experts ? reads : 0);
        most(&slots, rows_of_experts * reads);
        most(&slots, x->shared_gate.weight.data ? here * hidden : 0);
        most(&scaled, x->scales_input ? rows_of_experts * reads : 0);
        most(&slots_size, rows_of_experts * (size_t)x->width);
        most(&logits, here * (size_t)x->routing.experts);
        most(&weights, rows_of_experts);
        most(&apart, x->apart ? here : 0);
        most(&z_size, b->output_gate.weight.data ? here * (size_t)block_mixed_width(d, b) : 0);
        const size_t shifting = (size_t)channel_width(b);
        most(&inner_size, here * shifting);
        if (shifting || block_mixes_time(b))
            most(&mixed, span * hidden);
        most(&z_size, shifting ? here * hidden : 0);
        if (!block_recurs(b))
            continue;
        const struct recurrence_view *r = &b->mixer.recurrence;
        const size_t rows_read = (size_t)s->keys[l], width_read = (size_t)block_recurrence_width(b),
                     width_made = (size_t)block_gate_width(b), slices = (size_t)slices_count(s, l),
                     border = slices ? (size_t)r->reach - 1 : 0;
        most(&kv_size, rows_read * width_read);
        most(&z_size, (size_t)s->queries[l] * width_made);
        most(&recurring, block_mixes_time(b) ? 0 : rows_read * width_read);
        most(&mixed, here * width_made);
        most(&mixed, (border + span) * width_read);
        most(&borders, slices * border * width_read);
        most(&gates, block_mixes_time(b) ? 0 : rows_read * (size_t)block_steps_width(b));
        most(&steps, block_scans(b)        ? 0
                     : block_mixes_time(b) ? rows_read * width_read
                                           : span * 2 * (size_t)r->heads);
        most(&decays, r->by_channel ? span * (size_t)(r->heads * r->key_size) : 0);
        most(&low, span * r->decay_down.weight.rows);
        most(&low, here * r->gate_down.weight.rows);
        most(&factors, rows_read * (size_t)block_factors_width(b));
        most(&own_factors, span * (size_t)block_factors_width(b));
        most(&low_steps, span * block_low_width(b));
        most(&unit, block_is_lru(b) ? span * 2 * (size_t)r->value_size : 0);
        most(&factor_norms, r->scan.factor_norm.present ? span : 0);
        most(&step_norms, r->scan.step_norm.present ? span : 0);
        most(&key_statistics, r->key_norm.present ? span * 4 * (size_t)r->key_heads : 0);
    }
    widest = embedding > inner ? embedding : inner;
    const struct row all[] = {
        {ENGINE(tokens), ROLE_INDEX, inputs, 1, OWN},
        {ENGINE(targets), ROLE_INDEX, outputs, 1, OWN},
        {ENGINE(narrow), ROLE_RESIDUAL, narrow ? inputs : 0, embedding, OWN},
        {ENGINE(places), ROLE_INDEX, narrow ? inputs : 0, 1, OWN},
        {ENGINE(raw), ROLE_RESIDUAL, normed ? inputs : 0, hidden, OWN},
        {ENGINE(raw_statistics), ROLE_STATISTIC, normed ? inputs : 0, 2, OWN},
        {ENGINE(y), ROLE_ACTIVATION, rows_at_once, widest, OWN},
        {ENGINE(t), ROLE_ACTIVATION, rows_at_once > streams ? rows_at_once : streams, inner, OWN},
        {ENGINE(latent), ROLE_ACTIVATION, rank ? inputs : 0, rank, OWN},
        {ENGINE(own), ROLE_ACTIVATION, rank ? inputs : 0, own_width, OWN},
        {ENGINE(d_shared), ROLE_ACTIVATION, rank && reverse ? inputs : 0, shared, OWN},
        {ENGINE(r), ROLE_RESIDUAL, pruned, hidden, OWN},
        {ENGINE(s), ROLE_RESIDUAL, reverse ? pruned : 0, hidden, OWN},
        {ENGINE(a), ROLE_ACTIVATION, inner_size, 1, OWN},
        {ENGINE(da_gate), ROLE_ACTIVATION, reverse ? gated : 0, 1, OWN},
        {ENGINE(slots), ROLE_ACTIVATION, slots, 1, OWN},
        {ENGINE(scaled), ROLE_ACTIVATION, scaled, 1, OWN},
        {ENGINE(expert_a), ROLE_ACTIVATION, slots_size, 1, OWN},
        {ENGINE(expert_b), ROLE_ACTIVATION, reverse ? slots_size : 0, 1, OWN},
        {ENGINE(d_logits), ROLE_RESIDUAL, reverse ? logits : 0, 1, OWN},
        {ENGINE(d_weights), ROLE_RESIDUAL, reverse ? weights : 0, 1, OWN},
        {ENGINE(d_branch), ROLE_RESIDUAL, reverse ? apart : 0, hidden, OWN},
        {ENGINE(dq), ROLE_ACTIVATION, reverse ? q_size : 0, 1, OWN},
        {ENGINE(dkv), ROLE_ACTIVATION, reverse ? kv_size : 0, 1, OWN},
        {ENGINE(dz), ROLE_ACTIVATION, reverse ? z_size : 0, 1, OWN},
        {ENGINE(qkv), ROLE_ACTIVATION, recurring, 1, OWN},
        {ENGINE(mixed), ROLE_ACTIVATION, mixed, 1, OWN},
        {ENGINE(borders), ROLE_ACTIVATION, borders, 1, OWN},
        {ENGINE(gates), ROLE_RESIDUAL, gates, 1, OWN},
        {ENGINE(d_gates), ROLE_RESIDUAL, reverse ? gates : 0, 1, OWN},
        {ENGINE(d_steps), ROLE_RESIDUAL, reverse ? steps : 0, 1, OWN},
        {ENGINE(d_decays), ROLE_RESIDUAL, reverse ? decays : 0, 1, OWN},
        {ENGINE(key_statistics), ROLE_STATISTIC, key_statistics, 1, OWN},
        {ENGINE(factors), ROLE_ACTIVATION, factors, 1, OWN},
        {ENGINE(d_factors), ROLE_ACTIVATION, reverse ? factors : 0, 1, OWN},
        {ENGINE(low_steps), ROLE_ACTIVATION, low_steps, 1, OWN},
        {ENGINE(raw_factors), ROLE_ACTIVATION, factor_norms ? own_factors : 0, 1, OWN},
        {ENGINE(raw_low_steps), ROLE_ACTIVATION, step_norms ? low_steps : 0, 1, OWN},
        {ENGINE(factor_statistics), ROLE_STATISTIC, factor_norms, 4, OWN},
        {ENGINE(step_statistics), ROLE_STATISTIC, step_norms, 2, OWN},
        {ENGINE(unit), ROLE_RESIDUAL, unit, 1, OWN},
        {ENGINE(d_unit), ROLE_RESIDUAL, reverse ? unit : 0, 1, OWN},
        {ENGINE(start), detour ? ROLE_RESIDUAL : ROLE_ACTIVATION, start, hidden, OWN},
        {ENGINE(d_start), ROLE_RESIDUAL, reverse ? start : 0, hidden, OWN},
        {ENGINE(pair), ROLE_RESIDUAL, detour, 2 * hidden, OWN},
        {ENGINE(d_pair), ROLE_RESIDUAL, reverse ? detour : 0, 2 * hidden, OWN},
        {ENGINE(half[0]), ROLE_INDEX, reverse ? detour : 0, 1, OWN},
        {ENGINE(half[1]), ROLE_INDEX, reverse ? detour : 0, 1, OWN},
        {ENGINE(passed), ROLE_RESIDUAL, detour, hidden, OWN},
        {ENGINE(side), ROLE_RESIDUAL, side ? inputs : 0, side, OWN},
        {ENGINE(side_tokens), ROLE_INDEX, side && d->side_rows < d->vocabulary ? inputs : 0, 1,
         OWN},
        {ENGINE(g[0]), ROLE_RESIDUAL, reverse ? inputs : 0, width, OWN},
        {ENGINE(g[1]), ROLE_RESIDUAL, reverse ? inputs : 0, width, OWN},
        {ENGINE(stream[0]), ROLE_RESIDUAL, streams ? inputs : 0, hidden, OWN},
        {ENGINE(stream[1]), ROLE_RESIDUAL, streams ? inputs : 0, hidden, OWN},
        {ENGINE(stream[2]), ROLE_RESIDUAL, streams && reverse ? inputs : 0, hidden, OWN},
        {ENGINE(stream[3]), ROLE_RESIDUAL, streams && reverse ? inputs : 0, hidden, OWN},
        {ENGINE(stream[4]), ROLE_RESIDUAL, streams && reverse ? inputs : 0, hidden, OWN},
        {ENGINE(tails), ROLE_RESIDUAL, streams ? queries : 0, width, OWN},
        {ENGINE(joined), ROLE_RESIDUAL, streams && head ? outputs : 0, hidden, OWN},
        {ENGINE(magnitude), ROLE_RESIDUAL, streams ? inputs : 0, 1, OWN},
        {ENGINE(d_magnitude), ROLE_RESIDUAL, streams && reverse ? inputs : 0, 1, OWN},
        {ENGINE(dot), ROLE_RESIDUAL, streams && reverse ? inputs : 0, 1, OWN},
        {ENGINE(stream_statistics), ROLE_STATISTIC, streams ? inputs : 0, 2, OWN},
        {ENGINE(modality), ROLE_ACTIVATION, streams ? inputs : 0, streams, OWN},
        {ENGINE(d_modality), ROLE_ACTIVATION, streams ? inputs : 0, streams, OWN},
        {ENGINE(coefficients), ROLE_RESIDUAL, streams ? inputs : 0, streams * streams, OWN},
        {ENGINE(d_coefficients), ROLE_RESIDUAL, streams && reverse ? inputs : 0, streams * streams,
         OWN},
        {ENGINE(single[0]), ROLE_INDEX, streams > 0 ? inputs : 0, 1, OWN},
        {ENGINE(single[1]), ROLE_INDEX, streams > 1 ? inputs : 0, 1, OWN},
        {ENGINE(single[2]), ROLE_INDEX, streams > 2 ? inputs : 0, 1, OWN},
        {ENGINE(single[3]), ROLE_INDEX, streams > 3 ? inputs : 0, 1, OWN},
        {ENGINE(one[0]), ROLE_RESIDUAL, streams > 0 ? inputs : 0, streams, OWN},
        {ENGINE(one[1]), ROLE_RESIDUAL, streams > 1 ? inputs : 0, streams, OWN},
        {ENGINE(one[2]), ROLE_RESIDUAL, streams > 2 ? inputs : 0, streams, OWN},
        {ENGINE(one[3]), ROLE_RESIDUAL, streams > 3 ? inputs : 0, streams, OWN},
        {ENGINE(rest), ROLE_RESIDUAL, streams ? inputs : 0, streams, OWN},
        {ENGINE(of_row), ROLE_INDEX, streams ? inputs : 0, streams, OWN},
        {ENGINE(of_pair), ROLE_INDEX, streams ? inputs : 0, streams * streams, OWN},
        {ENGINE(laurel), ROLE_RESIDUAL, laurel, hidden, OWN},
        {ENGINE(low), ROLE_ACTIVATION, low, 1, OWN},
        {ENGINE(cut_a), ROLE_ACTIVATION, cut, 1, OWN},
        {ENGINE(cut_b), ROLE_ACTIVATION, reverse ? cut : 0, 1, OWN},
        {ENGINE(cut_d), ROLE_RESIDUAL, reverse ? cut : 0, 1, OWN},
        {ENGINE(spread), ROLE_RESIDUAL, cut ? queries : 0, 1, OWN},
        {ENGINE(d_spread), ROLE_RESIDUAL, cut && reverse ? queries : 0, 1, OWN},
        {ENGINE(rounded), ROLE_ACTIVATION, reverse && s->rounds ? inputs : 0, hidden, OWN},
        {ENGINE(last), ROLE_ACTIVATION, head ? outputs : 0, embedding, OWN},
        {ENGINE(d_last), ROLE_ACTIVATION, reverse ? outputs : 0, embedding, OWN},
        {ENGINE(final_statistics), ROLE_STATISTIC, head ? outputs : 0, 2, OWN},
        {ENGINE(logprob), ROLE_STATISTIC, head ? outputs : 0, 1, OWN},
        {ENGINE(against), ROLE_INDEX, s->contrast ? outputs : 0, 1, OWN},
        {ENGINE(d_against), ROLE_ACTIVATION, s->contrast ? outputs : 0, embedding, OWN},
        {ENGINE(logprob_against), ROLE_STATISTIC, s->contrast ? outputs : 0, 1, OWN},
        {ENGINE(norms), ROLE_STATISTIC, reverse ? inputs : 0, 1, OWN},
        {ENGINE(head_peak), ROLE_STATISTIC, reverse ? outputs : 0, 1, OWN},
        {ENGINE(mean), ROLE_RESIDUAL, s->attributed ? inputs : 0, embedding, OWN},
        {ENGINE(mass), ROLE_STATISTIC, s->kind == REQUEST_ATTENTION ? inputs : 0, heads, OWN},
        {ENGINE(fresh), ROLE_ACTIVATION, s->carry ? inputs : 0, kv_width, OWN},
    };
    _Static_assert(sizeof all / sizeof *all <= ROWS_MOST, "more rows than there is room for");
    memcpy(rows, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* Numbers of a row of steps that a recurrence keeps. */
static int stepped_width(const struct block *b)
{
    const struct recurrence_view *r = &b->mixer.recurrence;
    return block_mixes_time(b) ? r->value_size
                               : r->heads * (r->write > 0 && !r->by_channel ? 2 : 1);
}

/* The same for those that exist in each layer, for layer l. After the last one there is one more,
 * which has only an input. */
static int layer_rows(struct row rows[ROWS_MOST], const struct shape *s, int l)
{
    const struct decoder *d = s->d;
    const int block = l < d->layers, reverse = s->kind == REQUEST_GRADIENT;
    const struct block none = {0}, *b = block ? &d->blocks[l] : &none;
    const size_t hidden = (size_t)d->hidden, heads = (size_t)d->heads,
                 q_norms = b->norms_whole ? 1 : heads, k_norms = (size_t)block_key_norms(d, b),
                 q_width = (size_t)block_q_width(d, b), o_width = (size_t)block_mixed_width(d, b),
                 kv_width = (size_t)block_kept_width(d, b), side = (size_t)d->side_width,
                 mlp = (size_t)mlp_width(b), rank = latent_rank(b),
                 query_rank = latent_query_rank(b);
    const struct experts *x = &b->experts;
    const size_t streams = (size_t)d->streams.count, row = (size_t)stream_width(d);
    const size_t inputs = (size_t)s->keys[l], keys = block ? (size_t)slices_rows(s, l) : 0,
                 mixed = block_mixes(b) ? keys : 0, own_keys = b->source || !kv_width ? 0 : keys,
                 queries = block ? (size_t)slices_queries(s, l) : 0,
                 carried = block ? (size_t)shape_carry(s, l) : 0,
                 fed = block_has_mlp(b) ? queries : 0, attending = block_attends(b) ? queries : 0,
                 slots = block ? expert_slots(s, l) : 0, experts = (size_t)x->routing.experts,
                 width = (size_t)x->width, apart = x->apart ? queries : 0;
    const struct recurrence_view *r = &b->mixer.recurrence;
    const int recurs = block_recurs(b);
    const size_t gated = b->output_gate.weight.data ? queries : 0, stepping = recurs ? keys : 0,
                 mixing = recurs ? queries : 0, made = (size_t)block_gate_width(b),
                 o_norms = recurs && r->norm.present ? queries : 0,
                 recurred = recurs ? (size_t)s->queries[l] : 0,
                 states = block_mixes_time(b) ? reverse ? recurred : 0
                          : block_scans(b)    ? reverse ? scan_states((int)inputs) : 0
                          : recurred > 1      ? (size_t)r->heads * recurrence_states((int)inputs)
                                              : 0,
                 shifting = (size_t)channel_width(b), stepped = (size_t)stepped_width(b);
    /* latents make these again */
    const int source = block && shape_is_source(d, l);
    const enum sharing of_q = latent_has_query(d) ? ALL : KEPT, of_kv = latent_has(d) ? ALL
                                                                        : source      ? OWN
                                                                                      : KEPT;
    const size_t parted = streams ? queries : 0, cut = b->gate_cut.present ? queries : 0,
                 laurel = b->laurel.down.weight.data ? queries : 0;
    const int heads_normed = b->query_norm.present,
              clipped = block && b->clip > 0 && shape_rotates(d, l),
              post_1 = b->attention_post_norm.present, post_2 = b->mlp_post_norm.present;
    const struct row all[] = {
        {LAYER(x), ROLE_RESIDUAL, inputs, row,
         reverse ? ASIDE : TURNS}, /* only reverse needs all */
        {LAYER(carry), ROLE_ACTIVATION, carried, kv_width, OWN},
        {LAYER(norms), ROLE_STATISTIC, s->by_layer && l > 0 && block ? inputs : 0, 1, OWN},
        {LAYER(peak), ROLE_STATISTIC, reverse && (!block || !range_passes(b)) ? 1 : 0, 1, OWN},
        {LAYER(statistics_1), ROLE_STATISTIC, mixed, 2, KEPT},
        {LAYER(q), ROLE_ACTIVATION, attending, q_width, of_q},
        {LAYER(kv), ROLE_ACTIVATION, own_keys + carried, kv_width, of_kv},
        {LAYER(d_kv), ROLE_ACTIVATION, source && reverse ? keys : 0, kv_width, OWN},
        {LAYER(lse), ROLE_STATISTIC, attending, heads, KEPT},
        {LAYER(o), ROLE_ACTIVATION, o_width ? queries : 0, o_width, KEPT},
        {LAYER(convolved), ROLE_ACTIVATION, stepping, (size_t)block_recurrence_width(b), KEPT},
        {LAYER(recurred), ROLE_ACTIVATION, mixing, made, ALL}, /* only forward reads it */
        {LAYER(recurrence_z), ROLE_ACTIVATION, mixing, made, KEPT},
        {LAYER(raw_recurred), ROLE_ACTIVATION, recurred, made, KEPT},
        {LAYER(steps), ROLE_RESIDUAL, block_scans(b) ? 0 : stepping, stepped, KEPT},
        {LAYER(decays), ROLE_RESIDUAL, r->by_channel ? stepping : 0,
         (size_t)(r->heads * r->key_size), KEPT},
        {LAYER(z), ROLE_ACTIVATION, shifting ? queries : gated, o_width, KEPT},
        {LAYER(raw_o), ROLE_ACTIVATION, gated, o_width, KEPT},
        {LAYER(o_statistics), ROLE_STATISTIC, o_norms, 2 * (size_t)r->groups, KEPT},
        {LAYER(states), ROLE_STATISTIC, states, (size_t)r->key_size * (size_t)r->value_size, KEPT},
        {LAYER(latent), ROLE_ACTIVATION, rank ? keys : 0, rank, KEPT},
        {LAYER(latent_statistics), ROLE_STATISTIC, rank ? keys : 0, 2, KEPT},
        {LAYER(latent_query), ROLE_ACTIVATION, query_rank ? queries : 0, query_rank, KEPT},
        {LAYER(latent_query_statistics), ROLE_STATISTIC, query_rank ? queries : 0, 2, KEPT},
        {LAYER(shared_key), ROLE_ACTIVATION, rank ? keys : 0, latent_shared_size(b), KEPT},
        {LAYER(mid), ROLE_RESIDUAL, b->residual == RESIDUAL_PARALLEL || !mixed ? 0 : fed, hidden,
         KEPT},
        {LAYER(statistics_2), ROLE_STATISTIC, fed, 2, KEPT},
        {LAYER(up), ROLE_ACTIVATION, mlp || shifting ? queries : 0, mlp + shifting, KEPT},
        {LAYER(gate), ROLE_ACTIVATION, b->gate.weight.data ? queries : 0, mlp, KEPT},
        {LAYER(raw_q), ROLE_ACTIVATION, heads_normed ? queries : 0, q_width, KEPT},
        {LAYER(raw_kv), ROLE_ACTIVATION, heads_normed ? own_keys : 0, kv_width, KEPT},
        {LAYER(clipped_q), ROLE_ACTIVATION, clipped ? queries : 0, q_width, KEPT},
        {LAYER(clipped_kv), ROLE_ACTIVATION, clipped ? keys : 0, kv_width, KEPT},
        {LAYER(statistics_q), ROLE_STATISTIC, heads_normed ? queries : 0, 2 * q_norms, KEPT},
        {LAYER(statistics_k), ROLE_STATISTIC, heads_normed ? own_keys : 0, 2 * k_norms, KEPT},
        {LAYER(attention_sum), ROLE_RESIDUAL, post_1 ? queries : 0, hidden, KEPT},
        {LAYER(statistics_3), ROLE_STATISTIC, post_1 ? queries : 0, 2, KEPT},
        {LAYER(mlp_sum), ROLE_RESIDUAL, post_2 ? queries : 0, hidden, KEPT},
        {LAYER(statistics_4), ROLE_STATISTIC, post_2 ? queries : 0, 2, KEPT},
        {LAYER(side), ROLE_ACTIVATION, side ? queries : 0, side, KEPT},
        {LAYER(side_gate), ROLE_ACTIVATION, side ? queries : 0, side, KEPT},
        {LAYER(side_raw), ROLE_RESIDUAL, side ? queries : 0, side, KEPT},
        {LAYER(side_sum), ROLE_RESIDUAL, side ? queries : 0, hidden, KEPT},
        {LAYER(side_raw_statistics), ROLE_STATISTIC, side ? queries : 0, 2, KEPT},
        {LAYER(side_statistics), ROLE_STATISTIC, side ? queries : 0, 2, KEPT},
        {LAYER(active), ROLE_RESIDUAL, streams ? keys : 0, hidden, KEPT},
        {LAYER(after), ROLE_RESIDUAL, parted, hidden, KEPT},
        {LAYER(predict_logit), ROLE_ACTIVATION, streams ? keys : 0, streams, KEPT},
        {LAYER(correct_logit), ROLE_ACTIVATION, parted, streams, KEPT},
        {LAYER(predict_statistics), ROLE_STATISTIC, streams ? keys : 0, 2, KEPT},
        {LAYER(correct_statistics), ROLE_STATISTIC, parted, 2, KEPT},
        {LAYER(laurel_sum), ROLE_RESIDUAL, laurel, hidden, KEPT},
        {LAYER(laurel_statistics), ROLE_STATISTIC, laurel, 2, KEPT},
        {LAYER(gate_raw), ROLE_RESIDUAL, cut, mlp, KEPT},
        {LAYER(gate_statistics), ROLE_STATISTIC, cut, 2, KEPT},
        {LAYER(logits), ROLE_RESIDUAL, experts ? queries : 0, experts, KEPT},
        {LAYER(weights), ROLE_RESIDUAL, slots, 1, KEPT},
        {LAYER(choice), ROLE_INDEX, slots, 1, KEPT},
        {LAYER(place), ROLE_INDEX, slots, 1, KEPT},
        {LAYER(order), ROLE_INDEX, slots, 1, KEPT},
        {LAYER(expert_up), ROLE_ACTIVATION, slots, width, KEPT},
        {LAYER(expert_gate), ROLE_ACTIVATION, experts && x->expert[0].gate.weight.data ? slots : 0,
         width, KEPT},
        {LAYER(shared_logit), ROLE_RESIDUAL, x->shared_gate.weight.data ? queries : 0, 1, KEPT},
        {LAYER(shared_weight), ROLE_RESIDUAL, x->shared_gate.weight.data ? queries : 0, 1, KEPT},
        {LAYER(mlp_own), ROLE_RESIDUAL, apart, hidden, KEPT},
        {LAYER(expert_sum), ROLE_RESIDUAL, apart, hidden, KEPT},
        {LAYER(mlp_own_statistics), ROLE_STATISTIC, apart, 2, KEPT},
        {LAYER(expert_sum_statistics), ROLE_STATISTIC, apart, 2, KEPT},
        {LAYER(expert_statistics), ROLE_STATISTIC, apart, 2, KEPT},
        {LAYER(router_statistics), ROLE_STATISTIC, apart, 2, KEPT},
    };
    _Static_assert(sizeof all / sizeof *all <= ROWS_MOST, "more rows than there is room for");
    memcpy(rows, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* The first layer that shares layer l's buffer: the stored layers are the last ones. */
static int owner(enum sharing sharing, const struct shape *s, int l)
{
    switch (sharing) {
    case OWN: return l;
    case ALL: return 0;
    case KEPT: return l < s->d->layers - s->stored_layers ? 0 : l;
    case TURNS: return l % 2;
    case ASIDE: return l < aside_layers(s) ? l % 2 : l;
    }
    return l;
}

typedef int visitor(void *context, const struct row *row, int l);

/* Visits each existing buffer once, with its owner layer or -1. Stops when a visit is nonzero. */
static int walk(const struct shape *s, visitor *visit, void *context)
{
    struct row rows[ROWS_MOST];
    size_t shared[2][ROWS_MOST] = {
        {0}}; /* the most elements for those that share with layer 0 or 1 */
    int rc = 0;
    for (int i = 0, count = engine_rows(rows, s); i < count && rc == 0; i++)
        if (rows[i].rows)
            rc = visit(context, &rows[i], -1);
    for (int l = s->d->layers; l >= 0;
         l--) /* from the last one: an owner comes after those that share with it */
        for (int i = 0, count = layer_rows(rows, s, l); i < count && rc == 0; i++) {
            int of = owner(rows[i].sharing, s, l);
            if (of < 2) {
                most(&shared[of][i], rows[i].rows * rows[i].width);
                rows[i].rows = shared[of][i], rows[i].width = 1;
            }
            if (of == l && rows[i].rows)
                rc = visit(context, &rows[i], l);
        }
    return rc;
}

struct sum {
    const struct kernels *k;
    double segments, kept, others;
};

static int add(void *context, const struct row *row, int l)
{
    struct sum *sum = context;
    (void)l;
    *(row->sharing == KEPT ? &sum->kept : &sum->others) += sum->segments * (double)row->rows *
                                                           (double)row->width *
                                                           (double)sum->k->role_size[row->role];
    return 0;
}

void buffers_bytes(double *kept, double *others, const struct kernels *k, const struct shape *s)
{
    struct sum sum = {.k = k, .segments = s->batch};
    walk(s, add, &sum);
    *kept = sum.kept, *others = sum.others;
}

static struct buffer **place(struct engine *g, const struct row *row, int l)
{
    void *base = l < 0 ? (void *)g : (void *)&g->layers[l];
    return (struct buffer **)(void *)((char *)base + row->place);
}

struct creation {
    struct engine *g;
    struct error *e;
};

static int create(void *context, const struct row *row, int l)
{
    struct creation *c = context;
    struct kernels *k = c->g->k;
    size_t count;
    if (size_multiply(&count, (size_t)c->g->shape.batch, row->rows) ||
        size_multiply(&count, count, row->width))
        return fail(c->e, "buffer: its size overflows");
    return (*place(c->g, row, l) = k->create(k, row->role, count, c->e)) ? 0 : -1;
}

int buffers_create(struct engine *g, struct error *e)
{
    struct creation c = {g, e};
    struct row rows[ROWS_MOST];
    if (walk(&g->shape, create, &c))
        return -1;
    for (int l = 0; l <= g->d->layers; l++)
        for (int i = 0, count = layer_rows(rows, &g->shape, l); i < count; i++)
            *place(g, &rows[i], l) = *place(g, &rows[i], owner(rows[i].sharing, &g->shape, l));
    return 0;
}

static int destroy(void *context, const struct row *row, int l)
{
    struct engine *g = context;
    g->k->destroy(g->k, *place(g, row, l));
    *place(g, row, l) = NULL; /* engine_reshape may make none */
    return 0;
}

void buffers_destroy(struct engine *g)
{
    walk(&g->shape, destroy, g);
}
