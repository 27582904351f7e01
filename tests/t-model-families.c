/* What families take and say: nulls and defaults, stored heads, every encoding described. Refused:
 * t-model-refused.c; names of tensors: t-model-names.c; numbers: t-model-goldens.c. */
#include "kernels/shared.h"
#include "model/engine.h"
#include "model/family.h"
#include "model/rope.h"
#include "tests/changed.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* A null that says what absence says, and a factor that these families do not follow. */
static void test_taken(void **state)
{
    static const struct {
        const char *golden, *path, *value, *note;
    } rows[] = {
        {"llama-tied", "head_dim", "null", ""},
        {"llama-tied", "partial_rotary_factor", "null", ""},
        {"llama-tied", "rope_scaling", "null", ""},
        {"gpt2", "n_inner", "null", ""},
        {"gpt2", "bos_token_id", "null", ""},
        {"falcon-queries", "ffn_hidden_size", "null", ""},
        {"opt", "word_embed_proj_dim", "null", ""},
        {"mpt", "logit_scale", "null", ""},
        {"qwen2", "is_causal", "true", ""},
        {"qwen2", "quantization_config", "null", ""},
        {"qwen2", "per_layer_config", "{}", ""},
        {"phi", "head_dim", "8", ""},
        {"mistral-window", "layer_types",
         "[\"sliding_attention\", \"sliding_attention\", \"sliding_attention\"]", ""},
        {"llama-tied", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a llama model"},
        {"mistral-full", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a mistral model"},
        {"qwen2", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a qwen2 model"},
        {"qwen3", "rope_parameters.partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a qwen3 model"},
        {"gemma2", "partial_rotary_factor", "0.25",
         "partial_rotary_factor 0.25 has no effect in a gemma2 model"},
        {"gemma3-text", "rope_parameters.sliding_attention", "null", ""},
        {"exaone4-full", "sliding_window_pattern", "null", ""},
        {"falcon-heads", "partial_rotary_factor", "0.5",
         "partial_rotary_factor 0.5 has no effect in a falcon model"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (!d)
            fail_msg("%s, %s = %s: %s", rows[i].golden, rows[i].path, rows[i].value, e.text);
        if (*rows[i].note ? !strstr(d->notes, rows[i].note) : *d->notes)
            fail_msg("%s, %s = %s: notes '%s'", rows[i].golden, rows[i].path, rows[i].value,
                     d->notes);
        if (*rows[i].note && d->rotary[0].size != d->head_size)
            fail_msg("%s: turns %d of %d dimensions", rows[i].golden, d->rotary[0].size,
                     d->head_size);
        decoder_close(d);
    }
}

/* --rope replaces the scaling of every kind of layers, each with its own base; longrope takes the
 * factors of the configuration.
 */
static void test_rope_replaced(void **state)
{
    struct error e;
    struct rope_spec spec;
    struct position_override o = {.rope = &spec, .window = -1};
    struct decoder *a = decoder_open("tests/goldens/phi3-longrope", &e),
                   *b = decoder_open("tests/goldens/phi3-longrope", &e);
    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    if (rope_parse(&spec, "longrope", &e) || decoder_override(b, &o, &e))
        fail_msg("%s", e.text);
    size_t bytes = (size_t)a->rotary[0].size / 2 * sizeof(double);
    assert_memory_equal(a->rotary[0].frequency, b->rotary[0].frequency, bytes);
    assert_memory_equal(a->rotary[0].beyond, b->rotary[0].beyond, bytes);
    assert_true(a->rotary[0].factor == b->rotary[0].factor &&
                a->rotary[0].limit == b->rotary[0].limit);
    if (rope_parse(&spec, "none", &e) || decoder_override(b, &o, &e))
        fail_msg("%s", e.text);
    assert_null(b->rotary[0].beyond);
    assert_true(b->rotary[0].factor == 1);
    decoder_close(a), decoder_close(b);
    if (!(a = decoder_open("tests/goldens/gemma3-text", &e)) ||
        rope_parse(&spec, "linear:factor=2", &e) || decoder_override(a, &o, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < a->rotary[i].size / 2; k++)
            assert_true(a->rotary[i].frequency[k] ==
                        pow(i ? 90 : 3000, -2.0 * k / a->rotary[i].size) / 2);
    assert_non_null(
        strstr(a->position_text,
               "--rope base=3000,linear:factor=2 and base=90,linear:factor=2 in windows"));
    decoder_close(a);
    if (!(a = decoder_open("tests/goldens/hunyuan-v1-dense", &e)) ||
        rope_parse(&spec, "yarn:factor=4,original=32", &e) || decoder_override(a, &o, &e))
        fail_msg("%s", e.text);
    double divided = a->rotary[0].divided;
    assert_true(a->rotary[0].factor == 1 && divided > 1 &&
                a->blocks[0].key_norm.epsilon < 2e-5 / divided);
    if (rope_parse(&spec, "none", &e) || decoder_override(a, &o, &e))
        fail_msg("%s", e.text);
    assert_true(fabs(a->blocks[1].query_norm.epsilon - 2e-5) < 1e-18);
    decoder_close(a);
}

/* A head that is stored and differs from the embedding is used, whatever the configuration says;
 * one with the same numbers is the embedding. */
static void test_stored_head(void **state)
{
    static const char *const goldens[] = {"gpt2-unscaled",
                                          "mistral-full",
                                          "qwen2",
                                          "qwen3",
                                          "mpt-6-heads",
                                          "gptj",
                                          "phi",
                                          "falcon-groups-one-norm",
                                          "gpt-neox-plain",
                                          "gpt-neox-parallel",
                                          "llama-rope-linear"};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(goldens); i++) {
        struct decoder *untied = decoder_open(changed(goldens[i], "tie_word_embeddings", "false"),
                                              &e),
                       *d;
        if (!untied)
            fail_msg("%s: %s", goldens[i], e.text);
        if (!(d = decoder_open(changed(goldens[i], "tie_word_embeddings", "true"), &e)))
            fail_msg("%s: %s", goldens[i], e.text);
        if (d->tied || *untied->notes ||
            !strstr(d->notes, ".weight differs from the embedding and is used"))
            fail_msg("%s: tied %d, notes '%s'", goldens[i], d->tied, d->notes);
        double a[64], b[64];
        weight_parts_read_f64(a, &d->head.weight, 5, 0, d->head.weight.columns);
        weight_parts_read_f64(b, &untied->head.weight, 5, 0, d->head.weight.columns);
        assert_memory_equal(a, b, d->head.weight.columns * sizeof *a);
        assert_true((d->head.bias.data != NULL) == (untied->head.bias.data != NULL));
        decoder_close(d);
        decoder_close(untied);
    }
}

/* llama-tied with its embedding stored once more, as the head; its last byte changed by `change`.
 */
static void write_stored_twice(unsigned char change)
{
    size_t size;
    uint64_t header_size = 0;
    changed("llama-tied", "model_type", "\"llama\"");
    unsigned char *file = scratch_read("tests/goldens/llama-tied/model.safetensors", &size);
    memcpy(&header_size, file, 8);
    json_t *header = json_loadb((char *)file + 8, header_size, 0, NULL),
           *head = json_deep_copy(json_object_get(header, "model.embed_tokens.weight"));
    assert_non_null(head);
    size_t data = 8 + header_size, from = (size_t)json_integer_value(
                                       json_array_get(json_object_get(head, "data_offsets"), 0));
    size_t bytes =
        (size_t)json_integer_value(json_array_get(json_object_get(head, "data_offsets"), 1)) - from;
    json_object_set_new(head, "data_offsets",
                        json_pack("[I, I]", (json_int_t)(size - data),
                                  (json_int_t)(size - data + bytes)));
    json_object_set_new(header, "lm_head.weight", head);
    char *text = json_dumps(header, 0);
    uint64_t length = strlen(text);
    unsigned char *whole = malloc(8 + length + size - data + bytes);
    assert_non_null(whole);
    memcpy(whole, &length, 8);
    memcpy(whole + 8, text, length);
    memcpy(whole + 8 + length, file + data, size - data);
    memcpy(whole + 8 + length + size - data, file + data + from, bytes);
    whole[8 + length + size - data + bytes - 1] ^= change;
    scratch_write(scratch_folder, "model.safetensors", whole, 8 + length + size - data + bytes);
    json_decref(header);
    free(text), free(whole), free(file);
}

static void test_stored_twice(void **state)
{
    struct error e;
    (void)state;
    for (int i = 0; i < 2; i++) {
        write_stored_twice(i ? 0x80 : 0);
        struct decoder *d = decoder_open(scratch_folder, &e);
        if (!d)
            fail_msg("%s", e.text);
        assert_int_equal(d->tied, !i);
        assert_int_equal(*d->notes != 0, i);
        assert_true((d->head.weight.data == d->embedding.data) == !i);
        decoder_close(d);
    }
}

/* Settings that are not named are the defaults of the library whose format a configuration is; null
 * turns them off. */
static void test_absent(void **state)
{
    static const struct {
        const char *golden, *path, *value;
        double cap, head_cap;
        int window; /* of the last layer */
    } rows[] = {
        {"gemma2", "model_type", "\"gemma2\"", 4, 2.5, 5},
        {"gemma2", "attn_logit_softcapping", "", 50, 2.5, 5},
        {"gemma2", "attn_logit_softcapping", "null", 0, 2.5, 5},
        {"gemma2", "final_logit_softcapping", "", 4, 30, 5},
        {"gemma2", "final_logit_softcapping", "null", 4, 0, 5},
        {"gemma2", "sliding_window", "", 4, 2.5, 4096},
        {"gemma2", "sliding_window", "null", 4, 2.5, 0},
        {"gemma2", "hidden_activation", "", 4, 2.5, 5}, /* hidden_act is not what Gemma 2 goes by */
        {"mistral-window", "sliding_window", "", 0, 0, 4096},
        {"mistral-window", "sliding_window", "null", 0, 0, 0},
        {"qwen2-window", "sliding_window", "", 0, 0, 4096},
        {"qwen2-window", "sliding_window", "null", 0, 0, 0},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (!d)
            fail_msg("%s, %s = %s: %s", rows[i].golden, rows[i].path, rows[i].value, e.text);
        const struct block *last = &d->blocks[d->layers - 1];
        enum activation activation = i < 8 ? ACTIVATION_GELU_TANH : ACTIVATION_SILU;
        if (last->score.soft_cap != rows[i].cap || d->head_soft_cap != rows[i].head_cap ||
            last->score.window != rows[i].window || last->activation != activation)
            fail_msg("%s, %s = '%s': caps %g and %g, window %d, activation %d", rows[i].golden,
                     rows[i].path, rows[i].value, last->score.soft_cap, d->head_soft_cap,
                     last->score.window, (int)last->activation);
        decoder_close(d);
    }
}

/* A rotated part of less than two dimensions turns nothing, and there are no angles to turn by. */
static void test_nothing_rotated(void **state)
{
    struct error e = {""};
    double norm[2], logprob;
    const int32_t ids[3] = {1, 2, 3};
    (void)state;
    struct decoder *d = decoder_open(changed("gpt-neox-parallel", "rotary_pct", "0.05"), &e);
    struct kernels *k = kernels_open("f64", &e);
    if (!d || !k)
        fail_msg("%s", e.text);
    assert_int_equal(d->position, POSITION_NONE);
    struct engine_request o = {.positions = 2, .weights = WEIGHTS_RESIDENT, .memory = 1u << 28};
    struct engine *g = engine_create(k, d, &o, &e);
    assert_non_null(g);
    assert_int_equal(engine_measure(g, norm, &logprob, ids, 1, &e), 0);
    assert_true(isfinite(logprob) && norm[0] > 0);
    engine_close(g);
    decoder_close(d);
    k->close(k);
}

/* What is taken of a Baichuan whose configuration does not say it. */
static void test_baichuan(void **state)
{
    static const struct {
        const char *golden, *path, *value, *positions;
        int normalised;
    } rows[] = {
        {"baichuan", "use_cache", "true", "rotary, base 10000", 0},
        {"baichuan", "max_position_embeddings", "", "rotary, base 10000", 0},
        {"baichuan", "model_max_length", "128", "rotary, base 10000", 0},
        {"baichuan", "vocab_size", "64", "rotary, base 10000", 0},
        {"baichuan", "rope_theta", "500", "rotary, base 500", 0},
        {"baichuan2-alibi", "use_cache", "true", "ALiBi", 1},
        {"baichuan2-alibi", "rope_scaling", "null", "ALiBi", 1},
        {"baichuan2-alibi", "max_position_embeddings", "128", "rotary, base 10000", 1},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (!d)
            fail_msg("%s, %s = %s: %s", rows[i].golden, rows[i].path, rows[i].value, e.text);
        if (strcmp(d->position_text, rows[i].positions) ||
            !d->head.weight.factors != !rows[i].normalised ||
            !strstr(d->notes, rows[i].normalised ? "rows normalised" : "rows as they are stored") ||
            !strstr(d->notes, *rows[i].positions == 'A' ? "with ALiBi" : "with rotary positions"))
            fail_msg("%s, %s = %s: positions '%s', notes '%s'", rows[i].golden, rows[i].path,
                     rows[i].value, d->position_text, d->notes);
        for (size_t v = 0; v < d->head.weight.rows && rows[i].normalised; v++) {
            double row[64], sum = 0;
            weight_parts_read_f64(row, &d->head.weight, v, 0, d->head.weight.columns);
            for (size_t c = 0; c < d->head.weight.columns; c++)
                sum += row[c] * row[c];
            assert_true(fabs(sum - 1) < 1e-14);
        }
        decoder_close(d);
    }
}

static void test_position_text(void **state)
{
    static const struct {
        const char *golden, *text;
    } rows[] = {
        {"gpt2-unscaled", "learned, 40 positions"},
        {"gpt-neox-plain", "rotary, base 700"},
        {"mpt", "ALiBi"},
        {"mpt-bias-max", "ALiBi, alibi_bias_max 4"},
        {"llama-rope-yarn",
         "rotary, base 100, "
         "yarn:factor=4,original=16,attention_factor=1.138629436,beta_fast=32,beta_slow=1"},
        {"llama-rope-dynamic", "rotary, base 10000, dynamic:factor=3,original=24"},
        {"llama-rope-linear", "rotary, base 10000, linear:factor=4"},
        {"llama-rope-llama3",
         "rotary, base 10000, llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=64"},
        {"llama-rope-yarn-settings", "rotary, base 50, "
                                     "yarn:factor=8,original=40,attention_factor=1.097866827,beta_"
                                     "fast=6,beta_slow=0.5,mscale=0."
                                     "8,mscale_all_dim=0.3,truncate=0"},
        {"mistral-window", "rotary, base 10000, window 8"},
        {"qwen2", "rotary, base 700"},
        {"qwen2-window", "rotary, base 700, window 6 in some layers"},
        {"qwen3-window", "rotary, base 700, window 7"},
        {"opt-350m", "learned, 48 positions"},
        {"falcon-alibi", "ALiBi over sqrt(head size), by key position in bfloat16"},
        {"gptj", "rotary, base 10000, interleaved, 6 of 8 dimensions"},
        {"phi-head-norms",
         "rotary, base 700, 6 of 8 dimensions, "
         "yarn:factor=2,original=20,attention_factor=1.069314718,beta_fast=32,beta_slow=1"},
        {"neox-kerple-power", "kerple_power_ap_ap"},
        {"neox-t5", "T5 buckets"},
        {"neox-rotary-half", "rotary, base 90, stored frequencies, 4 of 8 dimensions"},
        {"neox-learned", "learned, 32 positions"},
        {"neox-sinusoidal", "sinusoidal"},
        {"neox-none", "none"},
        {"fairseq-rpe-1", "rpe_type 1: -k*t by key position"},
        {"fairseq-rpe-7", "rpe_type 7: -ln(1+k*t)"},
        {"fairseq-kerple-log", "kerple_log"},
        {"fairseq-sincos", "sinusoidal"},
        {"fairseq-alibi", "ALiBi"},
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/goldens/%s", rows[i].golden);
        struct decoder *d = decoder_open(path, &e);
        if (!d)
            fail_msg("%s", e.text);
        if (strcmp(d->position_text, rows[i].text) != 0)
            fail_msg("%s: '%s', expected '%s'", rows[i].golden, d->position_text, rows[i].text);
        decoder_close(d);
    }
}

/* Layers whose scores are the same share one attention; those of different stored parameters do
 * not. */
static void test_shared_formulas(void **state)
{
    static const struct {
        const char *golden;
        int shared;
    } rows[] = {{"neox-alibi", 1}, {"neox-kerple-log", 0}, {"fairseq-kerple-log", 1}};
    struct error e;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/goldens/%s", rows[i].golden);
        struct decoder *d = decoder_open(path, &e);
        if (!d)
            fail_msg("%s", e.text);
        assert_non_null(d->blocks[0].score.bias);
        if ((d->blocks[0].score.bias == d->blocks[1].score.bias) != rows[i].shared)
            fail_msg("%s: layers 1 and 2 %s a bias", rows[i].golden,
                     rows[i].shared ? "do not share" : "share");
        decoder_close(d);
    }
}

/* A padding token, which fairseq's positions do not count, may not stand in a segment; without
 * absolute positions it is a token like others. */
static void test_padding(void **state)
{
    static const char *const goldens[] = {"tests/goldens/fairseq-sincos",
                                          "tests/goldens/fairseq-rpe-3"};
    const int32_t ids[] = {4, 1, 7, 9};
    double norm[3], logprob;
    struct error e;
    struct kernels *k = kernels_open("f64", &e);
    (void)state;
    assert_non_null(k);
    for (int i = 0; i < 2; i++) {
        struct decoder *d = decoder_open(goldens[i], &e);
        assert_non_null(d);
        struct engine_request o = {.positions = 3, .weights = WEIGHTS_RESIDENT, .memory = 1u << 28};
        struct engine *g = engine_create(k, d, &o, &e);
        assert_non_null(g);
        int result = engine_measure(g, norm, &logprob, ids, 1, &e);
        assert_int_equal(result, i == 0 ? -1 : 0);
        if (i == 0)
            assert_int_equal(check_message(goldens[i], &e, "token id 1 is padding"), 0);
        engine_close(g);
        decoder_close(d);
    }
    k->close(k);
}

/* The longest segment that learned rows behind an offset allow, or an indexer without a choice. */
static void test_offset_positions(void **state)
{
    static const struct {
        const char *golden;
        int inputs;
        const char *why;
    } rows[] = {{"tests/goldens/opt", 40, "has learned positions for"},
                {"tests/goldens/neox-learned", 32, "has learned positions for"},
                {"tests/goldens/fairseq-learned", 29, "has learned positions for"},
                {"tests/goldens/deepseek-v32", 97,
                 "chooses, by an indexer, among the keys of more than"}};
    struct error e;
    struct kernels *k = kernels_open("f32", &e);
    (void)state;
    assert_non_null(k);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct decoder *d = decoder_open(rows[i].golden, &e);
        if (!d)
            fail_msg("%s", e.text);
        struct engine_request o = {.positions = rows[i].inputs,
                                   .weights = WEIGHTS_RESIDENT,
                                   .memory = 1u << 28};
        struct engine *g = engine_create(k, d, &o, &e);
        if (!g)
            fail_msg("%s", e.text);
        engine_close(g);
        o.positions++;
        assert_null(engine_create(k, d, &o, &e));
        char words[160];
        snprintf(words, sizeof words, "%s %d inputs|the longest --length that works is %d",
                 rows[i].why, rows[i].inputs, rows[i].inputs + 1);
        assert_int_equal(check_message(rows[i].golden, &e, words), 0);
        decoder_close(d);
    }
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),         cmocka_unit_test(test_rope_replaced),
        cmocka_unit_test(test_stored_head),   cmocka_unit_test(test_stored_twice),
        cmocka_unit_test(test_absent),        cmocka_unit_test(test_nothing_rotated),
        cmocka_unit_test(test_position_text), cmocka_unit_test(test_shared_formulas),
        cmocka_unit_test(test_padding),       cmocka_unit_test(test_offset_positions),
        cmocka_unit_test(test_baichuan),
    };
    return cmocka_run_group_tests_name("families", tests, scratch_setup, scratch_teardown);
}
