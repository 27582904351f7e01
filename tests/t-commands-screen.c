/* commands/screen.c: lines broken at words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/screen.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void lines_are_filled(void **state)
{
    static const struct {
        const char *text;
        int width;
        const char *expected;
    } cases[] = {
        {"one two three", 0, "one two three\n"},
        {"one two three", 13, "one two three\n"},
        {"one two three", 12, "one two\nthree\n"},
        {"one two three", 1, "one\ntwo\nthree\n"},
        {"", 20, "\n"},
        {"a /long/path/that/fits/nowhere b", 10, "a\n/long/path/that/fits/nowhere\nb\n"},
        {"  why: it is so, and not otherwise", 14,
         "  why: it is\n    so, and\n    not\n"
         "    otherwise\n"},
        {"the memory is 12.5 GB, at most", 18, "the memory is\n12.5 GB, at most\n"},
        {"the share is 27.4 %.", 17, "the share is\n27.4 %.\n"},
        {"it has 12 heads", 9, "it has 12\nheads\n"},
        {"for all t >= 32 and", 12, "for all t\n>= 32 and\n"},
        {"token \"a b c\" here", 9, "token\n\"a b c\"\nhere\n"},
        {"see `reach erf --help` now", 10, "see\n`reach erf --help`\nnow\n"},
        {"a lone \" is no quote", 8, "a lone \"\nis no\nquote\n"},
        {"\u03b1\u03b2\u03b3 \u03b4\u03b5", 6, "\u03b1\u03b2\u03b3 \u03b4\u03b5\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        screen_fill(f, cases[i].text, cases[i].width);
        fclose(f);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s in %d columns:\n%sexpected:\n%s", cases[i].text, cases[i].width, text,
                     cases[i].expected);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_filled)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
