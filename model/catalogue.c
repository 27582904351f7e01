/* What reach reads, and what it does not and why: for people. */
#include "model/catalogue.h"

#include "model/layout.h"
#include "model/outer.h"

#include <stdio.h>
#include <string.h>

#define LINEAR "some of its layers are linear attention"
#define RECURRENT "its layers are recurrent"
#define CONVOLUTIONS "some of its layers are convolutions"
#define SHORT "its blocks have short convolutions"
#define ATTENTION_GATED "a gate multiplies the output of its attention"
#define ENCODER "an encoder, which sees both sides of a token"
#define BESIDE "a decoder that attends to the output of an encoder"
#define OTHER_INPUTS "it has parts for images or sound besides the language model"
#define THREE "its rotary positions have three coordinates, for images"
#define HEAD_SIZES "its layers with a window have heads of a different size from those without"
#define DRAFTS "it drafts tokens from another model's keys and values"
#define UNSTATED "its code is not part of transformers, and no other source states its layout"

static const struct refusal refusals[] = {
    {"afmoe", ATTENTION_GATED},
    {"albert", ENCODER},
    {"axk2", ATTENTION_GATED},
    {"bart", BESIDE},
    {"beam", ATTENTION_GATED},
    {"bert", ENCODER},
    {"bert-generation", ENCODER},
    {"big_bird", ENCODER},
    {"bigbird_pegasus", BESIDE},
    {"bitnet", "its linear layers round their weights to three values as they run"},
    {"blenderbot", BESIDE},
    {"blenderbot-small", BESIDE},
    {"blt", "it reads bytes in patches of varying length"},
    {"camembert", ENCODER},
    {"chatglm", UNSTATED},
    {"cohere2_moe", "it averages the outputs of its experts and of the shared experts"},
    {"cohere_compass_text", THREE},
    {"cpmant", "its positions are biases of segments, and its prompts see both sides"},
    {"data2vec-text", ENCODER},
    {"deberta", ENCODER},
    {"deberta-v2", ENCODER},
    {"deepseek_v4", "its attention reads keys that are compressed over runs of tokens"},
    {"diffllama", "its attention is the difference of two softmaxes"},
    {"distilbert", ENCODER},
    {"doge", "its attention masks keys by their values"},
    {"dory", "its layers are run several times over, and its states are rows of length 1"},
    {"dots3_note", OTHER_INPUTS},
    {"dots3_note_text", HEAD_SIZES},
    {"electra", ENCODER},
    {"emu3", OTHER_INPUTS},
    {"ernie", ENCODER},
    {"ernie4_5_vl_moe", OTHER_INPUTS},
    {"ernie4_5_vl_moe_text", THREE},
    {"gemma4_assistant", DRAFTS},
    {"gemma4_unified_assistant", DRAFTS},
    {"git", OTHER_INPUTS},
    {"hrm_text", "its layers are run several times over, in cycles"},
    {"hy_v4", "its layers mix several residual streams"},
    {"inkling2_loop_text", SHORT},
    {"inkling2_text", SHORT},
    {"inkling_text", SHORT},
    {"internlm", UNSTATED},
    {"jetmoe", "experts compute its queries"},
    {"kolibri1",
     "its experts are chosen by corrected logits and weighted by the sigmoid of uncorrected ones"},
    {"laguna", ATTENTION_GATED},
    {"lfm3", CONVOLUTIONS},
    {"longcat_flash",
     "the output of a layer's experts is added after its second attention and MLP"},
    {"marian", BESIDE},
    {"mbart", BESIDE},
    {"megatron-bert", ENCODER},
    {"mimo_v2_flash", "its layers with a window have a different number of heads from those "
                      "without, and its values a different "
                      "size from its keys"},
    {"minimax_m3_vl_text", "its queries attend to the keys that an indexer chooses"},
    {"mllama", OTHER_INPUTS},
    {"modernbert", ENCODER},
    {"modernbert-decoder", "its head has an activated layer before it"},
    {"molmo2", OTHER_INPUTS},
    {"moshi", OTHER_INPUTS},
    {"mpnet", ENCODER},
    {"mt5", BESIDE},
    {"musicgen", BESIDE},
    {"musicgen_melody", BESIDE},
    {"mvp", BESIDE},
    {"nemotron-nas", "its layers differ: some have no attention, or one matrix instead of it"},
    {"pegasus", BESIDE},
    {"phi4_multimodal", OTHER_INPUTS},
    {"plbart", BESIDE},
    {"prophetnet", BESIDE},
    {"qwen", UNSTATED},
    {"qwen4_exp_text", LINEAR},
    {"reformer", "its attention is by hashes and chunks, in reversible layers"},
    {"rembert", ENCODER},
    {"roberta", ENCODER},
    {"roberta-prelayernorm", ENCODER},
    {"roc_bert", ENCODER},
    {"roformer", ENCODER},
    {"step3p5", ATTENTION_GATED},
    {"t5", BESIDE},
    {"trocr", BESIDE},
    {"umt5", BESIDE},
    {"whisper", BESIDE},
    {"xlm", ENCODER},
    {"xlm-roberta", ENCODER},
    {"xlm-roberta-xl", ENCODER},
    {"xlnet", "it predicts tokens in permuted orders, by two streams"},
    {"xlstm", RECURRENT},
    {"xmod", ENCODER},
    {"zaya", "its queries and keys pass through convolutions"},
    {NULL, NULL},
};

const char *refusal_of(const char *type)
{
    for (int i = 0; refusals[i].type; i++)
        if (strcmp(refusals[i].type, type) == 0)
            return refusals[i].why;
    return NULL;
}

/* In the order of names: those of the table, and those whose language model is refused. */
int refusal_at(struct refusal *out, int i)
{
    for (int r = 0, o = 0;;) {
        const struct outer *outer;
        while ((outer = outer_at(o)) && family_of_type(outer->inner))
            o++;
        if (!outer && !refusals[r].type)
            return 0;
        int both = outer && refusals[r].type,
            of_table = both ? strcmp(refusals[r].type, outer->type) < 0 : !outer;
        if (i-- == 0) {
            *out = of_table ? refusals[r] : (struct refusal){outer->type, refusal_of(outer->inner)};
            return 1;
        }
        of_table ? r++ : o++;
    }
}

/* Adds a text, separated by ", ". */
static void add(char *out, size_t size, const char *text)
{
    size_t at = strlen(out);
    snprintf(out + at, size - at, "%s%s", at ? ", " : "", text);
}

static void tell_positions(char *out, size_t size, const struct layout *o)
{
    static const char *const turned[] = {[TURNED_ALL] = NULL,
                                         [TURNED_LISTED] = "in listed layers",
                                         [TURNED_WINDOWS] = "in layers with a window",
                                         [TURNED_WINDOWS_OR_ALL] =
                                             "in layers with a window, or all",
                                         [TURNED_BY_KIND] = "by kind of layer"};
    if (o->rope.theta || o->rotary_dim)
        add(out, size, "rotary");
    if (o->rotary_dim || (o->rope.theta && o->rope.pairing == PAIRING_INTERLEAVED) ||
        (o->latent && o->rope.theta && o->latent->pairs != PAIRS_HALVES))
        add(out, size, "interleaved");
    if (o->rotary_dim || (o->rope.theta && (o->latent || !o->rope.whole_heads)))
        add(out, size, "part of a head");
    if (o->rope.backwards)
        add(out, size, "backwards");
    if (turned[o->turned])
        add(out, size, turned[o->turned]);
    if (o->rope.bases)
        add(out, size, "bases by layer");
    if (o->learned)
        add(out, size, "learned");
    if (o->sinusoidal)
        add(out, size, "sinusoidal");
}

static void tell_notes(char *out, size_t size, const struct layout *o)
{
    const struct names *names = &o->names;
    const struct {
        int there;
        const char *text;
    } facts[] = {
        {o->windows != WINDOWS_NONE && o->windows != WINDOWS_FULL, "windows"},
        {o->norm == NORM_LAYER, "layer norms"},
        {o->norm_bare, "norms without parameters"},
        {o->norm_offset, "norms with 1 + w"},
        {names->attention_post_norm && names->attention_norm, "four norms"},
        {names->attention_post_norm && !names->attention_norm && !o->norms_after,
         "norms after the branches"},
        {o->norms_after, "norms of the sums"},
        {o->attending != NULL, "norms by kind of layer"},
        {(o->head_norms.key || o->head_norms.absent) && o->head_norms_of != HEADS_WHOLE,
         "norms of heads"},
        {o->head_norms_of == HEADS_WHOLE, "norms of all heads"},
        {o->parallel.key || o->parallel.absent, "parallel branches"},
        {o->latent != NULL, "latent attention"},
        {o->convolution != NULL, "short convolutions"},
        {names->sinks != NULL, "sinks"},
        {names->fused != NULL, "fused q, k, v"},
        {o->recurrence != NULL, "recurrences"},
        {o->recurrence && o->recurrence->decay, "fixed decays"},
        {!names->down && !o->experts, "no MLP"},
        {names->down && !names->gate && !names->gate_up && !o->experts, "MLP without a gate"},
        {o->scale_embedding.key || o->scale_embedding.absent, "scaled embeddings"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].there)
            add(out, size, facts[i].text);
}

void family_facts(struct family_facts *out, const struct family *f)
{
    *out = (struct family_facts){.positions = ""};
    if (f->layout) {
        tell_positions(out->positions, sizeof out->positions, f->layout);
        tell_notes(out->notes, sizeof out->notes, f->layout);
    } else {
        add(out->positions, sizeof out->positions, f->positions);
        add(out->notes, sizeof out->notes, f->about);
    }
}
