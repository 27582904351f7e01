/* Opening a checkpoint: config.json names the family, and the family's reader fills the decoder. */
#include "model/decoder.h"

#include "io/adapters/adapter.h"
#include "io/checkpoint/checkpoint.h"
#include "io/tensors/quantised.h"
#include "io/tensors/store.h"
#include "model/catalogue.h"
#include "model/config_keys.h"
#include "model/layout.h"
#include "model/outer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Families with their own file; the others are rows of tables. */
static const struct family *const families[] = {&family_reach,   &family_bloom,  &family_mpt,
                                                &family_opt,     &family_falcon, &family_megatron,
                                                &family_fairseq, &family_litgpt, &family_zamba,
                                                &family_zamba2,  &family_rwkv};
static const struct family *const tables[] = {
    families_llama_like,  families_mixtures,      families_gemma4,  families_latents,
    families_gpt_like,    families_beside_images, families_llama4,  families_convolutions,
    families_recurrences, families_scans,         families_gemma3n, families_nemotron_h,
    families_lightning,   families_kimi_linear,   families_trained};

const struct family *family_at(int i)
{
    const int alone = sizeof families / sizeof families[0],
              table_count = sizeof tables / sizeof tables[0];
    if (i < alone)
        return families[i];
    i -= alone;
    for (int t = 0; t < table_count; t++)
        for (const struct family *f = tables[t]; f->name; f++)
            if (i-- == 0)
                return f;
    return NULL;
}

const struct family *family_of_type(const char *type)
{
    const struct family *f;
    for (int i = 0; (f = family_at(i)); i++)
        for (int j = 0; j < 4 && f->model_types[j]; j++)
            if (strcmp(f->model_types[j], type) == 0)
                return f;
    return NULL;
}

/* Why an unsupported type is not read, by its name or other settings; NULL: unknown. */
static const char *reason(const struct decoder *d, const char *type)
{
    static const struct {
        const char *key, *why;
    } beside[] = {{"vision_config", "it has parts for images or sound besides the language model"},
                  {"audio_config", "it has parts for images or sound besides the language model"},
                  {"text_config", "it has parts for images or sound besides the language model"},
                  {"auto_map", "its code is in the folder and is not part of transformers"}};
    const char *why = refusal_of(type);
    for (size_t i = 0; i < sizeof beside / sizeof *beside && !why; i++)
        why = json_is_object(json_object_get(config_root(d->config), beside[i].key)) ? beside[i].why
                                                                                     : NULL;
    return why;
}

static const struct family *family_of(struct decoder *d, struct error *e)
{
    const char *type;
    if (config_has(d->config, "format"))
        return &family_reach;
    if (config_string_or(d->config, "model_type", "", &type, e))
        return NULL;
    if (!*type && config_get(d->config, "ssm_cfg")) { /* files of that package have none */
        const char *layer = json_string_value(config_get(d->config, "ssm_cfg.layer"));
        type = layer && strcmp(layer, "Mamba2") == 0 ? "mamba_ssm" : "mamba_ssm1";
    }
    const struct family *f = family_of_type(type);
    if (f)
        return f;
    const char *why = reason(d, type);
    if (*type)
        fail(e,
             "%s: model_type '%s'%s%s%s is not supported%s%s (expected one that reach families "
             "lists, or our own layout)",
             config_path(d->config), type, d->outer ? ", of the language model in a '" : "",
             d->outer ? d->outer->type : "", d->outer ? "'," : "", why ? ": " : "", why ? why : "");
    else
        fail(e,
             "%s: neither format nor model_type says what the model is (expected a model_type that "
             "reach families lists, or our "
             "own layout)",
             config_path(d->config));
    return NULL;
}

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* An unused stored parameter would mean that we misread the model. */
static int refuse_unused(struct decoder *d, const struct family *family, struct error *e)
{
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        const struct tensor *t = tensors_at(d->tensors, i);
        int ignored = t->used || t->beside;
        for (int j = 0; j < 8 && family->ignored_suffixes[j]; j++)
            ignored |= ends_with(t->name, family->ignored_suffixes[j]);
        if (!ignored)
            return fail(e, "%s: tensor '%s' has no place in a %s model as %s describes it", d->path,
                        t->name, family->name, config_name(d->config));
    }
    return 0;
}

/* An adapter that has an effect. */
static int check_merged(const struct decoder *d, struct error *e)
{
    if (d->tied && family_refuse_tied(d, e))
        return -1;
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        const struct tensor *t = tensors_at(d->tensors, i);
        if (t->merged && !t->used && !t->beside)
            return fail(e, "%s: the adapter changes %s, which the model does not use",
                        config_path(d->adapter), t->name);
    }
    return 0;
}

/* Software that runs a quantised model may round more than its weights. */
static void note_quantised(struct decoder *d)
{
    const struct tensor *first = tensors_quantised(d->tensors);
    if (quantised_method(d->config) && first)
        family_note(d,
                    "weights stored as %s are widened to float32; activations are not quantised%s",
                    element_name(first->type),
                    first->type == ELEMENT_FP8 || first->type == ELEMENT_INT
                        ? ", nor are keys and values, whatever quantization_config says"
                    : first->type == ELEMENT_INT8 ? ", as LLM.int8() does with them"
                                                  : "");
}

/* The configuration's number of positions, whatever its encoding. Marks no key as read. */
static void find_declared(struct decoder *d)
{
    static const char *const keys[] = {
        "max_position_embeddings", "n_positions",   "max_seq_len", "seq_length",
        "model_max_length",        "context_length"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !d->declared_length; i++) {
        const json_t *value = json_object_get(config_root(d->config), keys[i]);
        if (json_is_number(value) && json_number_value(value) >= 1 &&
            json_number_value(value) <= 1e9) {
            d->declared_length = (int)json_number_value(value);
            d->declared_by = keys[i];
        }
    }
}

struct decoder *decoder_open(const char *path, struct error *e)
{
    return decoder_open_adapted(path, NULL, e);
}

static struct decoder *create(const char *path, struct error *e)
{
    struct decoder *d = calloc(1, sizeof *d);
    size_t length = strlen(path);

    if (!d) {
        fail_memory(e, sizeof *d, "decoder");
        return NULL;
    }
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof d->path) {
        fail(e, "%.60s...: path too long", path);
        free(d);
        return NULL;
    }
    memcpy(d->path, path, length);
    d->embedding_scale = 1;
    d->bos = d->padding = -1;
    return d;
}

/* Reads the decoder from its configuration and tensors. */
static int read_model(struct decoder *d, const struct adapter_list *adapters, struct error *e)
{
    const struct family *family = !d->outer && outer_enter(d, e) ? NULL : family_of(d, e);

    if (!family)
        return -1;
    snprintf(d->family, sizeof d->family, "%s", family->name);
    if (adapters && adapters->count &&
        !(d->adapter = adapters_merge(d->tensors, adapters, family->transposed, e)))
        return -1;
    if (outer_rename(d, family, e))
        return -1;
    find_declared(d);
    if (config_keys_refuse(d, family, e) ||
        (family->layout ? layout_read(d, family->layout, e) : family->read(d, e)) ||
        config_keys_check(d, family, e))
        return -1;
    if (!d->embedding_width)
        d->embedding_width = d->hidden;
    if (d->tied)
        d->head.weight = d->embedding;
    return refuse_unused(d, family, e) || (d->adapter && check_merged(d, e)) ? -1 : 0;
}

struct decoder *decoder_open_adapted(const char *path, const struct adapter_list *adapters,
                                     struct error *e)
{
    struct decoder *d = create(path, e);
    struct checkpoint checkpoint;

    if (!d)
        return NULL;
    if (checkpoint_open(&checkpoint, d->path, e)) {
        decoder_close(d);
        return NULL;
    }
    d->tensors = checkpoint.tensors;
    d->config = checkpoint.config;
    if (*tensors_notes(d->tensors))
        family_note(d, "%s", tensors_notes(d->tensors));
    if (read_model(d, adapters, e)) {
        decoder_close(d);
        return NULL;
    }
    note_quantised(d);
    return d;
}

struct decoder *decoder_suppose(const char *path, struct config *config, struct error *e)
{
    struct decoder *d = create(path, e);

    if (!d) {
        config_close(config);
        return NULL;
    }
    d->config = config;
    if (!(d->tensors = store_create(path, e)) || outer_enter(d, e)) {
        decoder_close(d);
        return NULL;
    }
    const char *type = json_string_value(config_get(d->config, "dtype"));
    if (!type)
        type = json_string_value(config_get(d->config, "torch_dtype"));
    store_suppose(d->tensors, type && strcmp(type, "bfloat16") == 0  ? ELEMENT_BF16
                              : type && strcmp(type, "float16") == 0 ? ELEMENT_F16
                                                                     : ELEMENT_F32);
    if (read_model(d, NULL, e) == 0) {
        if (d->vocabulary > 0)
            return d;
        fail(e,
             "%s: does not say how large the vocabulary is, which is a size of its weights "
             "(expected "
             "the checkpoint itself)",
             d->path);
    }
    decoder_close(d);
    return NULL;
}

void decoder_close(struct decoder *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->formula_count; i++)
        formula_free(d->formulas[i]);
    free(d->formulas);
    for (int i = 0; i < ROTARIES; i++)
        free(d->rotary[i].frequency), free(d->rotary[i].beyond);
    free(d->sinusoid.frequency);
    for (int i = 0; i < d->vector_count; i++)
        free(d->vectors[i]);
    free(d->vectors);
    for (int l = 0; d->blocks && l < d->layers; l++)
        free(d->blocks[l].experts.expert);
    free(d->blocks);
    if (d->tensors)
        tensors_close(d->tensors);
    if (d->config)
        config_close(d->config);
    config_close(d->adapter);
    free(d);
}

long decoder_cone(const struct decoder *d, long n)
{
    long cone = 1, keep = 0; /* first keys see only those before them */
    for (int l = 0; l < d->layers && cone < n; l++) {
        const struct score *s = &d->blocks[l].score;
        int window = block_window(&d->blocks[l]);
        cone = window     ? cone + window - 1
               : s->chunk ? n - attention_chunk_begin((int)(n - cone), s->chunk)
                          : n;
        keep = s->keep > keep ? s->keep : keep;
    }
    return cone + keep < n ? cone + keep : n;
}

static int is_indexed(const struct decoder *d)
{
    return d->key_limit && (!d->position_limit || d->key_limit < d->position_limit);
}

int decoder_limit(const struct decoder *d)
{
    return is_indexed(d) ? d->key_limit : d->position_limit;
}

char *decoder_limit_text(char text[DECODER_LIMIT_TEXT], const struct decoder *d)
{
    snprintf(text, DECODER_LIMIT_TEXT,
             is_indexed(d) ? "chooses, by an indexer, among the keys of more than %d inputs, which "
                             "is not supported"
                           : "has learned positions for %d inputs",
             decoder_limit(d));
    return text;
}

int decoder_has_experts(const struct decoder *d)
{
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].experts.routing.experts)
            return 1;
    return 0;
}

int decoder_recurrence_heads(const struct decoder *d)
{
    int most = 0;
    for (int l = 0; l < d->layers; l++)
        if (block_recurs(&d->blocks[l]) && d->blocks[l].mixer.recurrence.heads > most)
            most = d->blocks[l].mixer.recurrence.heads;
    return most;
}

char *decoder_unattended_text(char text[DECODER_LAYERS_TEXT], const struct decoder *d)
{
    size_t at = 0, size = DECODER_LAYERS_TEXT;
    int count = 0;
    text[0] = 0;
    for (int l = 0; l < d->layers; l++)
        count += !block_attends(&d->blocks[l]);
    for (int first = 0, last; first < d->layers; first = last + 1) {
        last = first;
        if (block_attends(&d->blocks[first]))
            continue;
        while (last + 1 < d->layers && !block_attends(&d->blocks[last + 1]))
            last++;
        if (at < size)
            at += (size_t)snprintf(text + at, size - at, "%s%d",
                                   at           ? ", "
                                   : count == 1 ? "layer "
                                                : "layers ",
                                   first + 1);
        if (last > first && at < size)
            at += (size_t)snprintf(text + at, size - at, "-%d", last + 1);
    }
    return text;
}
