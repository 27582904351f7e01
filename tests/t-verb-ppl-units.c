/* `reach ppl`: bits per byte, perplexity by character and word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS "tests/goldens/"

static void assert_ratios(const struct csv_table *t, size_t row)
{
    double nats = number(t, row, "nll") * number(t, row, "tokens");

    if (!(fabs(number(t, row, "bits_per_byte") / (nats / log(2) / number(t, row, "bytes")) - 1) <=
          1e-12) ||
        !(fabs(number(t, row, "character_ppl") / exp(nats / number(t, row, "characters")) - 1) <=
          1e-12) ||
        !(fabs(number(t, row, "word_ppl") / exp(nats / number(t, row, "words")) - 1) <= 1e-12))
        fail_msg("row %zu: %s bits/byte, %s and %s", row, cell(t, row, "bits_per_byte"),
                 cell(t, row, "character_ppl"), cell(t, row, "word_ppl"));
}

/* The counts are those of tests/goldens/ppl/units.py. */
static void counts_are_those_of_the_text(void **state)
{
    static const char *const columns[] = {"tokens", "bytes", "characters", "words"};
    struct csv_table golden = read_table(GOLDENS "ppl/units.csv");

    (void)state;
    assert_int_equal(golden.rows, 9);
    for (size_t i = 0; i < golden.rows; i++) {
        const char *name = cell(&golden, i, "tokenizer");
        int is_last = strcmp(cell(&golden, i, "protocol"), "last") == 0,
            begins = *cell(&golden, i, "begins") == '1';
        struct csv_table t;

        succeed("ppl %s --text units.txt --protocol %s --context 8%s --bos %s -o case-%zu", name,
                cell(&golden, i, "protocol"), is_last ? " --stride 7 --segments 5" : "",
                begins ? "always" : "never", i);
        t = read_table(at("case-%zu/ppl.csv", i));
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
            if (strcmp(cell(&t, 0, columns[k]), cell(&golden, i, columns[k])) != 0)
                fail_msg("%s, %s, begins %d: %s %s (expected %s)", name,
                         cell(&golden, i, "protocol"), begins, cell(&t, 0, columns[k]), columns[k],
                         cell(&golden, i, columns[k]));
        assert_ratios(&t, 0);
        csv_table_free(&t);
    }
    csv_table_free(&golden);
}

/* Bytes are a byte each; ids without texts have no units; both contexts have the same targets. */
static void models_without_a_tokenizer(void **state)
{
    struct csv_table t;
    struct outcome o;

    (void)state;
    succeed("ppl bytes --text units.txt --protocol sliding --context 4,16 -o bytes-out");
    t = read_table(at("bytes-out/ppl.csv"));
    assert_int_equal(t.rows, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(cell(&t, i, "bytes"), cell(&t, i, "tokens"));
        assert_ratios(&t, i);
        if (!(fabs(number(&t, i, "bits_per_byte") - number(&t, i, "nll") / log(2)) <= 1e-12))
            fail_msg("%s", cell(&t, i, "bits_per_byte"));
    }
    csv_table_free(&t);

    o = reach("ppl ids --tokens ids.npy --protocol sliding --context 4 -o ids-out");
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.out, "bits/byte"));
    outcome_free(&o);
    t = read_table(at("ids-out/ppl.csv"));
    assert_string_equal(cell(&t, 0, "bytes"), "");
    assert_string_equal(cell(&t, 0, "bits_per_byte"), "");
    assert_string_equal(cell(&t, 0, "word_ppl"), "");
    csv_table_free(&t);
    expect("ppl bytes --text units.txt --protocol sliding --context 4", 0, "bits/byte");
}

static int make_inputs(void **state)
{
    static const char *const tokenizers[] = {"gpt2", "llama2", "llama3"};
    const int32_t ids[] = {1, 300, 2, 299, 3, 4, 5, 6, 7, 8};
    size_t size;
    char *text;

    (void)state;
    if (program_open() != 0 || tiny_checkpoint(at("bytes"), &(struct tiny){.seed = 1}) != 0 ||
        tiny_checkpoint(at("ids"), &(struct tiny){.seed = 2, .vocabulary = 301}) != 0 ||
        tiny_npy(at("ids.npy"), ids, 0, 10) != 0 || !(text = slurp(GOLDENS "ppl/units.txt", &size)))
        return -1;
    scratch_write(base, "units.txt", text, size);
    free(text);
    for (size_t i = 0; i < 3; i++) {
        char name[64];

        if (tiny_checkpoint(at("%s", tokenizers[i]), &(struct tiny){.seed = i + 3,
                                                                    .vocabulary = 1000,
                                                                    .settings = "\"bos\": 1,"}) !=
            0)
            return -1;
        snprintf(name, sizeof name, GOLDENS "tokenizer/%s.json", tokenizers[i]);
        if (!(text = slurp(name, &size)))
            return -1;
        scratch_write(at("%s", tokenizers[i]), "tokenizer.json", text, size);
        free(text);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_those_of_the_text),
                                       cmocka_unit_test(models_without_a_tokenizer)};

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
