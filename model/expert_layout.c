#include "model/expert_layout.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS_MOST = EXPERTS_MOST / 2 };

static int read_groups(struct mixture *m, struct decoder *d, struct error *e)
{
    struct routing *r = &m->routing;
    struct config *c = d->config;
    long groups, chosen;
    if (config_int_or(c, "n_group", 1, GROUPS_MOST, 1, &groups, e) || config_int_or(c, "topk_group", 1, groups, 1, &chosen, e) ||
        config_real_or(c, "routed_scaling_factor", 1e-6, 1e6, 1, &r->factor, e))
        return -1;
    r->scoring = SCORING_SIGMOID, r->floor = 1e-20;
    r->groups = (int)groups, r->chosen_groups = (int)chosen;
    if (r->experts % groups || r->experts / groups < 2)
        return fail(e, "%s: n_group %ld is not supported with %d experts (expected groups of two or more, all of one size)",
                    config_path(c), groups, r->experts);
    if (r->chosen > r->experts / groups * chosen)
        return fail(e, "%s: num_experts_per_tok is %d (expected at most %ld: topk_group %ld of %d experts each)", config_path(c),
                    r->chosen, r->experts / groups * chosen, chosen, r->experts / (int)groups);
    return 0;
}

/* The layers without experts, by a list and by a step. */
static int read_layers(struct mixture *m, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long step, first;
    m->step = 1;
    if (m->layout->first_dense) {
        if (config_int_or(c, m->layout->first_dense, 0, 10000, 1, &first, e))
            return -1;
        m->first_dense = (int)first;
    }
    if (!m->layout->some)
        return 0;
    if (config_int_or(c, "decoder_sparse_step", 1, 10000, 1, &step, e))
        return -1;
    m->step = (int)step;
    m->dense = config_get(c, "mlp_only_layers");
    for (size_t i = 0; m->dense && i < json_array_size(m->dense); i++)
        if (!json_is_integer(json_array_get(m->dense, i)))
            return fail(e, "%s: mlp_only_layers, entry %zu is no whole number", config_path(c), i + 1);
    return m->dense && !json_is_array(m->dense) ? fail(e, "%s: mlp_only_layers is no list of layers", config_path(c)) : 0;
}

/* The number of experts; two names of the key may not say two things. */
static int read_count(long *count, const struct expert_layout *o, struct decoder *d, struct error *e)
{
    long other;
    const char *key = o->older_count ? family_either(d, o->count, o->older_count) : o->count;
    if (config_int(d->config, key, 1, EXPERTS_MOST, count, e) ||
        (o->older_count && config_int_or(d->config, o->older_count, 1, EXPERTS_MOST, *count, &other, e)))
        return -1;
    return o->older_count && other != *count
               ? fail(e, "%s: %s %ld and %s %ld differ", config_path(d->config), o->count, *count, o->older_count, other)
               : 0;
}

int mixture_settings(struct mixture *m, const struct expert_layout *o, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long count, chosen, width, shared = 0;
    *m = (struct mixture){.layout = o};
    if (read_count(&count, o, d, e) || config_int(c, "num_experts_per_tok", 1, count, &chosen, e) ||
        config_int(c, o->width ? o->width : "intermediate_size", 1, 1 << 24, &width, e) ||
        (o->shared_width && config_int(c, o->shared_width, 1, 1 << 24, &shared, e)) ||
        (o->shared_count && config_int_or(c, o->shared_count, 1, 1024, 1, &shared, e)))
        return -1;
    m->width = (int)width;
    m->shared_width = (int)(o->shared_count ? shared * width : shared);
    m->routing = (struct routing){
        .experts = (int)count, .chosen = (int)chosen, .groups = 1, .chosen_groups = 1, .normalised = 1, .factor = 1};
    if (o->normalised >= 0 && config_bool_or(c, "norm_topk_prob", o->normalised, &m->routing.normalised, e))
        return -1;
    if ((o->by_groups && read_groups(m, d, e)) || read_layers(m, d, e))
        return -1;
    family_note(d, "gradients go through the weights of the experts that each token chose; the choice itself is held constant");
    return 0;
}

int mixture_in_layer(const struct mixture *m, int l)
{
    for (size_t i = 0; m->dense && i < json_array_size(m->dense); i++)
        if (json_integer_value(json_array_get(m->dense, i)) == l)
            return 0;
    return l >= m->first_dense && (l + 1) % m->step == 0;
}

static int read_apart(struct experts *x, const struct mixture *m, const struct decoder *d, const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    size_t hidden = (size_t)d->hidden, width = (size_t)m->width;
    for (int i = 0; i < x->routing.experts; i++) {
        struct expert *out = &x->expert[i];
        if (family_linear(&out->gate, d, width, hidden, 0, e, "%s.%s.%d.%s", stem, o->parent, i, o->gate) ||
            family_linear(&out->up, d, width, hidden, 0, e, "%s.%s.%d.%s", stem, o->parent, i, o->up) ||
            family_linear(&out->down, d, hidden, width, 0, e, "%s.%s.%d.%s", stem, o->parent, i, o->down))
            return -1;
    }
    return 0;
}

/* Experts that are stacked in tensors. */
struct stacks {
    const struct mixture *m;
    const struct decoder *d;
    const char *stem;
    const char *weight, *bias; /* what names end in */
    int turned;
    struct error *e;
};

/* Expert i of those that NAME stacks, and its bias where experts have one. */
static int read_one(struct linear *out, const struct stacks *s, size_t i, size_t rows, size_t columns, const char *name)
{
    size_t count = (size_t)s->m->routing.experts;
    if (s->turned ? family_stacked_turned(&out->weight, s->d, count, i, rows, columns, s->e, "%s.%s%s", s->stem, name, s->weight)
                  : family_stacked(&out->weight, s->d, count, i, rows, columns, s->e, "%s.%s%s", s->stem, name, s->weight))
        return -1;
    if (!s->m->layout->biased)
        return 0;
    if (family_matrix(&out->bias, s->d, count, rows, s->e, "%s.%s%s", s->stem, name, s->bias))
        return -1;
    out->bias = view_as_vector(view_rows(out->bias, i, 1));
    return 0;
}

static int read_down(struct expert *out, const struct stacks *s, size_t i, const char *name)
{
    if (read_one(&out->down, s, i, (size_t)s->d->hidden, (size_t)s->m->width, name))
        return -1;
    if (s->m->layout->biased)
        out->down_bias.weight = view_as_row(out->down.bias);
    return 0;
}

static int read_stacked(struct experts *x, const struct mixture *m, const struct decoder *d, const char *stem, int which,
                        struct error *e)
{
    const struct expert_layout *o = m->layout;
    const struct stacks s = {m, d, stem, "", "_bias", o->turned, e};
    size_t width = (size_t)m->width;
    for (int i = 0; i < x->routing.experts; i++) {
        struct expert *out = &x->expert[i];
        struct linear both = {0};
        if (read_one(&both, &s, (size_t)i, 2 * width, (size_t)d->hidden, o->gate_up[which]) ||
            read_down(out, &s, (size_t)i, o->stacked_down[which]))
            return -1;
        if (o->turned) {
            out->gate.weight = view_every_second(both.weight, 0), out->up.weight = view_every_second(both.weight, 1);
        } else {
            out->gate.weight = view_rows(both.weight, 0, width), out->up.weight = view_rows(both.weight, width, width);
        }
        if (o->biased)
            out->gate.bias = view_every_second(both.bias, 0), out->up.bias = view_every_second(both.bias, 1);
    }
    return 0;
}

/* Files of GGUF have one tensor each for the gates, the ups and the downs of all experts of a layer (io/gguf/names.c). */
static const char gguf_gate[] = "mlp.experts.gate_exps", gguf_up[] = "mlp.experts.up_exps", gguf_down[] = "mlp.experts.down_exps";

static int read_gguf(struct experts *x, const struct mixture *m, const struct decoder *d, const char *stem, struct error *e)
{
    const struct stacks s = {m, d, stem, ".weight", ".bias", 0, e};
    size_t hidden = (size_t)d->hidden, width = (size_t)m->width;
    for (int i = 0; i < x->routing.experts; i++) {
        struct expert *out = &x->expert[i];
        if (read_one(&out->gate, &s, (size_t)i, width, hidden, gguf_gate) ||
            read_one(&out->up, &s, (size_t)i, width, hidden, gguf_up) || read_down(out, &s, (size_t)i, gguf_down))
            return -1;
    }
    return 0;
}

static int read_shared(struct block *b, const struct mixture *m, const struct decoder *d, const char *stem, struct error *e)
{
    const char *name = m->layout->shared;
    size_t hidden = (size_t)d->hidden, width = (size_t)m->shared_width;
    if (!name)
        return 0;
    if (family_linear(&b->gate, d, width, hidden, 0, e, "%s.%s.gate_proj", stem, name) ||
        family_linear(&b->up, d, width, hidden, 0, e, "%s.%s.up_proj", stem, name) ||
        family_linear(&b->down, d, hidden, width, 0, e, "%s.%s.down_proj", stem, name))
        return -1;
    return m->layout->shared_width ? family_linear(&b->experts.shared_gate, d, 1, hidden, 0, e, "%s.%s_gate", stem, name) : 0;
}

int mixture_read(struct block *b, const struct mixture *m, const struct decoder *d, const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    struct experts *x = &b->experts;
    size_t count = (size_t)m->routing.experts;
    const char *router = o->other_router && !family_has(d, "%s.%s.weight", stem, o->router) ? o->other_router : o->router;
    x->routing = m->routing, x->width = m->width;
    x->expert = calloc(count, sizeof *x->expert);
    if (!x->expert)
        return fail_memory(e, (double)count * sizeof *x->expert, "experts");
    if (family_linear(&x->router, d, count, (size_t)d->hidden, o->biased, e, "%s.%s", stem, router) ||
        (o->by_groups && family_vector(&x->correction, d, count, e, "%s.%s.e_score_correction_bias", stem, router)) ||
        read_shared(b, m, d, stem, e))
        return -1;
    if (family_has(d, "%s.%s.weight", stem, gguf_gate))
        return read_gguf(x, m, d, stem, e);
    for (int which = 0; which < 2; which++)
        if (o->gate_up[which] && family_has(d, "%s.%s", stem, o->gate_up[which]))
            return read_stacked(x, m, d, stem, which, e);
    return o->parent ? read_apart(x, m, d, stem, e) : read_stacked(x, m, d, stem, 0, e);
}
