/* Rotary positions of GGUF models, and their scalings. */
#include "io/gguf/finish.h"

#include <math.h>

/* Factors on cosine and sine, which other programs multiply with that of yarn. Files hold the
 * model's own attention_factor in yarn_attn_factor; 1 there is what writers put by default. */
static int take_attention_factor(const struct gguf_model *m, json_t *scaling, double factor,
                                 struct error *e)
{
    static const double by_default = 1;
    double times, whole, all, turn = factor > 1 ? 0.1 * log(factor) : 0;
    if (model_number(m, "rope.scaling.attn_factor", by_default, &times, e) ||
        model_number(m, "rope.scaling.yarn_attn_factor", by_default, &whole, e) ||
        model_number(m, "rope.scaling.yarn_log_multiplier", 0, &all, e))
        return -1;
    if (!scaling)
        return times == 1 && whole == 1 && all == 0
                   ? 0
                   : fail(e,
                          "%s: %s.rope.scaling has a factor on attention, which is supported only "
                          "with the type yarn",
                          model_path(m), m->architecture->name);
    if (all != 0 && (model_set(m, scaling, "mscale", json_real(1), e) ||
                     model_set(m, scaling, "mscale_all_dim", json_real(all), e)))
        return -1;
    if (times == 1 && whole == 1)
        return 0;
    if (whole == 1)
        whole = (turn + 1) / (all * turn + 1);
    return model_set(m, scaling, "attention_factor", json_real(times * whole), e);
}

int model_take_scaling(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char *const settings[][2] = {{"rope.scaling.original_context_length",
                                               "original_max_position_embeddings"},
                                              {"rope.scaling.yarn_beta_fast", "beta_fast"},
                                              {"rope.scaling.yarn_beta_slow", "beta_slow"}};
    const struct gguf_pair *p = model_pair(m, "rope.scaling.type");
    struct gguf_text type = {"linear", 6};
    double factor;
    if (model_number(m, "rope.scale_linear", 0, &factor, e) ||
        model_number(m, "rope.scaling.factor", factor, &factor, e))
        return -1;
    int freqs = model_tensor(m, "rope_freqs.weight") != NULL, yarn;
    if (p && gguf_string(p, &type))
        return fail(e, "%s: %s.rope.scaling.type is not a text", model_path(m),
                    m->architecture->name);
    yarn = gguf_is(type, "yarn");
    if (!yarn && !gguf_is(type, "linear") && !gguf_is(type, "none"))
        return fail(
            e, "%s: %s.rope.scaling.type '%.*s' is not supported (supported: none, linear, yarn)",
            model_path(m), m->architecture->name, type.size < 60 ? (int)type.size : 60, type.text);
    if (!yarn && take_attention_factor(m, NULL, factor, e))
        return -1;
    if (gguf_is(type, "none") || (!yarn && (factor == 0 || factor == 1)))
        return freqs ? model_set(m, config, "rope_scaling",
                                 json_pack("{s:s}", "rope_type", "rope_freqs"), e)
                     : 0;
    if (freqs)
        return fail(
            e, "%s: has rope_freqs.weight and %s.rope.scaling.factor %g (expected one of them)",
            model_path(m), m->architecture->name, factor);
    json_t *scaling = json_pack("{s:s, s:f}", "rope_type", yarn ? "yarn" : "linear", "factor",
                                factor);
    if (model_set(m, config, "rope_scaling", scaling, e))
        return -1;
    for (size_t i = 0; yarn && i < sizeof settings / sizeof *settings; i++) {
        double value;
        if (model_number(m, settings[i][0], NAN, &value, e) ||
            (!isnan(value) && model_set(m, scaling, settings[i][1], json_real(value), e)))
            return -1;
    }
    return yarn ? take_attention_factor(m, scaling, factor, e) : 0;
}

int model_take_part(const struct gguf_model *m, json_t *config, const char *fraction,
                    struct error *e)
{
    int64_t turned;
    if (model_whole(m, "rope.dimension_count", m->head_size, &turned, e))
        return -1;
    double part = (double)turned / (double)m->head_size;
    if ((int64_t)((double)m->head_size * part) != turned) /* as multiplied by the family's reader */
        part = nextafter(part, 2);
    return turned > m->head_size ? model_expect(m, "rope.dimension_count", m->head_size, e)
                                 : model_set(m, config, fraction, json_real(part), e);
}

int model_take_rotation(const struct gguf_model *m, json_t *config, const char *fraction,
                        struct error *e)
{
    return (fraction ? model_take_part(m, config, fraction, e)
                     : model_expect(m, "rope.dimension_count", m->head_size, e)) ||
                   model_take_scaling(m, config, e)
               ? -1
               : 0;
}

int model_take_longrope(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char *const lists[][2] = {{"rope_factors_long.weight", "long_factor"},
                                           {"rope_factors_short.weight", "short_factor"}};
    static const char type_key[] = "rope.scaling.type",
                      original_key[] = "rope.scaling.original_context_length";
    const struct gguf_pair *p = model_pair(m, type_key);
    json_t *scaling = json_pack("{s:s}", "rope_type", "longrope"), *value;
    struct gguf_text type;
    int64_t original, length, turned;
    double times;
    if (model_set(m, config, "rope_scaling", scaling, e) ||
        model_whole(m, "rope.dimension_count", m->head_size, &turned, e) ||
        model_whole(m, original_key, 0, &original, e) ||
        model_whole(m, "context_length", 0, &length, e) ||
        model_number(m, "rope.scaling.attn_factor", 1, &times, e))
        return -1;
    if (p && (gguf_string(p, &type) || !(gguf_is(type, "longrope") || gguf_is(type, "none"))))
        return fail(e, "%s: %s.%s is not longrope, but there are factors of longrope",
                    model_path(m), m->architecture->name, type_key);
    for (int i = 0; i < 2; i++)
        if (!(value = model_list(m, lists[i][0], (size_t)turned / 2, e)) ||
            model_set(m, scaling, lists[i][1], value, e))
            return -1;
    double factor = (double)length / (double)original,
           usual = factor > 1 ? sqrt(1 + log(factor) / log((double)original)) : 1;
    if (fabs(times / usual - 1) > 1e-6 &&
        model_set(m, scaling, "attention_factor", json_real(times), e))
        return -1;
    return model_set(m, config, "original_max_position_embeddings", json_integer(original), e);
}
