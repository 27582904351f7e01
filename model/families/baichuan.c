/* Baichuan, whose configurations leave out choices that its code makes. */
#include "model/families/rows.h"

#include "model/family.h"

static const struct layout baichuan = {.norm = NORM_RMS,
                                       EPSILON("rms_norm_eps", 1e-6),
                                       .names = {LLAMA_FRAME, NORM_BEFORE_MLP,
                                                 .fused = "self_attn.W_pack", OUTPUT, GATED},
                                       ACTIVATION("hidden_act", "silu"),
                                       .rope = {ROTARY_WHOLE}};

/* A configuration's indirect answers to a question. */
struct hint {
    int given, answer;
    const char *text;
};

/* The answer of the hints that are present; -1 if there are none, or they contradict each other. */
static int follow(const struct hint **taken, const struct hint *hints, int count,
                  const char *question, struct decoder *d, struct error *e)
{
    *taken = NULL;
    for (int i = 0; i < count; i++) {
        if (hints[i].given && *taken && (*taken)->answer != hints[i].answer)
            return fail(e, "%s: %s, and %s, which do not go together in published models (%s)",
                        config_path(d->config), (*taken)->text, hints[i].text, question);
        *taken = hints[i].given && !*taken ? &hints[i] : *taken;
    }
    return *taken ? 0 : fail(e, "%s: nothing says %s", config_path(d->config), question);
}

/* A folder has the code of its model beside it, and config.json does not state that code's choices:
 * the smaller models rotate heads, and declare max_position_embeddings, the larger ones have ALiBi
 * and declare only model_max_length; those of the second generation make logits from the head's
 * rows normalised to length 1. */
int read_baichuan(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    struct layout layout = baichuan;
    const char *class = json_string_value(
        json_array_get(json_object_get(config_root(c), "architectures"), 0));
    long hidden = (long)json_integer_value(config_get(c, "hidden_size")),
         vocabulary = (long)json_integer_value(config_get(c, "vocab_size"));
    int declared = config_has(c, "max_position_embeddings"),
        alone = config_has(c, "model_max_length") && !declared,
        first = class && strcmp(class, "BaiChuanForCausalLM") == 0;
    const struct hint positions[] = {{hidden == 4096, 0, "hidden_size is 4096"},
                                     {hidden == 5120, 1, "hidden_size is 5120"},
                                     {declared, 0, "max_position_embeddings is given"},
                                     {alone, 1,
                                      "model_max_length is given without max_position_embeddings"},
                                     {first, 0, "the class is BaiChuanForCausalLM"}};
    const struct hint generation[] = {{vocabulary == 64000, 0, "vocab_size is 64000"},
                                      {vocabulary == 125696, 1, "vocab_size is 125696"},
                                      {config_has(c, "z_loss_weight"), 1, "z_loss_weight is given"},
                                      {first, 0, "the class is BaiChuanForCausalLM"}};
    const struct hint *why[2];
    if (follow(&why[0], positions, sizeof positions / sizeof *positions,
               "whether it has rotary positions, as models of hidden_size 4096 or with "
               "max_position_embeddings, or ALiBi, as those "
               "of 5120 or with model_max_length alone",
               d, e) ||
        follow(&why[1], generation, sizeof generation / sizeof *generation,
               "whether the rows of its head are normalised, as with vocab_size 125696 or "
               "z_loss_weight, or not, as with 64000 or "
               "the class BaiChuanForCausalLM",
               d, e))
        return -1;
    static const char *const rotary[] = {"rope_theta", "rope_scaling", "rope_parameters"};
    layout.alibi = why[0]->answer, layout.head_normalised = why[1]->answer;
    for (size_t i = 0; layout.alibi && i < sizeof rotary / sizeof *rotary; i++)
        if (config_get(c, rotary[i]))
            return fail(e, "%s: %s is not supported in a baichuan model with ALiBi (expected null)",
                        config_path(c), rotary[i]);
    if (layout.alibi)
        layout.rope = (struct rope_keys){0};
    if (layout.head_normalised && family_only(d, "tie_word_embeddings", 0, 0, e))
        return -1;
    family_note(d, "read with %s, since %s, and with the head's rows %s, since %s",
                layout.alibi ? "ALiBi" : "rotary positions", why[0]->text,
                layout.head_normalised ? "normalised" : "as they are stored", why[1]->text);
    return layout_read(d, &layout, e);
}
