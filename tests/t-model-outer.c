/* Checkpoints that hold a language model beside others: where it lies, and what is said of it. The
 * numbers of such folders as transformers writes them: tests/goldens/saved_types.py. */
#include "model/family.h"
#include "model/outer.h"
#include "tests/changed.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* The golden's folder as that of a language model in an outer type. */
static const char *wrapped(const char *golden, const char *outer, const char *member,
                           const char *const (*parts)[2])
{
    const char *folder = changed(golden, "use_cache", "true");
    nest(outer, member);
    for (; (*parts)[0]; parts++)
        if (!rename_tensors(folder, (*parts)[0], (*parts)[1]))
            fail_msg("%s has no %s", golden, (*parts)[0]);
    return folder;
}

static int same_numbers(const view *a, const view *b)
{
    return a->rows == b->rows && a->columns == b->columns && a->type == b->type &&
           memcmp(a->data, b->data, a->rows * element_size(a->type)) == 0;
}

/* The language model is the one that stands alone in the golden. */
static void test_places(void **state)
{
    static const struct {
        const char *golden, *outer, *member, *parts[4][2], *note;
    } rows[] = {
        {"llama-tied", "llava", "text_config", {{"model.", "language_model.model."}}, NULL},
        {"llama-tied", "llava_next", "text_config", {{"model.", "model.language_model."}}, NULL},
        {"llama-tied", "smolvlm", "text_config", {{"model.", "model.text_model."}}, NULL},
        {"llama-tied", "deepseek_vl", "language_config", {{"model.", "language.model."}}, NULL},
        {"qwen2",
         "llava_onevision",
         "text_config",
         {{"model.", "language_model.model."}, {"lm_head.", "language_model.lm_head."}},
         NULL},
        {"qwen2",
         "ovis2",
         "llm_config",
         {{"model.", "llm.model."}, {"lm_head.", "llm.lm_head."}},
         NULL},
        {"internlm2",
         "internvl_chat",
         "llm_config",
         {{"model.", "language_model.model."}, {"output.", "language_model.output."}},
         NULL},
        {"opt", "blip-2", "text_config", {{"model.", "language_model.model."}}, NULL},
        {"gemma",
         "paligemma",
         "text_config",
         {{"model.", "language_model.model."}},
         "a token sees only those before it"},
        {"cohere2",
         "aya_vision",
         "text_config",
         {{"model.", "model.language_model."}},
         "logit_scale has no effect in a aya_vision checkpoint"},
        {"gemma3-text",
         "gemma3",
         "text_config",
         {{"model.", "language_model.model."}},
         "final_logit_softcapping has no effect"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char alone[256];
        snprintf(alone, sizeof alone, "tests/goldens/%s", rows[i].golden);
        struct decoder *a = decoder_open(alone, &e),
                       *b = decoder_open(wrapped(rows[i].golden, rows[i].outer, rows[i].member,
                                                 rows[i].parts),
                                         &e);
        if (!a || !b)
            fail_msg("%s in %s: %s", rows[i].golden, rows[i].outer, e.text);
        assert_string_equal(a->family, b->family);
        assert_string_equal(b->outer->type, rows[i].outer);
        assert_true(a->layers == b->layers && a->tied == b->tied);
        assert_true(same_numbers(&a->embedding, &b->embedding));
        assert_true(same_numbers(&a->head.weight, &b->head.weight));
        for (int l = 0; l < a->layers; l++)
            assert_true(same_numbers(&a->blocks[l].down.weight, &b->blocks[l].down.weight));
        if (rows[i].note ? !strstr(b->notes, rows[i].note) : strcmp(a->notes, b->notes) != 0)
            fail_msg("%s in %s: notes '%s'", rows[i].golden, rows[i].outer, b->notes);
        decoder_close(a), decoder_close(b);
    }
}

/* Either place may say that the head is the embedding. */
static void test_tied(void **state)
{
    static const struct {
        const char *outer, *inner;
        int tied;
    } rows[] = {{"true", "false", 1}, {"false", "true", 1},  {"true", "", 1},
                {"", "true", 1},      {"false", "false", 0}, {"", "", 0}};
    static const char *const parts[][2] = {{"model.", "language_model.model."}, {NULL, NULL}};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *folder = wrapped("llama-tied", "llava", "text_config", parts);
        change_again("tie_word_embeddings", rows[i].outer);
        change_again("text_config.tie_word_embeddings", rows[i].inner);
        struct decoder *d = decoder_open(folder, &e);
        if (!d != !rows[i].tied)
            fail_msg("row %zu: %s", i, d ? "read" : e.text);
        if (!d)
            check_message("an untied head", &e, "tensor 'lm_head.weight' is missing");
        decoder_close(d);
    }
}

/* What a text_config leaves out is its class's default. */
static void test_left_out(void **state)
{
    static const struct {
        const char *outer, *inner;
        int vocabulary, hidden, mlp, layers, heads, kv_heads, head_size, positions;
    } rows[] = {
        {"llava", "llama", 32000, 4096, 11008, 32, 32, 32, 128, 2048},
        {"mistral3", "mistral", 32000, 4096, 14336, 32, 32, 8, 128, 131072},
        {"idefics2", "mistral", 32000, 4096, 14336, 32, 32, 8, 128, 131072},
        {"internvl", "qwen2", 151936, 4096, 22016, 32, 32, 32, 128, 32768},
        {"internvl", "qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768},
        {"paligemma", "gemma", 256000, 3072, 24576, 28, 16, 16, 256, 8192},
        {"paligemma", "gemma2", 256000, 2304, 9216, 26, 8, 4, 256, 8192},
        {"gemma3", "gemma3_text", 262208, 2304, 9216, 26, 8, 4, 256, 131072},
        {"aya_vision", "cohere2", 256000, 8192, 22528, 40, 64, 64, 128, 8192},
        {"granite_speech", "granite", 32000, 4096, 11008, 32, 32, 32, 128, 2048},
        {"blip-2", "opt", 50272, 768, 3072, 12, 12, 12, 64, 2048},
        {"fuyu", "persimmon", 262144, 4096, 16384, 36, 64, 64, 64, 16384},
        {"exaone4_5", "exaone4", 102400, 4096, 16384, 32, 32, 32, 128, 2048},
        {"qwen2_vl", "qwen2_vl_text", 152064, 8192, 29568, 80, 64, 8, 128, 32768},
        {"qwen2_5_vl", "qwen2_5_vl_text", 152064, 8192, 29568, 80, 64, 8, 128, 32768},
        {"qwen2_5_omni_thinker", "qwen2_5_omni_text", 152064, 3584, 18944, 28, 28, 4, 128, 32768},
        {"qwen3_vl", "qwen3_vl_text", 151936, 4096, 22016, 32, 32, 32, 128, 128000},
        {"glm4v", "glm4v_text", 151552, 4096, 13696, 40, 32, 2, 128, 32768},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[256];
        int length = snprintf(text, sizeof text,
                              "{\"model_type\": \"%s\", \"text_config\": {\"model_type\": \"%s\"}}",
                              rows[i].outer, rows[i].inner);
        struct config *c = config_from_text("config.json", text, (size_t)length, &e);
        struct decoder *d = c ? decoder_suppose("config.json", c, &e) : NULL;
        if (!d)
            fail_msg("%s in %s: %s", rows[i].inner, rows[i].outer, e.text);
        const int found[] = {d->vocabulary, d->hidden,   d->mlp,       d->layers,
                             d->heads,      d->kv_heads, d->head_size, d->declared_length};
        if (memcmp(found, &rows[i].vocabulary, sizeof found) != 0)
            fail_msg("%s in %s: %d %d %d %d %d %d %d %d", rows[i].inner, rows[i].outer, found[0],
                     found[1], found[2], found[3], found[4], found[5], found[6], found[7]);
        decoder_close(d);
    }
}

/* Where either object states the type of the weights. */
static void test_types(void **state)
{
    static const char *const texts[] = {
        "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"llama\", \"dtype\": "
        "\"bfloat16\"}}",
        "{\"model_type\": \"llava\", \"torch_dtype\": \"bfloat16\", \"text_config\": {}}"};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct config *c = config_from_text("config.json", texts[i], strlen(texts[i]), &e);
        struct decoder *d = c ? decoder_suppose("config.json", c, &e) : NULL;
        if (!d)
            fail_msg("%s: %s", texts[i], e.text);
        assert_int_equal(d->embedding.type, ELEMENT_BF16);
        decoder_close(d);
    }
}

/* Positions of images are said not to be those of text, also in what results record. */
static void test_sections(void **state)
{
    struct error e;
    struct decoder *d = decoder_open("tests/goldens/qwen2-vl", &e);
    (void)state;
    if (!d)
        fail_msg("%s", e.text);
    assert_non_null(strstr(d->notes, "positions are those of text"));
    assert_string_equal(d->position_text, "rotary, base 700, mrope of text, window 20 in some "
                                          "layers");
    assert_true(*d->not_understood == 0);
    decoder_close(d);
}

static void test_refused(void **state)
{
    static const struct {
        const char *config, *words;
    } rows[] = {
        {"{\"model_type\": \"llava\"}", "model_type 'llava' without a text_config"},
        {"{\"model_type\": \"llava\", \"text_config\": 1}", "without a text_config"},
        {"{\"model_type\": \"qwen3_omni_moe\", \"text_config\": {}}", "without a text_config"},
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"xlstm\"}}",
         "model_type 'xlstm', of the language model in a 'llava', is not supported: its layers "
         "are recurrent"},
        {"{\"model_type\": \"qwen4_exp\", \"text_config\": {\"hidden_size\": 8}}",
         "model_type 'qwen4_exp_text', of the language model in a 'qwen4_exp', is not supported: "
         "some "
         "of its layers are linear attention"},
        {"{\"model_type\": \"mllama\", \"text_config\": {}}",
         "model_type 'mllama' is not supported: it has parts for images"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct config *c = config_from_text("config.json", rows[i].config, strlen(rows[i].config),
                                            &e);
        assert_non_null(c);
        assert_null(decoder_suppose("config.json", c, &e));
        assert_int_equal(check_message(rows[i].config, &e, rows[i].words), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_tied),
                                       cmocka_unit_test(test_left_out),
                                       cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_sections),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
