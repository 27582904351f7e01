#include "model/expert_layout.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS_MOST = EXPERTS_MOST / 2 };

static int read_groups(struct mixture *m, struct decoder *d, struct error *e)
{
    struct routing *r = &m->routing;
    struct config *c = d->config;
    long groups, chosen, absent = m->layout->groups_absent,
                         chosen_absent = m->layout->chosen_groups_absent;
    if (config_int_or(c, "n_group", 1, GROUPS_MOST, absent ? absent : 1, &groups, e) ||
        config_int_or(c, "topk_group", 1, groups, chosen_absent ? chosen_absent : 1, &chosen, e))
        return -1;
    r->groups = (int)groups, r->chosen_groups = (int)chosen;
    if (r->experts % groups || (r->experts / groups < 2 && !r->group_largest))
        return fail(e,
                    "%s: n_group %ld is not supported with %d experts (expected groups of two or "
                    "more, all of one size)",
                    config_path(c), groups, r->experts);
    if (r->chosen > r->experts / groups * chosen)
        return fail(e,
                    "%s: num_experts_per_tok is %d (expected at most %ld: topk_group %ld of %d "
                    "experts each)",
                    config_path(c), r->chosen, r->experts / groups * chosen, chosen,
                    r->experts / (int)groups);
    return 0;
}

/* topk_method: greedy, all experts alike, or group_limited_greedy. */
static int read_group_method(struct mixture *m, struct decoder *d, struct error *e)
{
    const char *method;
    if (config_string_or(d->config, "topk_method", "greedy", &method, e))
        return -1;
    if (strcmp(method, "greedy") == 0) {
        (void)config_get(d->config, "n_group"), (void)config_get(d->config, "topk_group");
        return 0;
    }
    if (strcmp(method, "group_limited_greedy") != 0)
        return fail(e,
                    "%s: topk_method '%s' is not supported (supported: greedy, "
                    "group_limited_greedy)",
                    config_path(d->config), method);
    m->routing.group_largest = 1;
    return read_groups(m, d, e);
}

/* norm_topk_prob, which the library ignores in some families. */
static int read_normalised(struct mixture *m, struct decoder *d, struct error *e)
{
    int absent = m->layout->normalised, normalised;
    if (m->layout->scales_input)
        m->routing.normalised = 0;
    if (absent == -1 || m->layout->scales_input)
        return 0;
    if (config_bool_or(d->config, "norm_topk_prob", absent > 0, &normalised, e))
        return -1;
    m->routing.normalised = absent == -2 ? 0 : normalised;
    if (absent == -2 && normalised)
        family_note(d,
                    "norm_topk_prob true has no effect in a %s model, as in transformers (older "
                    "code of such models divides the weights of the chosen experts by their sum)",
                    d->family);
    return 0;
}

/* mlp_layer_types: dense or sparse, for each layer. */
static int read_kinds(struct mixture *m, const struct decoder *d, struct error *e)
{
    m->kinds = config_get(d->config, "mlp_layer_types");
    if (m->kinds && json_array_size(m->kinds) != (size_t)d->layers)
        return fail(e, "%s: mlp_layer_types is not a list of dense or sparse for each of %d layers",
                    config_path(d->config), d->layers);
    for (size_t l = 0; m->kinds && l < json_array_size(m->kinds); l++) {
        const char *kind = json_string_value(json_array_get(m->kinds, l));
        if (!kind || (strcmp(kind, "dense") != 0 && strcmp(kind, "sparse") != 0))
            return fail(e, "%s: mlp_layer_types, entry %zu is neither dense nor sparse",
                        config_path(d->config), l + 1);
    }
    return 0;
}

/* A list of layers, by their numbers from 0; NULL: the key is NULL or absent. */
static int read_list(json_t **list, const char *key, struct config *c, struct error *e)
{
    *list = key ? config_get(c, key) : NULL;
    if (*list && !json_is_array(*list))
        return fail(e, "%s: %s is not a list of layers", config_path(c), key);
    for (size_t i = 0; *list && i < json_array_size(*list); i++)
        if (!json_is_integer(json_array_get(*list, i)))
            return fail(e, "%s: %s, entry %zu is not a whole number", config_path(c), key, i + 1);
    return 0;
}

static int is_listed(const json_t *list, int l)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) == l)
            return 1;
    return 0;
}

/* The layers without experts. */
static int read_layers(struct mixture *m, struct decoder *d, struct error *e)
{
    const struct expert_layout *o = m->layout;
    struct config *c = d->config;
    long step = 1, first = o->dense_absent, last = -1;
    if ((o->first_dense &&
         config_int_or(c, o->first_dense, 0, 10000, o->dense_absent, &first, e)) ||
        (o->step && config_int_or(c, o->step, 1, 10000, 1, &step, e)) ||
        (o->last && config_int_or(c, o->last, -1, 10000, -1, &last, e)) ||
        (o->listed && read_kinds(m, d, e)))
        return -1;
    if (read_list(&m->dense, o->dense, c, e) || read_list(&m->with, o->with, c, e))
        return -1;
    m->first_dense = m->dense || m->kinds ? 0 : (int)first;
    m->step = (int)step, m->last = last < 0 ? d->layers - 1 : (int)last;
    return 0;
}

/* The number of experts; the key's two names may not disagree. */
static int read_count(long *count, const struct expert_layout *o, struct decoder *d,
                      struct error *e)
{
    long other;
    const char *key = o->older_count ? family_either(d, o->count, o->older_count) : o->count;
    if (config_int(d->config, key, 1, EXPERTS_MOST, count, e) ||
        (o->older_count &&
         config_int_or(d->config, o->older_count, 1, EXPERTS_MOST, *count, &other, e)))
        return -1;
    return o->older_count && other != *count
               ? fail(e, "%s: %s %ld and %s %ld differ", config_path(d->config), o->count, *count,
                      o->older_count, other)
               : 0;
}

/* A number, or a list of one number for every layer. */
static int read_alike(long *value, const char *key, long most, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const json_t *list = config_get(c, key);
    if (json_array_size(list) == 0)
        return config_int(c, key, 1, most, value, e);
    *value = (long)json_integer_value(json_array_get(list, 0));
    for (size_t l = 0; l < json_array_size(list); l++)
        if (json_integer_value(json_array_get(list, l)) != *value)
            return fail(e, "%s: %s says another number for layer %zu (expected the same in all)",
                        config_path(c), key, l + 1);
    return *value < 1 || *value > most
               ? fail(e, "%s: %s is %ld (expected 1 to %ld)", config_path(c), key, *value, most)
               : 0;
}

/* How many each token chooses; the key's two names may not disagree. */
static int read_chosen(long *chosen, const struct expert_layout *o, long count, struct decoder *d,
                       struct error *e)
{
    const char *key = o->chosen ? o->chosen : "num_experts_per_tok";
    long other;
    if (read_alike(chosen, o->older_chosen ? family_either(d, key, o->older_chosen) : key, count, d,
                   e))
        return -1;
    if (!o->older_chosen || !config_has(d->config, o->older_chosen))
        return 0;
    if (read_alike(&other, o->older_chosen, EXPERTS_MOST, d, e))
        return -1;
    return other != *chosen ? fail(e, "%s: %s %ld and %s %ld differ", config_path(d->config), key,
                                   *chosen, o->older_chosen, other)
                            : 0;
}

static int read_shared_size(struct mixture *m, struct decoder *d, struct error *e)
{
    const struct expert_layout *o = m->layout;
    long size = o->shared_absent, least = o->shared_gated ? 1 : 0;
    if (o->shared_width
            ? config_int_or(d->config, o->shared_width, least, 1 << 24, o->shared_absent, &size, e)
            : o->shared_count &&
                  config_int_or(d->config, o->shared_count, 0, 1024, o->shared_absent, &size, e))
        return -1;
    if (o->shared_gated && size == 0)
        return fail(e, "%s: %s is missing (expected a whole number)", config_path(d->config),
                    o->shared_width);
    m->shared_width = (int)(o->shared_width ? size : size * m->width);
    return 0;
}

/* The tolerance without noise is twice the noise of training. */
static int read_sparsemixer(struct mixture *m, struct decoder *d, struct error *e)
{
    double noise;
    if (config_real_or(d->config, "router_jitter_noise", 0, 1e6, 0.01, &noise, e))
        return -1;
    m->routing.tolerance = 2 * noise;
    return m->routing.chosen == 2
               ? 0
               : fail(e,
                      "%s: num_experts_per_tok is %d (expected 2, as many as a %s model chooses)",
                      config_path(d->config), m->routing.chosen, d->family);
}

int mixture_settings(struct mixture *m, const struct expert_layout *o, struct decoder *d,
                     struct error *e)
{
    struct config *c = d->config;
    long count, chosen, width, latent = 0;
    *m = (struct mixture){.layout = o};
    if (read_count(&count, o, d, e) || read_chosen(&chosen, o, count, d, e) ||
        config_int(c, o->width ? o->width : "intermediate_size", 1, 1 << 24, &width, e) ||
        (o->latent && config_int_or(c, o->latent, 1, 1 << 20, 0, &latent, e)))
        return -1;
    m->width = (int)width;
    m->latent = latent > 0, m->reads = latent ? (int)latent : d->hidden;
    m->routing = (struct routing){.experts = (int)count,
                                  .chosen = (int)chosen,
                                  .scoring = o->scoring,
                                  .groups = 1,
                                  .chosen_groups = 1,
                                  .normalised = 1,
                                  .factor = 1,
                                  .floor = o->scoring != SCORING_SIGMOID ? 0
                                           : o->floor > 0                ? o->floor
                                                                         : 1e-20};
    int corrected = 1;
    if (read_normalised(m, d, e) ||
        (o->corrected && config_bool_or(c, o->corrected, 1, &corrected, e)) ||
        (o->factor &&
         config_real_or(c, o->factor, 1e-6, 1e6, o->factor_absent, &m->routing.factor, e)) ||
        (o->scoring == SCORING_SPARSEMIXER && read_sparsemixer(m, d, e)) ||
        read_shared_size(m, d, e) || (o->by_groups && read_groups(m, d, e)) ||
        (o->group_methods && read_group_method(m, d, e)) || read_layers(m, d, e))
        return -1;
    m->uncorrected = !corrected;
    family_note(d, "gradients go through the weights of the experts that each token chose; the "
                   "choice itself is held constant");
    return 0;
}

int mixture_in_layer(const struct mixture *m, int l)
{
    if (m->kinds)
        return strcmp(json_string_value(json_array_get(m->kinds, (size_t)l)), "sparse") == 0;
    if (m->with)
        return is_listed(m->with, l);
    if (m->dense && is_listed(m->dense, l))
        return 0;
    return l >= m->first_dense && l <= m->last && (l + 1) % m->step == 0;
}

static int read_apart(struct experts *x, const struct mixture *m, const struct decoder *d,
                      const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    size_t reads = (size_t)m->reads, width = (size_t)m->width;
    for (int i = 0; i < x->routing.experts; i++) {
        struct expert *out = &x->expert[i];
        if ((!o->ungated && family_linear(&out->gate, d, width, reads, 0, e, "%s.%s.%d.%s", stem,
                                          o->parent, i, o->gate)) ||
            family_linear(&out->up, d, width, reads, 0, e, "%s.%s.%d.%s", stem, o->parent, i,
                          o->up) ||
            family_linear(&out->down, d, reads, width, 0, e, "%s.%s.%d.%s", stem, o->parent, i,
                          o->down))
            return -1;
    }
    return 0;
}

static int read_below(struct experts *x, const struct mixture *m, const struct decoder *d,
                      const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    size_t reads = (size_t)m->reads, width = (size_t)m->width,
           all = (size_t)x->routing.experts * width;
    view gate, up, down;
    if (family_matrix(&gate, d, all, reads, e, "%s.%s.%s", stem, o->parent, o->gate) ||
        family_matrix(&up, d, all, reads, e, "%s.%s.%s", stem, o->parent, o->up) ||
        family_matrix(&down, d, all, reads, e, "%s.%s.%s", stem, o->parent, o->down))
        return -1;
    for (size_t i = 0; i < (size_t)x->routing.experts; i++) {
        x->expert[i].gate.weight = view_rows(gate, i * width, width);
        x->expert[i].up.weight = view_rows(up, i * width, width);
        x->expert[i].down.weight = view_turned(view_rows(down, i * width, width));
    }
    return 0;
}

/* Experts that are stacked in tensors. */
struct stacks {
    const struct mixture *m;
    const struct decoder *d;
    const char *stem;
    const char *weight, *bias; /* endings of names */
    int turned;
    struct error *e;
};

/* 1 if the stacked matrices are not [rows, columns], so [columns, rows]. */
static int are_turned(const struct stacks *s, size_t rows, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s.%s%s", s->stem, name, s->weight);
    const struct tensor *t = tensors_find(s->d->tensors, full);
    return t && t->rank == 3 && t->shape[1] != rows;
}

/* Expert i of those stacked in NAME, and its bias if experts have one. */
static int read_one(struct linear *out, const struct stacks *s, size_t i, size_t rows,
                    size_t columns, const char *name)
{
    size_t count = (size_t)s->m->routing.experts;
    int turned = s->turned < 0 ? are_turned(s, rows, name) : s->turned;
    if (family_stacked(&out->weight, s->d, (struct stack){count, rows, columns, turned}, i, s->e,
                       "%s.%s%s", s->stem, name, s->weight))
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
    if (read_one(&out->down, s, i, (size_t)s->m->reads, (size_t)s->m->width, name))
        return -1;
    if (s->m->layout->biased)
        out->down_bias.weight = view_as_row(out->down.bias);
    return 0;
}

static int read_stacked(struct experts *x, const struct mixture *m, const struct decoder *d,
                        const char *stem, int which, struct error *e)
{
    const struct expert_layout *o = m->layout;
    const struct stacks s = {m, d, stem, "", "_bias", o->turned, e};
    size_t width = (size_t)m->width;
    for (int i = 0; i < x->routing.experts; i++) {
        struct expert *out = &x->expert[i];
        struct linear both = {0};
        if (read_one(&both, &s, (size_t)i, o->ungated ? width : 2 * width, (size_t)m->reads,
                     o->gate_up[which]) ||
            read_down(out, &s, (size_t)i, o->stacked_down[which]))
            return -1;
        if (o->ungated) {
            out->up = both;
        } else if (o->alternating) {
            out->gate.weight = view_every_second(both.weight, 0),
            out->up.weight = view_every_second(both.weight, 1);
        } else {
            out->gate.weight = view_rows(both.weight, 0, width),
            out->up.weight = view_rows(both.weight, width, width);
        }
        if (o->biased)
            out->gate.bias = view_every_second(both.bias, 0),
            out->up.bias = view_every_second(both.bias, 1);
    }
    return 0;
}

/* GGUF files have one tensor each for the gates, the ups and the downs of all experts of a layer
 * (io/gguf/names.c). */
static const char gguf_gate[] = "mlp.experts.gate_exps", gguf_up[] = "mlp.experts.up_exps",
                  gguf_down[] = "mlp.experts.down_exps";

static int read_gguf(struct experts *x, const struct mixture *m, const struct decoder *d,
                     const char *stem, struct error *e)
{
    const struct stacks s = {m, d, stem, ".weight", ".bias", 0, e};
    size_t reads = (size_t)m->reads, width = (size_t)m->width;
    for (int i = 0; i < x->routing.experts; i++) {
        struct expert *out = &x->expert[i];
        if ((!m->layout->ungated && read_one(&out->gate, &s, (size_t)i, width, reads, gguf_gate)) ||
            read_one(&out->up, &s, (size_t)i, width, reads, gguf_up) ||
            read_down(out, &s, (size_t)i, gguf_down))
            return -1;
    }
    return 0;
}

static int read_shared(struct block *b, const struct mixture *m, const struct decoder *d,
                       const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    size_t hidden = (size_t)d->hidden, width = (size_t)m->shared_width;
    int biased = m->shared_biased;
    if (width == 0)
        return 0;
    if (o->shared_gate_up) {
        struct linear both;
        if (family_linear(&both, d, 2 * width, hidden, 0, e, "%s.%s", stem, o->shared_gate_up) ||
            family_linear(&b->down, d, hidden, width, 0, e, "%s.%s", stem, o->shared_down))
            return -1;
        b->gate.weight = view_rows(both.weight, 0, width),
        b->up.weight = view_rows(both.weight, width, width);
        return 0;
    }
    const char *shared = o->other_shared &&
                                 family_has(d, "%s.%s.down_proj.weight", stem, o->other_shared)
                             ? o->other_shared
                             : o->shared;
    if ((!o->ungated &&
         family_linear(&b->gate, d, width, hidden, biased, e, "%s.%s.gate_proj", stem, shared)) ||
        family_linear(&b->up, d, width, hidden, biased, e, "%s.%s.up_proj", stem, shared) ||
        family_linear(&b->down, d, hidden, width, biased, e, "%s.%s.down_proj", stem, shared))
        return -1;
    return o->shared_gated ? family_linear(&b->experts.shared_gate, d, 1, hidden, 0, e,
                                           "%s.%s_gate", stem, shared)
                           : 0;
}

static int read_latent(struct experts *x, const struct mixture *m, const struct decoder *d,
                       const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    size_t hidden = (size_t)d->hidden, reads = (size_t)m->reads;
    if (!m->latent)
        return 0;
    return family_linear(&x->in, d, reads, hidden, m->shared_biased, e, "%s.%s", stem, o->in) ||
                   family_linear(&x->out, d, hidden, reads, m->shared_biased, e, "%s.%s", stem,
                                 o->out)
               ? -1
               : 0;
}

/* A vector, or a matrix of one row. */
static int read_correction(view *out, size_t count, const struct decoder *d, const char *stem,
                           const char *name, struct error *e)
{
    if (family_columns(d, "%s.%s", stem, name) != count) /* 0 for a vector */
        return family_vector(out, d, count, e, "%s.%s", stem, name);
    if (family_matrix(out, d, 1, count, e, "%s.%s", stem, name))
        return -1;
    *out = view_as_vector(*out);
    return 0;
}

int mixture_read(struct block *b, const struct mixture *m, const struct decoder *d,
                 const char *stem, struct error *e)
{
    const struct expert_layout *o = m->layout;
    struct experts *x = &b->experts;
    size_t count = (size_t)m->routing.experts;
    const char *router = o->other_router && !family_has(d, "%s.%s.weight", stem, o->router)
                             ? o->other_router
                             : o->router;
    x->routing = m->routing, x->width = m->width, x->scales_input = o->scales_input;
    x->expert = calloc(count, sizeof *x->expert);
    if (!x->expert)
        return fail_memory(e, (double)count * sizeof *x->expert, "experts");
    if (m->uncorrected)
        family_ignore(d, "%s.%s", stem, o->correction);
    const char *correction = o->other_correction &&
                                     family_has(d, "%s.%s", stem, o->other_correction)
                                 ? o->other_correction
                                 : o->correction;
    if (family_linear(&x->router, d, count, (size_t)d->hidden, o->biased, e, "%s.%s", stem,
                      router) ||
        (correction && !m->uncorrected &&
         !(o->correction_optional && !family_has(d, "%s.%s", stem, correction)) &&
         read_correction(&x->correction, count, d, stem, correction, e)) ||
        read_latent(x, m, d, stem, e) || read_shared(b, m, d, stem, e))
        return -1;
    if (family_has(d, "%s.%s.weight", stem, gguf_up))
        return read_gguf(x, m, d, stem, e);
    for (int which = 0; which < 2; which++)
        if (o->gate_up[which] && family_has(d, "%s.%s", stem, o->gate_up[which]))
            return read_stacked(x, m, d, stem, which, e);
    if (o->below)
        return read_below(x, m, d, stem, e);
    return o->parent ? read_apart(x, m, d, stem, e) : read_stacked(x, m, d, stem, 0, e);
}
