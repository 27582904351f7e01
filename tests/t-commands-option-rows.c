/* commands/options.c: what a row of options may be, in a verb made for this test: every kind of
 * value, told apart, checked and recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/commands.h"
#include "commands/erf.h"
#include "run/command.h"
#include "run/models.h"
#include "tests/option_calls.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of every type. */
struct things {
    struct text_list operands, list;
    const char *folder, *text, *choice;
    int flag, whole, kind;
    long wide;
    size_t size, bytes;
    uint64_t seed;
    double share;
    int own[4], own_count;
};

static int check_text(const char *text, struct error *e)
{
    return strcmp(text, "bad") ? 0 : (fail)(e, "--text: \"bad\" is not valid (expected another)");
}

static int read_own(void *options, const char *value, int nth, struct error *e)
{
    struct things *t = options;
    long whole;

    if (nth == 0)
        t->own_count = 0;
    if (read_whole("--own", value, 0, 9, &whole, e) != 0 || t->own_count == 4)
        return -1;
    t->own[t->own_count++] = (int)whole;
    return 0;
}

static int write_own(FILE *f, const void *options, int nth)
{
    const struct things *t = options;

    if (nth < t->own_count)
        fprintf(f, "%d", t->own[nth]);
    return nth < t->own_count;
}

static const char *const choices[] = {"one", "two", "three", NULL}, *const kinds[] = {"", "first",
                                                                                      "second",
                                                                                      NULL};

#define OPTIONS struct things
static const struct option_row rows[] = {
    {.name = "o", .value = "DIR", .help = "folder", .type = OPTION_TEXT, .at = AT(folder)},
    {.name = "text",
     .value = "FILE",
     .help = "a text",
     .type = OPTION_TEXT,
     .at = AT(text),
     .check = check_text,
     .flags = OPTION_RESULT},
    {.name = "force",
     .help = "a flag",
     .type = OPTION_FLAG,
     .at = AT(flag),
     .flags = OPTION_RESULT},
    {.name = "list",
     .value = "FILE",
     .help = "a list",
     .type = OPTION_LIST,
     .at = AT(list),
     .flags = OPTION_RESULT},
    {.name = "choice",
     .value = "C",
     .help = "a choice",
     .standard = "two",
     .type = OPTION_CHOICE,
     .at = AT(choice),
     .choices = choices,
     .flags = OPTION_RESULT | OPTION_RECORDED},
    {.name = "kind",
     .value = "K",
     .help = "a kind",
     .type = OPTION_NUMBERED_CHOICE,
     .at = AT(kind),
     .choices = kinds,
     .with = "choice", /* which has a default */
     .flags = OPTION_RESULT},
    {.name = "whole",
     .value = "N",
     .help = "a number",
     .absent = -1,
     WHOLE_AT(whole, 0, 10),
     .flags = OPTION_RESULT},
    {.name = "wide",
     .value = "N",
     .help = "a number",
     .standard = "5",
     WHOLE_AT(wide, -3, 1L << 40),
     .flags = OPTION_RESULT},
    {.name = "size",
     .value = "N",
     .help = "a number (default %s; or so)",
     .standard = "7",
     WHOLE_AT(size, 1, 1L << 31),
     .flags = OPTION_RESULT | OPTION_LATER},
    {.name = "seed",
     .value = "N",
     .help = "a seed",
     .standard = "0",
     .type = OPTION_UNSIGNED,
     .at = AT(seed),
     .flags = OPTION_RESULT},
    {.name = "bytes",
     .value = "SIZE",
     .help = "bytes",
     .type = OPTION_BYTES,
     .at = AT(bytes),
     .with = "share",
     .flags = OPTION_RESULT},
    {.name = "share",
     .value = "Q",
     .help = "a share",
     .type = OPTION_REAL,
     .at = AT(share),
     .high = 1,
     .flags = OPTION_RESULT},
    {.name = "own",
     .value = "X",
     .help = "its own",
     .standard = "3",
     .type = OPTION_OWN,
     .read = read_own,
     .write = write_own,
     .flags = OPTION_RESULT | OPTION_REPEATED},
};

static const struct operand_row operands[] = {{.name = "X",
                                               .expected = "anything",
                                               .at = AT(operands),
                                               .flags = OPERAND_LIST | OPERAND_FORMULA}};

static const struct verb things_verb = {.name = "things",
                                        .synopsis = "X...",
                                        .description = "A test.\n",
                                        .examples = "",
                                        .operands = operands,
                                        .operand_count = 1,
                                        .options = rows,
                                        .option_count = sizeof rows / sizeof *rows,
                                        .options_size = sizeof(OPTIONS)};

/* What is taken, as it is recorded; what is refused, with words of the line. */
static void arguments_are_told_apart(void **state)
{
    static const char *const cases[][3] = {
        {"x --text a", "reach things x --text a --choice two"},
        {"x --text=a=b", "reach things x --text a=b --choice two"},
        {"x --text --force", "reach things x --text --force --choice two"},
        {"x -o d --force", "reach things x --force --choice two"},
        {"--force x --force y", "reach things x y --force --choice two"},
        {"- -t^2 -x", "reach things - -t^2 -x --choice two"},
        {"-- --force -o", "reach things --force -o --choice two"},
        {"x --text it's~a;b", "reach things x --text 'it'\\''s a;b' --choice two"},
        {"x --list a --list=b --list a", "reach things x --list a --list b --list a --choice two"},
        {"x --choice three", "reach things x --choice three"},
        {"x --kind second", "reach things x --choice two --kind second"},
        {"x --whole 0", "reach things x --choice two --whole 0"},
        {"x --wide 5 --size 7 --seed 0 --own 3", "reach things x --choice two"},
        {"x --wide -3 --size 8 --seed 18446744073709551615",
         "reach things x --choice two --wide -3 --size 8 --seed "
         "18446744073709551615"},
        {"x --bytes 3M --share .5", "reach things x --choice two --bytes 3000000 --share 0.5"},
        {"x --own 4", "reach things x --choice two --own 4"},
        {"x --own 3 --own 3", "reach things x --choice two --own 3 --own 3"},
        {"", NULL, "no X is given (expected anything)"},
        {"_", NULL, "is not a valid X"},
        {"x --o d", NULL, "--o: unknown option"},
        {"x --nonsense d", NULL, "--nonsense: unknown option"},
        {"x --tex a", NULL, "--tex: unknown option"},
        {"x --texts a", NULL, "--texts: unknown option (did you mean --text?)"},
        {"x --chioce=one", NULL, "--chioce=one: unknown option (did you mean --choice?)"},
        {"x --=", NULL, "--=: unknown option"},
        {"x --text", NULL, "--text: has no value (expected --text FILE)"},
        {"x -o", NULL, "-o: has no value"},
        {"x --text _", NULL, "--text: is empty (expected FILE)"},
        {"x --text bad", NULL, "--text: \"bad\" is not valid"},
        {"x --list _", NULL, "--list: is empty"},
        {"x --force=1", NULL, "--force: takes no value"},
        {"x --choice four", NULL, "--choice: \"four\" is not valid (expected one, two or three)"},
        {"x --choice _", NULL, "(expected one, two or three)"},
        {"x --kind _", NULL, "--kind: \"\" is not valid (expected first or second)"},
        {"x --whole 11", NULL, "(expected a whole number from 0 to 10)"},
        {"x --wide -4", NULL, "--wide"},
        {"x --size 0", NULL, "--size"},
        {"x --seed -1", NULL, "--seed"},
        {"x --bytes 0", NULL, "--bytes"},
        {"x --share 1", NULL, "(expected a number above 0 and below 1)"},
        {"x --own 10", NULL, "--own"},
        {"x --text a --text a", NULL, "--text: is given twice (expected once)"},
        {"x -o a -o b", NULL, "-o: is given twice"},
        {"x --whole 1 --whole=1", NULL, "--whole: is given twice"},
        {"x --bytes 3M", NULL, "--bytes is given without --share (expected both, or neither)"},
        {"x --list -", "reach things x --list - --choice two"},
        {"x --text ./-", "reach things x --text ./- --choice two"},
        {"x --text -", NULL,
         "--text: \"-\" is not valid (expected FILE; a file of that name is ./-)"},
        {"x -o -", NULL, "-o: \"-\" is not valid (expected DIR"},
    };
    struct things t;
    char copy[400];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        int rc = option_parse(&t, &things_verb, cases[i][0], copy, &e);
        char *command = rc == 0 ? options_command(&t, &things_verb) : NULL;

        if (cases[i][1] ? rc != 0 || strcmp(command, cases[i][1])
                        : rc == 0 || !strstr(e.text, cases[i][2]))
            fail_msg("\"%s\": %d, %s, \"%s\"", cases[i][0], rc, command ? command : "no command",
                     e.text);
        free(command);
        options_free(&t, &things_verb);
    }
    for (int i = 0; i < 2; i++) {
        struct error e = {""};

        assert_int_equal(option_parse(&t, &things_verb, i ? "x --help --nonsense" : "-h", copy, &e),
                         PARSED_HELP);
        options_free(&t, &things_verb);
    }
}

static void settings_hold_every_option_that_counts(void **state)
{
    static const char *const lines[] = {
        "x", "x --force --list a --list b --whole 4 --own 1 --own 2 -o d"};
    static const char *const expected[][12] = {
        {"", "", "", "two", "", "", "5", "", "0", "", "", "3"},
        {"", "yes", "a b", "two", "", "4", "5", "", "0", "", "", "1 2"},
    };
    struct error e = {""};
    struct things t;
    char copy[400];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct settings s = {0};

        assert_int_equal(option_parse(&t, &things_verb, lines[i], copy, &e), 0);
        assert_int_equal(options_settings(&s, &t, &things_verb, &e), 0);
        assert_int_equal(s.count, 12); /* all but -o */
        for (int k = 0; k < 12; k++) {
            assert_string_equal(s.item[k].name, rows[k + 1].name);
            assert_string_equal(s.item[k].value, expected[i][k]);
        }
        settings_free(&s);
        options_free(&t, &things_verb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_told_apart),
        cmocka_unit_test(settings_hold_every_option_that_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
