/* What is read, and what is not and why: for people. */
#include "model/catalogue.h"

#include "model/layout.h"

#include <stdio.h>
#include <string.h>

#define STATES "its layers keep a state (state-space models)"
#define LINEAR "some of its layers are linear attention"
#define RECURRENT "its layers are recurrent"
#define LATENT "its keys and values are made of a compressed row (latent attention)"
#define UNSTATED "its code is no part of transformers, and nothing else states its layout"

static const struct refusal refusals[] = {
    {"apertus", "its activation, xielu, has parameters of its own"},
    {"axk1", LATENT},
    {"baichuan", UNSTATED},
    {"bamba", STATES},
    {"bitnet", "its linear layers round their weights to three values as they run"},
    {"chatglm", UNSTATED},
    {"dbrx", "its published configuration has the base of its positions where the code of transformers does not look for it"},
    {"deepseek_v2", LATENT},
    {"deepseek_v3", LATENT},
    {"deepseek_v32", LATENT},
    {"diffllama", "its attention is the difference of two softmaxes"},
    {"doge", "its attention masks keys by their values"},
    {"exaone", UNSTATED},
    {"falcon_h1", STATES},
    {"falcon_mamba", STATES},
    {"gemma3n", "its layers predict and correct several residual streams"},
    {"gemma3n_text", "its layers predict and correct several residual streams"},
    {"glm4_moe_lite", LATENT},
    {"glm_moe_dsa", LATENT},
    {"granitemoehybrid", STATES},
    {"internlm2", UNSTATED},
    {"jamba", STATES},
    {"kimi_linear", LINEAR},
    {"lfm2", "some of its layers are convolutions"},
    {"longcat_flash", LATENT},
    {"mamba", STATES},
    {"mamba2", STATES},
    {"minicpm3", LATENT},
    {"minimax", LINEAR},
    {"nemotron_h", STATES},
    {"olmo_hybrid", LINEAR},
    {"phimoe", "each of its two experts has a softmax of its own, over the logits that are near the largest"},
    {"qwen", UNSTATED},
    {"qwen3_5", LINEAR},
    {"qwen3_5_moe", LINEAR},
    {"qwen3_5_moe_text", LINEAR},
    {"qwen3_5_text", LINEAR},
    {"qwen3_next", LINEAR},
    {"recurrent_gemma", RECURRENT},
    {"rwkv", RECURRENT},
    {"xlstm", RECURRENT},
    {"youtu", LATENT},
    {"zamba", STATES},
    {"zamba2", STATES},
    {NULL, NULL},
};

const struct refusal *refusal_at(int i)
{
    return refusals[i].type ? &refusals[i] : NULL;
}

const char *refusal_of(const char *type)
{
    for (int i = 0; refusals[i].type; i++)
        if (strcmp(refusals[i].type, type) == 0)
            return refusals[i].why;
    return NULL;
}

/* Adds a text, ", " between two. */
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
                                         [TURNED_WINDOWS_OR_ALL] = "in layers with a window, or all",
                                         [TURNED_BY_KIND] = "by kind of layer"};
    if (o->rope.theta || o->rotary_dim)
        add(out, size, "rotary");
    if (o->rotary_dim || (o->rope.theta && o->rope.pairing == PAIRING_INTERLEAVED))
        add(out, size, "interleaved");
    if (o->rotary_dim || (o->rope.theta && !o->rope.whole_heads))
        add(out, size, "part of a head");
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
        {names->attention_post_norm && !names->attention_norm, "norms behind the branches"},
        {(o->head_norms.key || o->head_norms.absent) && o->head_norms_of != HEADS_WHOLE, "norms of heads"},
        {o->head_norms_of == HEADS_WHOLE, "norms of all heads"},
        {o->parallel.key || o->parallel.absent, "parallel branches"},
        {names->sinks != NULL, "sinks"},
        {names->fused != NULL, "fused q, k, v"},
        {!names->gate && !names->gate_up, "MLP without a gate"},
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
