/* GGUF files against what the gguf Python package and transformers make of the same
 * (tests/goldens/gguf/make.py), and files that must be refused. */
#include "io/blocks.h"
#include "io/checkpoint/checkpoint.h"
#include "io/gguf/gguf.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokens/tokens.h"
#include "model/decoder.h"
#include "tests/expected.h"
#include "tests/measured.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/gguf/"

/* -- blocks -- */

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The same bits; NaN is any NaN, of which processors make several. */
static int same(float a, float b)
{
    return a != a ? b != b : float_bits(a) == float_bits(b);
}

static void blocks_have_the_bits_of_the_python_package(void **state)
{
    (void)state;
    struct error e = {""};
    struct config *own;
    struct tensors *t = checkpoint_tensors(GOLDENS "blocks.safetensors", &own, &e);
    if (!t)
        fail_msg("%s", e.text);
    for (int type = ELEMENT_Q4_0; type <= ELEMENT_MXFP4; type++) {
        char name[32];
        size_t block = element_block((enum element)type);
        snprintf(name, sizeof name, "%s.values", element_name((enum element)type));
        const struct tensor *stored = tensors_find_any(t, element_name((enum element)type)),
                            *values = tensors_find(t, name);
        assert_non_null(stored);
        assert_non_null(values);
        assert_int_equal(stored->shape[1], element_size((enum element)type));
        assert_int_equal(values->shape[1], block);
        float *want = malloc(values->bytes), *got = malloc(values->bytes);
        double *wide = malloc(2 * values->bytes);
        assert_true(want && got && wide);
        memcpy(want, values->data, values->bytes);
        /* all, each by itself, and runs that begin and end within blocks */
        element_widen_f32(got, stored->data, (enum element)type, values->count);
        for (size_t i = 0; i < values->count; i++)
            if (!same(got[i], want[i]) ||
                !same((float)element_read(stored->data, (enum element)type, i), want[i]))
                fail_msg("%s, block %zu, element %zu: %a (expected %a)", name, i / block, i % block,
                         (double)got[i], (double)want[i]);
        for (size_t first = 0; first < 2 * block + 3; first += 7)
            for (size_t count = 0; count < 3 * block; count += 11) {
                element_run_f32(got, stored->data, (enum element)type, first, count);
                element_run_f64(wide, stored->data, (enum element)type, first, count);
                for (size_t i = 0; i < count; i++)
                    if (!same(got[i], want[first + i]) || !same((float)wide[i], want[first + i]))
                        fail_msg("%s, %zu elements from %zu on, element %zu: %a", name, count,
                                 first, i, (double)got[i]);
            }
        free(want);
        free(got);
        free(wide);
    }
    tensors_close(t);
}

/* -- models -- */

/* Of the families' golden cases, and with every quantised type. */
static const struct {
    const char *file, *expected;
} models[] = {{"llama-tied.gguf", "tests/goldens/llama-tied"},
              {"llama-rope-linear.gguf", "tests/goldens/llama-rope-linear"},
              {"llama-rope-yarn.gguf", "tests/goldens/llama-rope-yarn"},
              {"qwen2.gguf", "tests/goldens/qwen2"},
              {"gpt2.gguf", "tests/goldens/gpt2"},
              {"gpt-neox-parallel.gguf", "tests/goldens/gpt-neox-parallel"},
              {"bloom-4-heads.gguf", "tests/goldens/bloom-4-heads"},
              {"mpt-bias-max.gguf", "tests/goldens/mpt-bias-max"},
              {"falcon-groups.gguf", "tests/goldens/falcon-groups"},
              {"falcon-groups-one-norm.gguf", "tests/goldens/falcon-groups-one-norm"},
              {"falcon-queries.gguf", "tests/goldens/falcon-queries"},
              {"phi.gguf", "tests/goldens/phi"},
              {"split-00001-of-00004.gguf", "tests/goldens/llama-gqa"},
              {"quantised/model.gguf", GOLDENS "quantised"},
              {"gpt2-quantised/model.gguf", GOLDENS "gpt2-quantised"},
              {"gemma2-plain/model.gguf", GOLDENS "gemma2-plain"},
              {"qwen3-plain/model.gguf", GOLDENS "qwen3-plain"},
              {"gemma.gguf", "tests/goldens/gemma"},
              {"phi3.gguf", "tests/goldens/phi3"},
              {"starcoder2.gguf", "tests/goldens/starcoder2"},
              {"olmo2.gguf", "tests/goldens/olmo2"},
              {"cohere.gguf", "tests/goldens/cohere"},
              {"gemma3-plain/model.gguf", GOLDENS "gemma3-plain"},
              {"cohere2-plain/model.gguf", GOLDENS "cohere2-plain"},
              {"mixtral.gguf", "tests/goldens/mixtral"},
              {"qwen2-moe-all.gguf", "tests/goldens/qwen2-moe-all"},
              {"qwen3-moe.gguf", "tests/goldens/qwen3-moe"},
              {"olmoe-plain.gguf", "tests/goldens/olmoe-plain"},
              {"granitemoe-names.gguf", "tests/goldens/granitemoe-names"},
              {"glm4-moe.gguf", "tests/goldens/glm4-moe"},
              {"gpt-oss.gguf", "tests/goldens/gpt-oss"},
              {"rope-freqs/model.gguf", GOLDENS "rope-freqs"}};
enum { MODELS = sizeof models / sizeof *models };

static void models_are_those_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < MODELS; i++) {
        char path[256];
        snprintf(path, sizeof path, GOLDENS "%s", models[i].file);
        measure_golden(path, models[i].expected, "f64", 1e-9, 1e-9);
        measure_golden(path, models[i].expected, "f32", 2e-5, 1e-5);
    }
}

/* The float matrices of a converted case are those of the case, bit by bit. */
static void tensors_are_those_of_the_case(void **state)
{
    (void)state;
    static const char *const names[] = {"llama-tied", "qwen2", "phi", "falcon-groups",
                                        "llama-rope-yarn"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        struct error e = {""};
        struct checkpoint a, b;
        size_t found = 0;
        snprintf(path, sizeof path, GOLDENS "%s.gguf", names[i]);
        if (checkpoint_open(&a, path, &e))
            fail_msg("%s", e.text);
        snprintf(path, sizeof path, "tests/goldens/%s", names[i]);
        if (checkpoint_open(&b, path, &e))
            fail_msg("%s", e.text);
        for (size_t k = 0; k < tensors_count(a.tensors); k++) {
            const struct tensor *one = tensors_at(a.tensors, k),
                                *other = tensors_find(b.tensors, one->name);
            if (!other || one->count != other->count)
                fail_msg("%s: tensor %s", names[i], one->name);
            for (size_t j = 0; j < one->count; j++)
                if (element_read(one->data, one->type, j) !=
                    element_read(other->data, other->type, j))
                    fail_msg("%s: tensor %s, element %zu", names[i], one->name, j);
            found++;
        }
        assert_int_equal(found, tensors_count(b.tensors));
        checkpoint_close(&a);
        checkpoint_close(&b);
    }
}

/* Quantised tensors are written only when that is asked for, and are the same numbers then. */
static void quantised_tensors_are_widened_on_request(void **state)
{
    (void)state;
    static const char *const files[] = {GOLDENS "quantised/model.gguf",
                                        GOLDENS "gpt2-quantised/model.gguf"};
    for (size_t i = 0; i < 2; i++)
        for (int hdf = 0; hdf < 2; hdf++) {
            struct error e = {""};
            struct checkpoint c, back;
            const char *out = scratch_path(scratch_folder, hdf ? "wide.h5" : "wide");
            char folder[64];
            if (checkpoint_open(&c, files[i], &e))
                fail_msg("%s", e.text);
            assert_int_equal(checkpoint_write(&c, out, 1, &e), -1);
            assert_int_equal(
                check_message(files[i], &e,
                              "is stored as Q|which cannot be written (expected --widen"),
                0);
            assert_int_equal(tensors_widen(c.tensors, &e), 0);
            if (checkpoint_write(&c, out, 1, &e) || checkpoint_open(&back, out, &e))
                fail_msg("%s", e.text);
            for (size_t k = 0; k < tensors_count(c.tensors); k++) {
                const struct tensor *one = tensors_at(c.tensors, k),
                                    *other = tensors_find(back.tensors, one->name);
                assert_non_null(other);
                float *a = malloc(one->count * 8), *b = malloc(one->count * 8);
                assert_int_equal(other->type, tensor_copied(one));
                tensor_copy(a, one, 0, one->count);
                tensor_copy(b, other, 0, one->count);
                assert_memory_equal(a, b, one->count * element_size(other->type));
                free(a);
                free(b);
            }
            checkpoint_close(&c);
            checkpoint_close(&back);
            snprintf(folder, sizeof folder, "tests/goldens/gguf/%s",
                     i ? "gpt2-quantised" : "quantised");
            measure_golden(scratch_path(scratch_folder, hdf ? "wide.h5" : "wide"), folder, "f64",
                           1e-9, 1e-9);
        }
}

/* -- heads that lie -- */

/* The bytes of a script: wN a number of 4 bytes, qN of 8, cN of 1, zN zeros, pN zeros up to a
 * multiple, =TEXT the text itself, 'TEXT with its length before it; _ in a text is a blank. */
static size_t build(unsigned char *out, const char *script)
{
    size_t at = 0;
    while (*script) {
        char word[128];
        size_t length = strcspn(script, " ");
        uint64_t number;
        memcpy(word, script, length);
        word[length] = '\0';
        script += length + strspn(script + length, " ");
        number = strtoull(word + 1, NULL, 10);
        for (char *p = word + 1; *p && (*word == '=' || *word == '\''); p++)
            *p = (char)(*p == '_' ? ' ' : *p);
        switch (*word) {
        case 'w': memcpy(out + at, &number, 4), at += 4; break;
        case 'q': memcpy(out + at, &number, 8), at += 8; break;
        case 'c': out[at++] = (unsigned char)number; break;
        case 'z': memset(out + at, 0, number), at += number; break;
        case 'p':
            number = (number - at % number) % number, memset(out + at, 0, number), at += number;
            break;
        case '\'': number = length - 1, memcpy(out + at, &number, 8), at += 8; /* fall through */
        default: memcpy(out + at, word + 1, length - 1), at += length - 1;
        }
    }
    return at;
}

#define HEAD "=GGUF w3 q1 q1 'k w4 w7 "

static void heads_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *script, *words; /* words NULL: accepted */
    } rows[] = {
        {HEAD "'a.weight w2 q3 q2 w0 q0 p32 z24", NULL},
        {HEAD "'a.weight w2 q3 q2 w0 q0 p32 z24 p32", NULL},
        {HEAD "'a.weight w2 q32 q2 w2 q0 p32 z36 p32", NULL},
        {"=GGUF w2 q0 q1 'general.alignment w4 w8", NULL},
        {"=GGUF w3 q1 q1 'general.alignment w4 w8 'a w1 q3 w0 q0 p8 z12", NULL},
        {"=GGU", "head: ends within its head"},
        {"=GGUF w3 q1", "head: ends within its head"},
        {"=GGUF w1 q0 q0", "is GGUF version 1 (expected 2 or 3)"},
        {"=GGUF w4 q0 q0", "is GGUF version 4"},
        {"=GGUF w50331648 q0 q0", "big-endian"},
        {"=GGUF w3 q0 q1000", "states 1000 pairs of metadata in a file of 24 bytes"},
        {"=GGUF w3 q0 q18446744073709551615", "pairs of metadata in a file of 24 bytes"},
        {"=GGUF w3 q18446744073709551615 q0", "states 18446744073709551615 tensors"},
        {"=GGUF w3 q0 q1 q18446744073709551615 z32",
         "a key of the metadata has 18446744073709551615 bytes, but only 32 follow"},
        {"=GGUF w3 q0 q1 q0 w4 w1 z8", "a key of the metadata has 0 bytes"},
        {"=GGUF w3 q0 q1 'a w13 z8", "a has a value of type 13 (expected 0 to 12)"},
        {"=GGUF w3 q0 q1 'a w9 w9 q1 z8", "a is an array of arrays"},
        {"=GGUF w3 q0 q1 'a w9 w99 q1 z8", "value of type 99"},
        {"=GGUF w3 q0 q1 'a w9 w10 q2305843009213693952 z8",
         "a has 2305843009213693952 values, but only 8 bytes follow"},
        {"=GGUF w3 q0 q1 'a w9 w8 q2 'b z8 z8", NULL},
        {"=GGUF w3 q0 q1 'a w9 w8 q2 q9 z8",
         "a text in the metadata has 9 bytes, but only 8 follow"},
        {"=GGUF w3 q0 q1 'a w8 q18446744073709551615 z8",
         "a text in the metadata has 18446744073709551615 bytes"},
        {"=GGUF w3 q0 q1 'a w10 z7", "only 7 bytes follow"},
        {"=GGUF w3 q0 q1 'a w7 c2", "a is neither true nor false, but 2"},
        {"=GGUF w3 q0 q2 'a w4 w1 'a w4 w1", "holds the key a twice"},
        {"=GGUF w3 q0 q1 'general.alignment w4 w0",
         "general.alignment is not a whole number from 1"},
        {"=GGUF w3 q0 q1 'general.alignment w4 w24",
         "general.alignment is 24 (expected a power of two)"},
        {"=GGUF w3 q0 q1 'general.alignment w8 'x", "general.alignment is not a whole number"},
        {HEAD "'a/b w2 q3 q2 w0 q0 p32 z24", "'a/b' is not the name of a tensor"},
        {HEAD "'../../a w2 q3 q2 w0 q0 p32 z24", "'../../a' is not the name of a tensor"},
        {HEAD "'a\\b w2 q3 q2 w0 q0 p32 z24", "is not the name of a tensor"},
        {HEAD "'a_b w2 q3 q2 w0 q0 p32 z24", "'a b' is not the name of a tensor"},
        {HEAD "q0 w2 q3 q2 w0 q0 p32 z24", "a tensor has no name"},
        {HEAD "'a w0 w0 q0 p32 z32", "tensor a has 0 dimensions (expected 1 to 4)"},
        {HEAD "'a w5 q1 q1 q1 q1 q1 w0 q0 p32 z24", "tensor a has 5 dimensions"},
        {HEAD "'a w2 q3 q0 w0 q0 p32 z24", "tensor a has a dimension of 0"},
        {HEAD "'a w3 q4294967296 q4294967296 q4294967296 w0 q0 p32 z24",
         "more bytes than can be counted"},
        {HEAD "'a w2 q9223372036854775808 q2 w0 q0 p32 z24", "more bytes than can be counted"},
        {HEAD "'a w2 q3 q2 w4 q0 p32 z24", "tensor a is stored as type 4, which is not known"},
        {HEAD "'a w2 q3 q2 w4294967295 q0 p32 z24", "tensor a is stored as type 4294967295"},
        {HEAD "'a w2 q256 q2 w15 q0 p32 z24", "tensor a is stored as Q8_K, which is not supported"},
        {HEAD "'a w2 q256 q2 w16 q0 p32 z24",
         "tensor a is stored as IQ2_XXS, which is not supported"},
        {HEAD "'a w2 q256 q2 w24 q0 p32 z24", "tensor a is stored as I8, which is not supported"},
        {HEAD "'a w2 q48 q2 w2 q0 p32 z64",
         "tensor a is stored as Q4_0 in rows of 48 (expected a multiple of 32)"},
        {HEAD "'a w2 q3 q2 w0 q32 p32 z64", "the data of tensor a lie at offset 32 (expected 0"},
        {HEAD "'a w2 q3 q2 w0 q18446744073709551584 p32 z64",
         "the data of tensor a lie at offset 18446744073709551584"},
        {HEAD "'a w2 q3 q2 w0 q0 p32 z23", "tensor a has 24 bytes of data, but only 23 follow"},
        {HEAD "'a w2 q3 q2 w0 q0", "ends before the data of its tensors"},
        {HEAD "'a w2 q3 q2 w0 q0 p32 z33", "9 bytes follow the last tensor"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char bytes[1024], *exact;
        struct error e = {""};
        struct gguf g;
        size_t size = build(bytes, rows[i].script);
        exact = malloc(size); /* so that AddressSanitizer sees reads beyond the end */
        memcpy(exact, bytes, size);
        int result = gguf_parse(&g, "head", exact, size, &e);
        if (!rows[i].words && result)
            fail_msg("%s: %s", rows[i].script, e.text);
        if (rows[i].words && !result)
            fail_msg("%s: was accepted", rows[i].script);
        if (rows[i].words)
            assert_int_equal(check_message(rows[i].script, &e, rows[i].words), 0);
        gguf_free(&g);
        free(exact);
    }
}

/* Every shorter form of a good file is refused with a line. */
static void cut_files_are_refused(void **state)
{
    (void)state;
    size_t size;
    unsigned char *good = scratch_read(GOLDENS "qwen2.gguf", &size);
    for (size_t cut = 0; cut + 32 < size; cut += cut < 3000 ? 1 : 97) {
        struct error e = {""};
        struct gguf g;
        unsigned char *exact = malloc(cut ? cut : 1);
        memcpy(exact, good, cut);
        if (gguf_parse(&g, "cut", exact, cut, &e) == 0)
            fail_msg("%zu of %zu bytes were accepted", cut, size);
        assert_int_equal(check_message("cut", &e, "cut: "), 0);
        gguf_free(&g);
        free(exact);
    }
    free(good);
}

/* -- metadata of models -- */

/* A copy of a golden with every `from` written over by `to`, of the same size. */
static const char *changed(const char *golden, const char *from, size_t size, const char *to)
{
    size_t total, found = 0;
    unsigned char *bytes = scratch_read(golden, &total);
    for (unsigned char *at = bytes; (at = memmem(at, total - (size_t)(at - bytes), from, size));
         at += size, found++)
        memcpy(at, to, size);
    if (!found)
        fail_msg("%s does not hold %.*s", golden, (int)size, from);
    const char *path = scratch_write(scratch_folder, "changed.gguf", bytes, total);
    free(bytes);
    return path;
}

/* Two literals of one size, which the compiler sees to. */
#define TEXTS(from, to) from, sizeof from - sizeof(char[sizeof from == sizeof to ? 1 : -1]), to

static void metadata_is_used_refused_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *golden, *from;
        size_t size;
        const char *to, *words;
    } rows[] = {
        {GOLDENS "llama-tied.gguf", TEXTS("llama", "lamda"),
         "general.architecture 'lamda' is not supported (supported: llama, qwen2"},
        {GOLDENS "llama-tied.gguf", TEXTS("general.architecture", "general.architectur_"),
         "general.architecture is missing"},
        {GOLDENS "llama-tied.gguf", TEXTS("llama.block_count", "llama.block_coun_"),
         "llama.block_count is missing"},
        {GOLDENS "llama-tied.gguf", TEXTS("llama.context_length", "llama.residual_scale"),
         "llama.residual_scale is 128, which is not supported (expected 0)"},
        {GOLDENS "llama-tied.gguf", TEXTS("llama.context_length", "llama.expert_countxx"), NULL},
        {GOLDENS "llama-tied.gguf", TEXTS("general.type", "zeneral.type"), NULL},
        {GOLDENS "mixtral.gguf", TEXTS("llama.expert_count", "llama.expert_coumt"),
         "llama.expert_used_count is 2, which is not supported (expected 0)"},
        {GOLDENS "olmoe-plain.gguf", TEXTS("olmoe.expert_used_count", "olmoe.expert_used_coumt"),
         "olmoe.expert_used_count is missing"},
        {GOLDENS "glm4-moe.gguf",
         TEXTS("expert_gating_func\4\0\0\0\2", "expert_gating_func\4\0\0\0\1"),
         "glm4moe.expert_gating_func is 1, which is not supported here (expected 2)"},
        {GOLDENS "mixtral.gguf",
         TEXTS("llama.expert_used_count\4\0\0\0\2", "llama.expert_used_count\4\0\0\0\7"),
         "num_experts_per_tok is 7 (expected a whole number from 1 to 6)"},
        {GOLDENS "gpt-oss.gguf",
         TEXTS("gpt-oss.expert_feed_forward_length\4\0\0\0\14",
               "gpt-oss.expert_feed_forward_length\4\0\0\0\15"),
         "gpt-oss.expert_feed_forward_length is 13, which is not supported here (expected 12)"},
        {GOLDENS "mixtral.gguf", TEXTS("blk.1.ffn_up_exps.weight", "blk.1.ffn_ux_exps.weight"),
         "blk.1.ffn_ux_exps.weight' has no place"},
        {GOLDENS "granitemoe-names.gguf",
         TEXTS("granitemoe.attention.scale", "granitemoe.attention.scald"),
         "granitemoe.attention.scale is missing"},
        {GOLDENS "gpt2.gguf",
         TEXTS("gpt2.attention.head_count\4\0\0\0\4", "gpt2.attention.head_counu\4\0\0\0\4"),
         "gpt2.attention.head_count is missing"},
        {GOLDENS "bloom-4-heads.gguf",
         TEXTS("bloom.feed_forward_length\4\0\0\0\140", "bloom.feed_forward_length\4\0\0\0\141"),
         "bloom.feed_forward_length is 97, which is not supported here (expected 96)"},
        {GOLDENS "bloom-4-heads.gguf",
         TEXTS("bloom.attention.head_count_kv\4\0\0\0\4",
               "bloom.attention.head_count_kv\4\0\0\0\2"),
         "bloom.attention.head_count_kv is 2, which is not supported here (expected 4)"},
        {GOLDENS "llama-tied.gguf", TEXTS("\5\0\0\0\0\0\0\0model", "\5\0\0\0\0\0\0\0adapt"),
         "general.type is 'adapt' (expected model)"},
        {GOLDENS "llama-tied.gguf", TEXTS("blk.1.ffn_up.weight", "blk.1.ffn_ux.weight"),
         "tensor 'blk.1.ffn_ux.weight' has no place in a model of the architecture llama"},
        {GOLDENS "llama-tied.gguf", TEXTS("blk.1.ffn_up.weight", "blk.9.ffn_up.weight"),
         "mlp.up_proj.weight' is missing"},
        {GOLDENS "llama-tied.gguf", TEXTS("token_embd.weight", "token_embx.weight"),
         "has no matrix token_embd.weight"},
        {GOLDENS "llama-tied.gguf", TEXTS("blk.1.attn_q.weight", "blk.0.attn_q.weight"), "twice"},
        {GOLDENS "quantised/model.gguf", TEXTS("version\4\0\0\0\2\0\0", "version\4\0\0\0\1\0\0"),
         "general.quantization_version is 1 (expected 2)"},
        {GOLDENS "llama-rope-yarn.gguf", TEXTS("\4\0\0\0\0\0\0\0yarn", "\4\0\0\0\0\0\0\0worn"),
         "llama.rope.scaling.type 'worn' is not supported (supported: none, linear, yarn)"},
        {GOLDENS "phi3.gguf",
         TEXTS("phi3.attention.sliding_window\4\0\0\0\0\0\0\0",
               "phi3.attention.sliding_window\6\0\0\0\0\0\40\100"),
         "phi3.attention.sliding_window is 2.5 (expected a whole number from 1"},
        {GOLDENS "rope-freqs/model.gguf", TEXTS("rope_freqs.weight", "rope_freqs.weighs"),
         "rope_freqs.weighs' has no place"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct decoder *d =
            decoder_open(changed(rows[i].golden, rows[i].from, rows[i].size, rows[i].to), &e);
        if (d && rows[i].words)
            fail_msg("%s -> %s: was accepted", rows[i].from, rows[i].to);
        if (!d && !rows[i].words)
            fail_msg("%s -> %s: %s", rows[i].from, rows[i].to, e.text);
        if (rows[i].words)
            assert_int_equal(check_message(rows[i].to, &e, rows[i].words), 0);
        else
            assert_string_equal(d->not_understood, rows[i].to);
        decoder_close(d);
    }
}

/* What a file does not say, and what is taken for it: as the decoder has it, told in a note. */
static void assumptions_are_told(void **state)
{
    (void)state;
#define NO_BASE(name) TEXTS(name ".rope.freq_base", name ".rope.freq_basX")
    static const struct {
        const char *golden, *from;
        size_t size;
        const char *to, *assumed;
        double base;
        long window; /* of the second layer; -1: not looked at */
    } rows[] = {
        {GOLDENS "falcon-queries.gguf", NO_BASE("falcon"), "rotary base 10000", 10000, 0},
        {GOLDENS "phi.gguf", NO_BASE("phi2"), "rotary base 10000", 10000, 0},
        {GOLDENS "gemma.gguf", NO_BASE("gemma"), "rotary base 10000", 10000, 0},
        {GOLDENS "gpt-neox-parallel.gguf", NO_BASE("gptneox"), "rotary base 10000", 10000, 0},
        {GOLDENS "olmo2.gguf", NO_BASE("olmo2"), "rotary base 10000", 10000, 0},
        {GOLDENS "olmoe-plain.gguf", NO_BASE("olmoe"),
         "rotary base 10000, weights of the chosen experts not normalised", 10000, 0},
        {GOLDENS "granitemoe-names.gguf", NO_BASE("granitemoe"), "rotary base 10000", 10000, 0},
        {GOLDENS "cohere.gguf", NO_BASE("command-r"), "rotary base 500000", 500000, 0},
        {GOLDENS "cohere2-plain/model.gguf", NO_BASE("cohere2"),
         "rotary base 10000, windows in all layers but every 4th", 10000, -1},
        {GOLDENS "llama-tied.gguf", NO_BASE("llama"), "rotary base 10000, no windows", 10000, 0},
        {GOLDENS "mixtral.gguf", NO_BASE("llama"), "rotary base 1000000, no windows", 1000000, 0},
        {GOLDENS "qwen2.gguf", NO_BASE("qwen2"), "rotary base 10000, no windows", 10000, 0},
        {GOLDENS "phi3.gguf", NO_BASE("phi3"), "rotary base 10000", 10000, -1},
        {GOLDENS "qwen3-moe.gguf", NO_BASE("qwen3moe"), "rotary base 10000, no windows", 10000, 0},
        {GOLDENS "starcoder2.gguf", NO_BASE("starcoder2"), "rotary base 10000, no windows", 10000,
         0},
        {GOLDENS "gpt-oss.gguf", NO_BASE("gpt-oss"),
         "rotary base 150000, windows in every other layer", 150000, -1},
        {GOLDENS "gemma2-plain/model.gguf", NO_BASE("gemma2"),
         "rotary base 10000, windows in every other layer, scores over the", 10000, 0},
        {GOLDENS "gemma2-plain/model.gguf",
         TEXTS("gemma2.attention.sliding_window", "gemma2.attention.sliding_windoX"),
         "windows of 4096, windows in every other layer", -1, 0},
        {GOLDENS "gemma3-plain/model.gguf", NO_BASE("gemma3"),
         "rotary base 1000000, rotary base 10000 in windows, windows in all layers but every 6th, "
         "scores over the root of",
         1000000, -1},
        {GOLDENS "qwen2.gguf", TEXTS("qwen2.rope.freq_base", "qwen2.rope.freq_base"), "no windows",
         -1, 0},
        {GOLDENS "gpt2.gguf", TEXTS("gpt2.block_count", "gpt2.block_count"), "", -1, 0},
        {GOLDENS "bloom-4-heads.gguf", TEXTS("bloom.block_count", "bloom.block_count"), "", -1, 0},
        {GOLDENS "mpt-bias-max.gguf", TEXTS("mpt.block_count", "mpt.block_count"), "", -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct decoder *d =
            decoder_open(changed(rows[i].golden, rows[i].from, rows[i].size, rows[i].to), &e);
        if (!d)
            fail_msg("%s, %s: %s", rows[i].golden, rows[i].to, e.text);
        const char *assumed = tensors_assumed(d->tensors);
        if (strncmp(assumed, rows[i].assumed, strlen(rows[i].assumed)) != 0 ||
            (!*rows[i].assumed && *assumed))
            fail_msg("%s: assumed '%s' (expected '%s')", rows[i].golden, assumed, rows[i].assumed);
        if (*assumed && (!strstr(d->notes, "assumed, since the file does not say: ") ||
                         !strstr(d->notes, assumed)))
            fail_msg("%s: notes '%s'", rows[i].golden, d->notes);
        if (rows[i].base > 0 && d->rotary[0].base != rows[i].base)
            fail_msg("%s: base %g (expected %g)", rows[i].golden, d->rotary[0].base, rows[i].base);
        if (rows[i].window >= 0 && d->layers > 1)
            assert_int_equal(d->blocks[1].score.window, rows[i].window);
        if (strstr(assumed, "windows of 4096"))
            assert_int_equal(d->blocks[0].score.window, 4096);
        decoder_close(d);
    }
}

/* Gemma 2's norm weights lie in the file with 1 added, and count as they lie there, whatever their
 * last bits. */
static void norms_are_as_stored(void **state)
{
    (void)state;
    struct error e = {""};
    struct gguf g;
    size_t size;
    unsigned char *bytes = scratch_read(GOLDENS "gemma2-plain/model.gguf", &size);
    const float small[2] = {0.1f, 1.75f};
    assert_int_equal(gguf_parse(&g, "gemma2", bytes, size, &e), 0);
    for (size_t i = 0; i < g.tensor_count; i++)
        if (gguf_is(g.tensors[i].name, "output_norm.weight"))
            memcpy(bytes + g.tensors[i].offset, small, sizeof small);
    gguf_free(&g);
    struct decoder *d = decoder_open(scratch_write(scratch_folder, "norm.gguf", bytes, size), &e);
    if (!d)
        fail_msg("%s", e.text);
    const view *norm = &d->final_norm.scale;
    for (size_t i = 0; i < 2; i++)
        assert_true(element_read(norm->data, norm->type, i) + norm->offset == (double)small[i]);
    decoder_close(d);
    free(bytes);
}

/* -- shards -- */

static const char *shard(const char *name, int number)
{
    static char path[2][256];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s-%05d-of-00004.gguf", name, "split", number);
    return path[turn];
}

static void copy(const char *from, const char *to_name)
{
    size_t size;
    unsigned char *bytes = scratch_read(from, &size);
    scratch_write(scratch_folder, to_name, bytes, size);
    free(bytes);
}

static void copy_shards(void)
{
    for (int i = 1; i <= 4; i++)
        copy(shard("tests/goldens/gguf", i), strrchr(shard("", i), '/') + 1);
}

static void shards_are_found_and_checked(void **state)
{
    (void)state;
    struct error e = {""};
    struct checkpoint c;
    copy_shards();
    if (checkpoint_open(&c, shard(scratch_folder, 1), &e))
        fail_msg("%s", e.text);
    checkpoint_close(&c);
    /* not the first */
    assert_int_equal(checkpoint_open(&c, shard(scratch_folder, 2), &e), -1);
    assert_int_equal(check_message("second", &e, "is shard 2 of 4 (expected the first"), 0);
    /* under another name */
    copy(shard("tests/goldens/gguf", 1), "other.gguf");
    assert_int_equal(checkpoint_open(&c, scratch_path(scratch_folder, "other.gguf"), &e), -1);
    assert_int_equal(
        check_message(
            "name", &e,
            "is the first of 4 shards (expected a name that ends in -00001-of-00004.gguf)"),
        0);
    /* one is missing */
    unlink(shard(scratch_folder, 3));
    assert_int_equal(checkpoint_open(&c, shard(scratch_folder, 1), &e), -1);
    assert_int_equal(
        check_message(
            "missing", &e,
            "split-00003-of-00004.gguf: is missing (expected shard 3 of 4 beside the first)"),
        0);
    /* one stands for another, and for the first: in a circle */
    copy(shard("tests/goldens/gguf", 2), "split-00003-of-00004.gguf");
    assert_int_equal(checkpoint_open(&c, shard(scratch_folder, 1), &e), -1);
    assert_int_equal(
        check_message("twice", &e,
                      "split-00003-of-00004.gguf: says that it is shard 2 of 4 (expected 3 of 4)"),
        0);
    unlink(shard(scratch_folder, 3));
    assert_int_equal(symlink(shard(scratch_folder, 1), shard(scratch_folder, 3)), 0);
    assert_int_equal(checkpoint_open(&c, shard(scratch_folder, 1), &e), -1);
    assert_int_equal(check_message("circle", &e, "says that it is shard 1 of 4 (expected 3 of 4)"),
                     0);
    unlink(shard(scratch_folder, 3));
    /* no GGUF at all, and fewer tensors than the first states */
    scratch_write(scratch_folder, "split-00003-of-00004.gguf", "{}", 2);
    assert_int_equal(checkpoint_open(&c, shard(scratch_folder, 1), &e), -1);
    assert_int_equal(check_message("other", &e, "split-00003-of-00004.gguf: ends within its head"),
                     0);
    copy_shards();
    size_t size;
    unsigned char *bytes = scratch_read(shard(scratch_folder, 1), &size),
                  *at = memmem(bytes, size, "split.tensors.count", 19);
    assert_non_null(at);
    at[19 + 4]++;
    scratch_write(scratch_folder, "split-00001-of-00004.gguf", bytes, size);
    assert_int_equal(checkpoint_open(&c, shard(scratch_folder, 1), &e), -1);
    assert_int_equal(check_message("count", &e, "tensors in all, and its shards hold"), 0);
    free(bytes);
}

/* -- tokenizers -- */

static const struct {
    const char *file, *ids;
} tokenizers[] = {{"gpt2", "tests/goldens/tokenizer/gpt2.npy"},
                  {"llama-bpe", "tests/goldens/tokenizer/llama3.npy"},
                  {"qwen2", GOLDENS "tokenizer/qwen2.npy"},
                  {"smollm", "tests/goldens/tokenizer/starcoder.npy"},
                  {"falcon", "tests/goldens/tokenizer/falcon.npy"},
                  {"bloom", "tests/goldens/tokenizer/bloom.npy"},
                  {"default", GOLDENS "tokenizer/default.npy"},
                  {"tekken", GOLDENS "tokenizer/tekken.npy"}};

static void ids_are_those_of_tokenizers(void **state)
{
    (void)state;
    size_t size;
    unsigned char *text = scratch_read("tests/goldens/tokenizer/text.bin", &size);
    for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++) {
        char path[256];
        struct error e = {""};
        struct tokenizer *t;
        struct tokens want;
        struct ids ids = {0};
        snprintf(path, sizeof path, GOLDENS "tokenizer/%s.gguf", tokenizers[i].file);
        if (tokenizer_open(&t, path, &e) || !t ||
            tokens_read_files(&want, &tokenizers[i].ids, 1, &e) ||
            tokenizer_encode(t, &ids, text, size, &e))
            fail_msg("%s: %s", path, e.text);
        for (size_t k = 0; k < ids.count && k < want.total; k++)
            if (ids.id[k] != want.ids[k])
                fail_msg("%s: token %zu is %d (expected %d)", path, k, ids.id[k], want.ids[k]);
        assert_int_equal(ids.count, want.total);
        int is_llama = strcmp(tokenizers[i].file, "llama-bpe") == 0;
        assert_int_equal(tokenizer_bos(t),
                         is_llama || strcmp(tokenizers[i].file, "gpt2") == 0 ? 0 : -1);
        assert_int_equal(tokenizer_adds_bos(t), is_llama); /* tekken says that it does not */
        free(ids.id);
        tokens_free(&want);
        tokenizer_close(t);
    }
    free(text);
}

static void tokenizers_that_are_not_known_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        size_t size;
        const char *to, *words;
    } rows[] = {
        {TEXTS("\5\0\0\0\0\0\0\0gpt-2", "\5\0\0\0\0\0\0\0gpt-9"),
         "tokenizer.ggml.pre 'gpt-9' is not supported (supported: gpt-2 phi-2"},
        {TEXTS("\4\0\0\0\0\0\0\0gpt2", "\4\0\0\0\0\0\0\0bert"),
         "tokenizer.ggml.model 'bert' is not supported (supported: gpt2"},
        {TEXTS("tokenizer.ggml.pre", "tokenizer.ggml.prx"),
         "has no tokenizer.ggml.pre, which says how text is split"},
        {TEXTS("tokenizer.ggml.merges", "tokenizer.ggml.merged"),
         "tokenizer.ggml.merges is missing, or is not a list of strings"},
        {TEXTS("tokenizer.ggml.tokens", "tokenizer.ggml.tokeny"),
         "tokenizer.ggml.tokens is missing"},
        {TEXTS("tokenizer.ggml.bos_token_id\4\0\0\0\0\0",
               "tokenizer.ggml.bos_token_id\4\0\0\0\377\377"),
         "tokenizer.ggml.bos_token_id is 65535 (expected less than 500)"},
        {TEXTS("\2\0\0\0\0\0\0\0th", "\2\0\0\0\0\0\0\0qq"), "is not a token"},
        {TEXTS("\2\0\0\0\0\0\0\0th", "\2\0\0\0\0\0\0\0in"), "is listed twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {""};
        struct tokenizer *t;
        if (tokenizer_open(&t,
                           changed(GOLDENS "tokenizer/gpt2.gguf", rows[i].from, rows[i].size,
                                   rows[i].to),
                           &e) == 0)
            fail_msg("row %zu: was accepted", i);
        assert_null(t);
        assert_int_equal(check_message(rows[i].words, &e, rows[i].words), 0);
    }
    /* no tokenizer in it: one beside it, or none */
    struct error e = {""}, refused;
    struct tokenizer *t;
    char *json, *settings;
    assert_int_equal(tokenizer_open(&t, GOLDENS "qwen2.gguf", &e), 0);
    assert_null(t);
    assert_int_equal(tokenizer_text(&json, &settings, &refused, GOLDENS "qwen2.gguf", &e), 0);
    assert_true(!json && !settings && !*refused.text);
    const char *other = changed(GOLDENS "tokenizer/gpt2.gguf",
                                TEXTS("\5\0\0\0\0\0\0\0gpt-2", "\5\0\0\0\0\0\0\0gpt-9"));
    assert_int_equal(tokenizer_text(&json, &settings, &refused, other, &e), 0);
    assert_true(!json && !settings);
    assert_int_equal(check_message("refused", &refused, "gpt-9"), 0);
    assert_int_equal(tokenizer_text(&json, &settings, &refused,
                                    "tests/goldens/tokenizer/pieces/bpe-bytes.gguf", &e),
                     0);
    assert_true(!json && !settings);
    assert_int_equal(check_message("refused", &refused,
                                   "tokenizer.ggml.model 'llama' is a SentencePiece model, which "
                                   "only the GGUF file holds"),
                     0);
}

/* bpe-bytes.gguf with the types of its tokens 0 and 2, and unknown_token_id, where that is not
 * negative. */
static const char *with_types(unsigned char first, unsigned char third, int unknown)
{
    enum { FIXED = 24 };
    static const char types[] = "tokenizer.ggml.token_type",
                      name[] = "tokenizer.ggml.unknown_token_id";
    size_t size, extra = 0;
    unsigned char *bytes = scratch_read("tests/goldens/tokenizer/pieces/bpe-bytes.gguf", &size),
                  pair[8 + sizeof name - 1 + 8] = {0};
    unsigned char *at = memmem(bytes, size, types, sizeof types - 1), *whole;
    assert_non_null(at);
    at += sizeof types - 1 + 4 + 4 + 8; /* the kind of value, that of its elements, their number */
    assert_true(at[0] == 2 && at[8] == 3);
    at[0] = first;
    at[8] = third;
    if (unknown >= 0) {
        extra = sizeof pair;
        bytes[16]++; /* pairs */
        pair[0] = sizeof name - 1;
        memcpy(pair + 8, name, sizeof name - 1);
        pair[8 + sizeof name - 1] = 4; /* 32 bits */
        pair[8 + sizeof name - 1 + 4] = (unsigned char)unknown;
    }
    whole = malloc(size + extra);
    assert_non_null(whole);
    memcpy(whole, bytes, FIXED);
    memcpy(whole + FIXED, pair, extra);
    memcpy(whole + FIXED + extra, bytes + FIXED, size - FIXED);
    const char *path = scratch_write(scratch_folder, "types.gguf", whole, size + extra);
    free(whole);
    free(bytes);
    return path;
}

/* Padding of the type UNKNOWN, as in llama.cpp's own vocabulary of Phi-3, beside the token that is
 * the unknown one, of whatever type. */
static void padding_may_be_unknown(void **state)
{
    (void)state;
    static const struct {
        unsigned char first, third;
        int unknown;
    } cases[] = {{2, 3, -1}, {2, 2, -1}, {2, 2, 0}, {3, 2, 0}, {3, 3, 0}};
    static const char text[] = "Call me Ishmael. Some years ago \xE4\xB8\xAD\0";
    struct ids want = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokenizer *t;
        struct ids ids = {0};
        if (tokenizer_open(&t, with_types(cases[i].first, cases[i].third, cases[i].unknown), &e) ||
            !t || tokenizer_encode(t, &ids, text, sizeof text - 1, &e))
            fail_msg("case %zu: %s", i, e.text);
        if (!want.count)
            want = ids;
        assert_true(ids.count > 10);
        assert_int_equal(ids.count, want.count);
        assert_memory_equal(ids.id, want.id, ids.count * sizeof *ids.id);
        if (ids.id != want.id)
            free(ids.id);
        tokenizer_close(t);
    }
    free(want.id);
}

/* As files for other programs, which read back the same. */
static void tokenizers_become_files(void **state)
{
    (void)state;
    static const char text[] = "Call me Ishmael.<|begin_of_text|> 12345  \n\n!";
    struct error e = {""}, refused;
    char *json, *settings;
    struct tokenizer *t = NULL, *back;
    struct ids a = {0}, b = {0};
    const char *file = GOLDENS "tokenizer/llama-bpe.gguf";
    if (tokenizer_text(&json, &settings, &refused, file, &e) || !json || !settings ||
        tokenizer_open(&t, file, &e))
        fail_msg("%s%s", e.text, refused.text);
    const struct source config = {"settings", settings, strlen(settings)};
    if (!(back = tokenizer_parse((struct source){"json", json, strlen(json)}, &config, &e)))
        fail_msg("%s", e.text);
    assert_int_equal(tokenizer_encode(t, &a, text, sizeof text - 1, &e), 0);
    assert_int_equal(tokenizer_encode(back, &b, text, sizeof text - 1, &e), 0);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.id, b.id, a.count * sizeof *a.id);
    assert_int_equal(tokenizer_bos(back), tokenizer_bos(t));
    assert_int_equal(tokenizer_adds_bos(back), 1);
    tokenizer_close(t);
    tokenizer_close(back);
    free(json);
    free(settings);
    free(a.id);
    free(b.id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_have_the_bits_of_the_python_package),
                                       cmocka_unit_test(models_are_those_of_transformers),
                                       cmocka_unit_test(tensors_are_those_of_the_case),
                                       cmocka_unit_test(quantised_tensors_are_widened_on_request),
                                       cmocka_unit_test(heads_are_checked),
                                       cmocka_unit_test(cut_files_are_refused),
                                       cmocka_unit_test(metadata_is_used_refused_or_named),
                                       cmocka_unit_test(norms_are_as_stored),
                                       cmocka_unit_test(assumptions_are_told),
                                       cmocka_unit_test(shards_are_found_and_checked),
                                       cmocka_unit_test(ids_are_those_of_tokenizers),
                                       cmocka_unit_test(tokenizers_that_are_not_known_are_refused),
                                       cmocka_unit_test(padding_may_be_unknown),
                                       cmocka_unit_test(tokenizers_become_files)};
    if (getenv("REACH_CUDA")) /* a run for the plug-in's sets */
        cmocka_set_test_filter("models_are_those*");
    return cmocka_run_group_tests_name("gguf", tests, scratch_setup, scratch_teardown);
}
