/* doc/families.md has what `reach families` lists. `t-commands-families --write` writes it so. */
#include "io/system/file.h"
#include "tests/program.h"
#include "tests/written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void write_list(FILE *f, const void *unused)
{
    struct outcome o = reach("families");

    (void)unused;
    if (o.status != 0)
        exit(1);
    fputs(o.out, f);
    outcome_free(&o);
}

static const struct written part = {"doc/families.md", "<!-- families -->\n```\n",
                                    "```\n<!-- end of families -->\n", write_list, NULL};

static void test_page(void **state)
{
    (void)state;
    written_check(&part, 1);
}

/* The list names types that are read and those that are not, and wants no operands. */
static void test_list(void **state)
{
    struct outcome o = reach("families");

    (void)state;
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "\ngemma3_text "));
    assert_non_null(strstr(o.out, "\ngemma3 "));
    assert_non_null(strstr(o.out, "\nkimi_linear "));
    outcome_free(&o);
    o = reach("families llama");
    assert_int_equal(o.status, 2);
    outcome_free(&o);
}

/* README.md counts the types of transformers and its kin: all rows but our own, those of training
 * programs and those that hold another, which it counts by themselves. */
static void test_count(void **state)
{
    struct error e = {""};
    struct outcome o = reach("families");
    char *text = file_read_whole("README.md", 1 << 20, &(size_t){0}, &e), words[40];
    int rows = 0, others = 0;

    (void)state;
    assert_non_null(text);
    for (const char *at = strchr(o.out, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1)
        if (memmem(at, strcspn(at, "\n"), "as its language model", 21))
            others++;
        else
            rows += strncmp(at, "(our own)", 9) != 0 &&
                    strncmp(at, "gpt_neox_megatron ", 18) != 0 &&
                    strncmp(at, "fairseq_transformer_lm ", 23) != 0 &&
                    strncmp(at, "nanogpt ", 8) != 0 && strncmp(at, "llama_meta ", 11) != 0 &&
                    strncmp(at, "litgpt ", 7) != 0 && strncmp(at, "mamba_ssm", 9) != 0;
    snprintf(words, sizeof words, "| %d model types from", rows);
    if (!strstr(text, words))
        fail_msg("README.md does not say \"%s\"", words + 2);
    snprintf(words, sizeof words, "; %d types that hold one", others);
    if (!strstr(text, words))
        fail_msg("README.md does not say \"%s\"", words + 2);
    outcome_free(&o);
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_list),
                                       cmocka_unit_test(test_count)};

    if (program_open() != 0)
        return 1;
    if (written_wanted(argc, argv))
        return written_write(&part, 1) != 0 || program_close(NULL) != 0;
    return cmocka_run_group_tests(tests, NULL, program_close);
}
