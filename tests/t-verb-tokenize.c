/* `reach tokenize`, and `reach erf --text` with models that have tokenizers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "io/tokenizer/text.h"
#include "io/tokens/tokens.h"
#include "tests/program.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define GOLDENS "tests/goldens/tokenizer/"
#define RUN "--segments 3 --length 40 --bootstrap 10 --quiet"

static void copy(const char *from, const char *to)
{
    size_t size;
    char *text = slurp(from, &size);
    FILE *f = fopen(to, "wb");

    assert_non_null(text);
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(text);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    struct tiny bytes = {.seed = 1},
                llama = {.seed = 2, .vocabulary = 800, .settings = "\"bos\": 1,"};
    struct tiny gpt2 = {.seed = 3, .vocabulary = 512}, none = gpt2;
    struct buffer sound = {0}; /* of the goldens' text, made sound: its ids are the same */
    struct error e;
    size_t size;
    char *text;
    gzFile packed;

    (void)state;
    if (program_open() != 0 || tiny_checkpoint(at("bytes"), &bytes) != 0 ||
        tiny_checkpoint(at("llama"), &llama) != 0 || tiny_checkpoint(at("gpt2"), &gpt2) != 0 ||
        tiny_checkpoint(at("none"), &none) != 0)
        return -1;
    copy(GOLDENS "llama2.json", at("llama/tokenizer.json"));
    write_text(at("llama/tokenizer_config.json"),
               "{\"bos_token\": \"<s>\", \"add_bos_token\": true}");
    copy(GOLDENS "two-files/vocab.json", at("gpt2/vocab.json"));
    copy(GOLDENS "two-files/merges.txt", at("gpt2/merges.txt"));
    copy(GOLDENS "text.bin", at("broken"));
    text = slurp(GOLDENS "text.bin", &size);
    if (utf8_repair(&sound, (struct span){text, size}, &e) != 0 ||
        !scratch_write(base, "text", sound.text, sound.size))
        return -1;
    packed = gzopen(at("text.gz"), "wb");
    assert_int_equal(gzwrite(packed, sound.text, (unsigned)sound.size), sound.size);
    gzclose(packed);
    buffer_free(&sound);
    free(text);
    return 0;
}

static void assert_same_tokens(const char *a, const char *b)
{
    struct error e = {""};
    struct tokens x, y;

    assert_int_equal(tokens_read_files(&x, &a, 1, &e), 0);
    assert_int_equal(tokens_read_files(&y, &b, 1, &e), 0);
    if (x.total != y.total || memcmp(x.ids, y.ids, x.total * sizeof *x.ids) != 0)
        fail_msg("%s (%zu tokens) and %s (%zu tokens) differ", a, x.total, b, y.total);
    tokens_free(&x);
    tokens_free(&y);
}

static void tokens_of_a_text(void **state)
{
    struct outcome o = reach("tokenize llama text llama.npy");

    (void)state;
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    assert_non_null(strstr(o.out, "tokens           "));
    assert_non_null(strstr(o.out, "bytes of text    14115\n"));
    assert_non_null(strstr(o.out, "bytes per token  "));
    assert_non_null(strstr(o.out, " MB/s)\n"));
    outcome_free(&o);
    assert_same_tokens(at("llama.npy"), GOLDENS "llama2.npy");
    o = reach("tokenize llama text.gz llama.h5 --quiet");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    assert_same_tokens(at("llama.h5"), GOLDENS "llama2.npy");
    o = reach("tokenize gpt2/ text gpt2.npy");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    assert_same_tokens(at("gpt2.npy"), GOLDENS "two-files.npy");
    o = reach(
        "tokenize bytes broken bytes.npy"); /* no tokenizer, 256 ids: bytes, whatever they are */
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "bytes per token  1\n"));
    outcome_free(&o);
}

static void tokens_refused(void **state)
{
    (void)state;
    expect("tokenize", 2, "no MODEL is given (expected MODEL FILE OUT)");
    expect("tokenize llama text", 2, "no OUT is given (expected MODEL FILE OUT)");
    expect("tokenize llama text a.npy b.npy", 2,
           "b.npy: unexpected argument (expected MODEL FILE OUT)");
    expect("tokenize llama text out.txt", 2,
           "out.txt: its name has no known ending (expected .npy, .h5 or .hdf5)");
    expect("tokenize llama text out", 2, "out: its name has no known ending");
    expect("tokenize llama text out.npy --bos", 2, "--bos: unknown option");
    expect("tokenize none text out.npy", 1,
           "none: has a vocabulary of 512 and no tokenizer to read text with (expected "
           "tokenizer.json");
    expect("tokenize absent text out.npy", 1, "absent");
    expect("tokenize llama absent out.npy", 1, "absent: cannot be opened");
    expect("tokenize llama text absent/out.npy", 1, "absent");
    write_text(at("there.npy"), "x");
    expect("tokenize llama text there.npy", 1,
           "there.npy: exists (expected --force to overwrite it, or another name)");
    struct outcome o = reach("tokenize llama text there.npy --force");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    write_text(at("none/tokenizer.json"),
               "{\"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": [\"a b\"]}}");
    expect("tokenize none text out.npy", 1,
           "none/tokenizer.json: merge 1 needs 'a', which is not a token");
    expect("erf none --text text -o out " RUN, 1,
           "none/tokenizer.json: merge 1 needs 'a', which is not a token");
    unlink(at("none/tokenizer.json"));
    expect("erf none --text text -o out " RUN, 1,
           "none: has a vocabulary of 512 and no tokenizer to read text with");
    assert_false(exists(at("out.npy")));
    assert_false(exists(at("out")));
}

/* What is not UTF-8 is told, and if it is more than a little, refused. */
static void broken_text(void **state)
{
    char text[2000];
    struct outcome o;

    (void)state;
    expect("tokenize llama broken out.npy", 1, "broken: is not text: ");
    expect("erf llama --text broken -o out " RUN, 1, "broken: is not text: ");
    memset(text, 'x', sizeof text);
    for (int i = 0; i <= 26; i++) {
        text[40 * i] = (char)0xFF;
        scratch_write(base, "some", text, sizeof text);
        o = reach("tokenize llama some some.npy --force --quiet");
        if (o.status != (i < 26 ? 0 : 1))
            fail_msg("%d bytes: %s", i + 1, o.err);
        if (i == 25)
            assert_string_equal(
                o.err,
                "reach tokenize: some: 26 of 2000 bytes are not UTF-8, and read as U+FFFD\n");
        outcome_free(&o);
    }
    for (int i = 0; i < (int)sizeof text; i++) /* UTF-16 without a mark */
        text[i] = i % 2 ? 0 : 'x';
    scratch_write(base, "wide", text, sizeof text);
    expect("ppl llama --text wide --context 16", 1,
           "wide: is not text: 50 % of its bytes are zero or not UTF-8 (expected 1 % at most, in "
           "UTF-8)");
    o = reach("ppl bytes --text wide --context 16");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
}

static void read_result(struct result *r, const char *folder)
{
    struct error e = {""};

    if (result_read(at("%s/erf.h5", folder), r, &e) != 0)
        fail_msg("%s", e.text);
}

static void assert_same_model(const struct result_model *a, const struct result_model *b)
{
    const struct result_field *x = result_main(a), *y = result_main(b);
    static const char *const names[] = {"bos", "tokens_digest", "digest", "stride", "segments"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(result_attribute(x, names[i]), result_attribute(y, names[i])) != 0)
            fail_msg("%s of %s is %s and %s", names[i], a->name, result_attribute(x, names[i]),
                     result_attribute(y, names[i]));
    assert_int_equal(a->segments, b->segments);
    assert_int_equal(x->positions, y->positions);
    assert_memory_equal(a->start, b->start, a->segments * sizeof *a->start);
    assert_memory_equal(x->norm, y->norm, a->segments * x->positions * sizeof *x->norm);
    assert_memory_equal(x->logprob, y->logprob, a->segments * sizeof *x->logprob);
}

/* Text through a tokenizer is the same as its tokens, with the beginning-of-text token where the
 * tokenizer asks for it. */
static void erf_of_a_text(void **state)
{
    static const struct {
        const char *model, *bos,
            *bos_given; /* what stands in the results; what --tokens needs for it */
    } cases[] = {{"llama", "1", " --bos always"}, {"gpt2", "0", ""}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *model = cases[i].model;
        char line[256];
        struct result text, tokens;
        struct outcome o;

        snprintf(line, sizeof line, "tokenize %s text %s-erf.npy", model, model);
        o = reach(line);
        assert_int_equal(o.status, 0);
        outcome_free(&o);
        snprintf(line, sizeof line, "erf %s --text text -o %s-text " RUN, model, model);
        o = reach(line);
        if (o.status != 0)
            fail_msg("%s", o.err);
        outcome_free(&o);
        snprintf(line, sizeof line, "erf %s --tokens %s-erf.npy%s -o %s-tokens " RUN, model, model,
                 cases[i].bos_given, model);
        o = reach(line);
        if (o.status != 0)
            fail_msg("%s", o.err);
        outcome_free(&o);
        snprintf(line, sizeof line, "%s-text", model);
        read_result(&text, line);
        snprintf(line, sizeof line, "%s-tokens", model);
        read_result(&tokens, line);
        assert_same_model(&text.models[0], &tokens.models[0]);
        assert_string_equal(result_attribute(result_main(&text.models[0]), "bos"), cases[i].bos);
        result_free(&text);
        result_free(&tokens);
    }
}

/* Models with other tokenizers share a run, each with its own segments, also when it goes on after
 * an end. */
static void several_tokenizers(void **state)
{
    struct outcome o = reach("erf llama gpt2 bytes --text text -o all " RUN);
    struct result all, one;

    (void)state;
    if (o.status != 0)
        fail_msg("%s", o.err);
    assert_non_null(strstr(o.out, "not paired: different tokens"));
    outcome_free(&o);
    read_result(&all, "all");
    assert_int_equal(all.model_count, 3);
    read_result(&one, "llama-text");
    assert_same_model(&all.models[0], &one.models[0]);
    result_free(&one);
    read_result(&one, "gpt2-text");
    assert_same_model(&all.models[1], &one.models[0]);
    result_free(&one);
    assert_string_not_equal(result_attribute(result_main(&all.models[1]), "tokens_digest"),
                            result_attribute(result_main(&all.models[2]), "tokens_digest"));
    result_free(&all);
    o = reach("erf gpt2 bytes --text text --bos always -o x " RUN);
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "bytes: has no beginning-of-text token for --bos always"));
    outcome_free(&o);
    /* the same tokens are paired */
    o = reach("erf a=gpt2 b=gpt2 --text text -o twice " RUN);
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.out, "not paired"));
    outcome_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_a_text),   cmocka_unit_test(tokens_refused),
        cmocka_unit_test(broken_text),        cmocka_unit_test(erf_of_a_text),
        cmocka_unit_test(several_tokenizers),
    };

    return cmocka_run_group_tests(tests, setup, program_close);
}
