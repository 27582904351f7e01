#include "io/torch/neox_merge.h"

#include "io/torch/ranks.h"

#include <string.h>

enum rule {
    JOIN_ROWS, /* column-parallel: rows side by side */
    JOIN_GATED, /* the same, in halves when the MLP is gated */
    JOIN_COLUMNS, /* row-parallel */
    JOIN_HEAD, /* rows or columns, as the settings say */
    ROW_BIAS, /* of a row-parallel product */
    AVERAGE, /* norms: copies that may have drifted apart */
    COPY /* the same everywhere */
};

/* How a tensor is distributed, by the end of its name (megatron/model/, mpu/layers.py). */
static const struct {
    const char *end;
    enum rule rule;
} rules[] = {
    {".word_embeddings.weight", JOIN_ROWS},
    {".position_embeddings.weight", COPY},
    {".position_embeddings.inv_freq", COPY},
    {".rotary_emb.inv_freq", COPY},
    {".alibi_embed.slopes", JOIN_ROWS},
    {".rpe.bias_p", JOIN_ROWS},
    {".rpe.bias_a", JOIN_ROWS},
    {".rpe.wei_p", JOIN_ROWS},
    {".rpe.wei_a", JOIN_ROWS},
    {".rpe.weight", JOIN_COLUMNS},
    {".query_key_value.weight", JOIN_ROWS},
    {".query_key_value.bias", JOIN_ROWS},
    {".attention.dense.weight", JOIN_COLUMNS},
    {".attention.dense.bias", ROW_BIAS},
    {".dense_h_to_4h.weight", JOIN_GATED},
    {".dense_h_to_4h.bias", JOIN_GATED},
    {".linear1.weight", JOIN_GATED},
    {".linear1.bias", JOIN_GATED},
    {".dense_4h_to_h.weight", JOIN_COLUMNS},
    {".dense_4h_to_h.bias", ROW_BIAS},
    {".linear2.weight", JOIN_COLUMNS},
    {".linear2.bias", ROW_BIAS},
    {".final_linear.weight", JOIN_HEAD},
    {"norm.weight", AVERAGE},
    {"norm.bias", AVERAGE},
    {"norm.scale", AVERAGE},
    {"norm.g", AVERAGE},
};

static int find_rule(enum rule *out, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t end = strlen(rules[i].end);
        if (length >= end && strcmp(name + length - end, rules[i].end) == 0) {
            *out = rules[i].rule;
            return 0;
        }
    }
    return -1;
}

static int merge_one(struct ranks *m, const void *of)
{
    const struct neox_settings *settings = of;
    const struct tensor *first = m->parts[0];
    enum rule rule;
    if (find_rule(&rule, first->name))
        return fail(m->e, "%s: how model-parallel ranks share tensor %s is not known",
                    m->file->path, first->name);
    if (settings->grouped && strstr(first->name, ".query_key_value."))
        return fail(m->e,
                    "%s: tensor %s: joining grouped keys and values over model-parallel ranks is "
                    "not supported",
                    m->file->path, first->name);
    switch (rule) {
    case JOIN_ROWS: return ranks_join(m, 0, 1);
    case JOIN_GATED: return ranks_join(m, 0, settings->gated ? 2 : 1);
    case JOIN_COLUMNS: return ranks_join(m, 1, 1);
    case JOIN_HEAD: return ranks_join(m, settings->head_by_columns ? 0 : 1, 1);
    case ROW_BIAS:
        if (settings->sums_row_biases)
            return ranks_combine(m, 1);
        break;
    case AVERAGE:
        if (!ranks_are_equal(m))
            return ranks_combine(m, (double)m->count);
        break;
    case COPY: break;
    }
    if (!ranks_are_equal(m))
        return fail(m->e, "%s: tensor %s differs between model-parallel ranks (expected copies)",
                    m->file->path, first->name);
    return ranks_take_first(m);
}

int neox_merge(struct tensors *out, const struct mapped *file, struct tensors *const *parts,
               size_t ranks, const struct neox_settings *settings, struct error *e)
{
    return ranks_merge(out, file, parts, ranks, merge_one, settings, e);
}
