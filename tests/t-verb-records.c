/* JSON lines as --text: records are documents, which no segment crosses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/tokens/tokens.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The texts of the records of corpus.jsonl: 20, 3, 0, 32 and 9 bytes. */
static const char *const texts[] = {"the field of a model", "a\"\n", "",
                                    "how far back a language looks \xc3\xa4", "at a text"};
enum { TEXTS = sizeof texts / sizeof *texts };

static void write_text(const char *name, const char *text)
{
    scratch_write(base, name, text, strlen(text));
}

static struct text read_records(const char *name, const char *field, int joined)
{
    const char *path = at("%s", name);
    struct error e = {""};
    struct text t;

    if (text_read_records(&t, &path, 1, &(struct records_request){field, joined}, &e) != 0)
        fail_msg("%s", e.text);
    return t;
}

static void records_are_the_texts(void **state)
{
    static const char *const names[] = {"corpus.jsonl", "corpus.jsonl.gz"};

    (void)state;
    for (size_t n = 0; n < 2; n++) {
        struct text t = read_records(names[n], NULL, 0);
        size_t from = 0;

        assert_int_equal(t.records, TEXTS);
        for (size_t i = 0; i < TEXTS; i++) {
            assert_int_equal(t.end[i] - from, strlen(texts[i]));
            assert_memory_equal(t.bytes + from, texts[i], strlen(texts[i]));
            from = t.end[i];
        }
        assert_int_equal(t.size, from);
        text_free(&t);
        t = read_records(names[n], NULL, 1);
        assert_null(t.end);
        assert_int_equal(t.size, from + TEXTS);
        assert_int_equal(strncmp(t.bytes, "the field of a model\na\"\n\n\nhow", 29), 0);
        text_free(&t);
    }
    struct text t = read_records("corpus.jsonl", "title", 0);
    assert_int_equal(t.records, TEXTS);
    assert_int_equal(t.size, TEXTS);
    text_free(&t);
}

/* Lines longer than the pieces that are read, and many short ones. */
static void lines_of_all_lengths(void **state)
{
    static const size_t sizes[] = {1, 65523, 65524, 65525, 200000, 2};
    enum { SIZES = sizeof sizes / sizeof *sizes, SHORT = 30000 };
    FILE *f = fopen(at("long.jsonl"), "w");
    struct text t;

    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < SIZES + SHORT; i++) {
        fputs("{\"text\":\"", f);
        for (size_t k = 0; k < (i < SIZES ? sizes[i] : 1); k++)
            fputc('a' + (int)(i % 26), f);
        fputs(i + 1 < SIZES + SHORT ? "\"}\n" : "\"}", f); /* the last line has no end */
    }
    assert_int_equal(fclose(f), 0);
    t = read_records("long.jsonl", NULL, 0);
    assert_int_equal(t.records, SIZES + SHORT);
    for (size_t i = 0, from = 0; i < t.records; from = t.end[i++])
        if (t.end[i] - from != (i < SIZES ? sizes[i] : 1) ||
            t.bytes[from] != (char)('a' + i % 26) || t.bytes[t.end[i] - 1] != t.bytes[from])
            fail_msg("record %zu of %zu bytes", i, t.end[i] - from);
    text_free(&t);
}

/* Ids of bytes, so a segment is bytes of the text. */
static void segments_lie_within_records(void **state)
{
    struct outcome o;
    struct result r;
    struct csv_table t;

    (void)state;
    succeed("erf bytes --text corpus.jsonl --length 9 --stride 6 --bootstrap 0 -o apart");
    r = read_result("apart");
    /* 20 bytes: at 0 and 6; 32: at 23, 29, 35, 41; 9: at 55 */
    assert_int_equal(r.models[0].segments, 7);
    assert_int_equal(r.models[0].documents.count, 4); /* the empty one is none */
    assert_int_equal(r.models[0].documents.used, 3);
    assert_int_equal(r.models[0].documents.too_short, 1);
    assert_int_equal(r.models[0].bounds.boundary, -1);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(r.models[0].start[i], ((const uint64_t[]){0, 6, 23, 29, 35, 41, 55})[i]);
    result_free(&r);
    o = reach("erf bytes --text corpus.jsonl --length 9 --bootstrap 0 -o again");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "4 documents: 3 used, 1 too short, whose 3 tokens are left out"));
    outcome_free(&o);

    succeed("erf bytes --text corpus.jsonl --records joined --length 9 --stride 9 --bootstrap 0 -o "
            "joined");
    r = read_result("joined");
    assert_int_equal(r.models[0].segments, (20 + 3 + 0 + 32 + 9 + 5) / 9);
    assert_int_equal(r.models[0].documents.count, 0);
    result_free(&r);

    /* a plain file is a document of its own, and a boundary divides further */
    succeed("erf bytes --text corpus.jsonl --text plain --boundary e --length 4 --segments 1000 "
            "--bootstrap 0 -o divided");
    r = read_result("divided");
    for (size_t i = 0; i < r.models[0].segments; i++)
        for (size_t k = 0; k < 4; k++)
            assert_true(r.models[0].tokens[4 * i + k] != 'e');
    result_free(&r);

    /* all of a text but the first of each record, also of those shorter than a window */
    succeed("ppl bytes --text corpus.jsonl --protocol nonoverlapping --context 8 -o loss");
    t = read_table(at("loss/ppl.csv"));
    assert_string_equal(cell(&t, 0, "tokens"), "60"); /* 19 + 2 + 31 + 8 */
    assert_string_equal(cell(&t, 0, "bytes"), "60");
    csv_table_free(&t);
    /* with the blank that a tokenizer puts before each record */
    succeed("ppl llama2 --text corpus.jsonl --bos always --protocol nonoverlapping --context 3 -o "
            "llama");
    t = read_table(at("llama/ppl.csv"));
    assert_string_equal(cell(&t, 0, "bytes"), "64"); /* 20 + 3 + 32 + 9 */
    assert_string_equal(cell(&t, 0, "characters"), "63");
    assert_string_equal(cell(&t, 0, "words"), "16");
    csv_table_free(&t);
}

static void tokenized_records_have_a_boundary(void **state)
{
    const char *path = at("ids.npy");
    struct tokens t;
    struct error e;

    (void)state;
    expect("tokenize bytes corpus.jsonl ids.npy", 1, "would run into one another");
    expect("tokenize bytes plain ids.npy --boundary x", 1, "plain: is one text");
    succeed("tokenize bytes corpus.jsonl ids.npy --boundary 0");
    assert_int_equal(tokens_read_files(&t, &path, 1, &e), 0);
    assert_int_equal(t.total, 20 + 3 + 32 + 9 + TEXTS);
    assert_int_equal(t.ids[20], 0);
    assert_int_equal(t.ids[24], 0);
    assert_int_equal(t.ids[25], 0); /* of the empty record */
    assert_int_equal(t.ids[t.total - 1], 0);
    tokens_free(&t);
    /* the same segments as of the records themselves */
    succeed("erf bytes --tokens ids.npy --boundary 0 --length 9 --stride 6 --bootstrap 0 -o given");
    struct result a = read_result("apart"), b = read_result("given");
    assert_int_equal(a.models[0].segments, b.models[0].segments);
    assert_memory_equal(a.models[0].tokens, b.models[0].tokens, 7 * 9 * sizeof(int32_t));
    result_free(&a);
    result_free(&b);
}

static void errors_name_the_line(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{\"text\": \"a\"}\n\n{\"title\": \"a\"}\n",
         "bad.jsonl: line 3 has no member `text` (expected a text; --field names another)"},
        {"{\"text\": \"a\"}\n{\"text\": 3}\n",
         "bad.jsonl: line 2: `text` is a number (expected a text)"},
        {"{\"text\": null}", "bad.jsonl: line 1: `text` is null (expected a text)"},
        {"{\"text\": \"a\"}\nplain\n", "bad.jsonl: line 2 is not valid JSON"},
        {"[\"text\"]\n", "bad.jsonl: line 1 is not a JSON object"},
        {"{\"text\": \"\xff\"}\n", "bad.jsonl: line 1 is not UTF-8"},
        {"{\"text\": \"a\"", "bad.jsonl: line 1 is not valid JSON"},
        {"\n \n", "bad.jsonl: holds no text"},
        {"{\"text\": \"\"}\n", "bad.jsonl: holds no text"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("bad.jsonl", cases[i].text);
        expect("erf bytes --text bad.jsonl --length 4 -o x", 1, cases[i].said);
    }
    expect("erf bytes --text corpus.jsonl --field body --length 4 -o x", 1,
           "corpus.jsonl: line 1 has no member `body`");
    expect("erf bytes --text plain --field text --length 4 -o x", 1,
           "plain: line 1 is not valid JSON");
    expect("erf bytes --text corpus.jsonl --length 60 -o x", 1,
           "no document is long enough: the longest of 4 has 32 tokens");
    expect("erf bytes --tokens ids.npy --field text -o x", 2, "--field is given without --text");
}

static int make_inputs(void **state)
{
    static const char corpus[] =
        "{\"text\": \"the field of a model\", \"title\": \"1\"}\n"
        "{\"title\": \"2\", \"text\": \"a\\\"\\n\", \"number\": NaN}\r\n"
        "\n"
        "{\"text\": \"\", \"title\": \"3\"}\n"
        "{\"text\": \"how far back a language looks \\u00e4\", \"title\": \"4\"}\n"
        "  {\"title\": \"5\", \"text\": \"at a text\"}";
    size_t size;
    char *tokenizer;
    gzFile packed;

    (void)state;
    if (program_open() != 0 || tiny_checkpoint(at("bytes"), &(struct tiny){.seed = 1}) != 0 ||
        tiny_checkpoint(at("llama2"),
                        &(struct tiny){.seed = 2, .vocabulary = 1000, .settings = "\"bos\": 1,"}) !=
            0 ||
        !(tokenizer = slurp("tests/goldens/tokenizer/llama2.json", &size)))
        return -1;
    scratch_write(at("llama2"), "tokenizer.json", tokenizer, size);
    free(tokenizer);
    write_text("corpus.jsonl", corpus);
    write_text("plain", "some text that is plain, to the end");
    packed = gzopen(at("corpus.jsonl.gz"), "wb");
    return gzwrite(packed, corpus, sizeof corpus - 1) == sizeof corpus - 1 ? gzclose(packed) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_the_texts),
        cmocka_unit_test(lines_of_all_lengths),
        cmocka_unit_test(segments_lie_within_records),
        cmocka_unit_test(tokenized_records_have_a_boundary),
        cmocka_unit_test(errors_name_the_line),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
