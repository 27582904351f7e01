/* --table of every verb: its tables alone, with the cells that are on the screen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERF \
    "erf m n --text text --length 32 --segments 3 --bootstrap 20 --force -o run --threshold 0.8"

static const char *const calls[] = {
    ERF " --layer all --target-position 16 --attention --check-precision 1 --validate 2",
    "merge part-1 part-2 --force -o whole",
    "explain m --prompt abc",
    "explain m --prompt abc --targets 3",
    "ppl m n --text text --context 8,16 --segments 3 --gain",
    "trf m alibi window(9) --layers 3 --epsilon 0.1 --epsilon 0.01 --explain",
    "bias alibi m --length 8",
    "fit sandwich --heads 2",
    "info m",
    "families",
};

static struct outcome with_table(const char *call, const char *format)
{
    char line[512];
    struct outcome o;

    snprintf(line, sizeof line, "%s --quiet --table %s", call, format);
    o = reach(line);
    if (o.status != 0 || *o.err)
        fail_msg("%s: exit %d: %s", line, o.status, o.err);
    return o;
}

/* The next line of *text, which moves past it, without its end; NULL: none. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');

    if (!*line)
        return NULL;
    if (end)
        *end = 0;
    *text = end ? end + 1 : line + strlen(line);
    return line;
}

static void latex(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct outcome o = with_table(calls[i], "latex");
        char *rest = o.out, *line;
        int within = 0, tables = 0, rules = 0;

        assert_int_equal(strncmp(o.out, "% reach ", 8), 0);
        assert_non_null(strstr(o.out, ": reach "));
        while ((line = next_line(&rest))) {
            if (strncmp(line, "\\begin{tabular}{", 16) == 0)
                tables += !within++;
            else if (strcmp(line, "\\end{tabular}") == 0)
                within--;
            else if (strstr(line, "rule") == line + 4 || strstr(line, "rule") == line + 7)
                rules++;
            else if (within ? !strstr(line, " \\\\") : *line && *line != '%')
                fail_msg("%s: %s", calls[i], line);
        }
        assert_int_equal(within, 0);
        assert_true(tables > 0 && rules == 3 * tables);
        outcome_free(&o);
    }
}

/* However wide: every epsilon and length, in all tables of a command; --wide adds closed forms. */
static void latex_has_what_was_asked_for(void **state)
{
    const char *header = "head & verdict & B & TRF(0.5) & TRF(0.1) & TRF(0.01) & TRF(0.5, L=512) & "
                         "TRF(0.1, L=512) & TRF(0.01, L=512)",
               *call = "trf alibi kerple_log --set p=1.05 --set a=1 --heads 2 --epsilon "
                       "0.5,0.1,0.01 --length 512 --table latex";
    char line[256];
    struct outcome o = reach(call);

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        char *first = strstr(o.out, header), *second = first ? strstr(first + 1, header) : NULL;

        assert_non_null(second);
        assert_int_equal(strncmp(first, second, strcspn(first, "\n")), 0);
        assert_int_equal(!strstr(first, " & closed form(0.5) "), !wide);
        assert_int_equal(!strstr(o.err, "leaves out the closed forms (expected --wide"), wide);
        outcome_free(&o);
        snprintf(line, sizeof line, "%s --wide", call);
        o = reach(line);
    }
    outcome_free(&o);
}

static size_t bars(const char *line)
{
    size_t count = 0;

    for (const char *c = line; *c; c++)
        count += *c == '|' && (c == line || c[-1] != '\\');
    return count;
}

static void markdown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct outcome o = with_table(calls[i], "markdown");
        char *rest = o.out, *line;
        size_t columns = 0, row = 0, tables = 0;

        while ((line = next_line(&rest))) {
            if (*line != '|') {
                row = 0;
                continue;
            }
            if (row++ == 0) {
                columns = bars(line);
                tables++;
            } else if (bars(line) != columns)
                fail_msg("%s: %s", calls[i], line);
            if (row == 2)
                assert_int_equal(strncmp(line, "|---", 4), 0);
        }
        assert_true(tables > 0);
        outcome_free(&o);
    }
}

/* The next cell of a line of CSV, unquoted in place; *line is NULL after the last one. */
static char *next_cell(char **line)
{
    char *cell = *line, *from = cell, *to = cell;
    int quoted = *from == '"';

    for (from += quoted; *from && (quoted || *from != ','); from++) {
        if (quoted && *from == '"' && *++from != '"')
            break; /* behind the quote */
        *to++ = *from;
    }
    *line = *from == ',' ? from + 1 : NULL;
    *to = 0;
    return cell;
}

/* Each cell is on the screen too, but for times. */
static void csv(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct outcome screen = reach(calls[i]), o = with_table(calls[i], "csv");
        char *rest = o.out, *line;
        size_t columns = 0;

        while ((line = next_line(&rest))) {
            size_t count = 0;

            if (*line == '#' || !*line) {
                columns = 0;
                continue;
            }
            for (; line; count++) {
                char *cell = next_cell(&line);

                if (!strstr(screen.out, cell) && !strstr(cell, " ms") && !strstr(cell, " us") &&
                    strncmp(cell, "about ", 6) != 0 && strcmp(cell, "property") != 0 &&
                    strcmp(cell, "value") != 0 && strcmp(cell, "why") != 0)
                    fail_msg("%s: %s is not in: %s", calls[i], cell, screen.out);
            }
            if (columns && count != columns)
                fail_msg("%s: %zu cells below %zu", calls[i], count, columns);
            columns = columns ? columns : count;
        }
        outcome_free(&screen);
        outcome_free(&o);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    expect("trf alibi --table latex --json", 2, "--json and --table are both given");
    expect("trf alibi --table xml", 2, "\"xml\" is not valid (expected latex, markdown or csv)");
    expect("trf alibi --table", 2, "--table: has no value (expected --table FORMAT)");
    expect("version --table csv", 2, "--table: unknown option");
}

static int setup(void **state)
{
    struct tiny shape = {.seed = 1};

    (void)state;
    unsetenv("COLUMNS");
    if (program_open() != 0 || tiny_checkpoint(at("m"), &shape) != 0 ||
        tiny_checkpoint(at("n"), &shape) != 0 || tiny_text(at("text"), 2000, 7) != 0)
        return -1;
    for (int i = 1; i <= 2; i++)
        succeed("erf m --text text --length 32 --segments 4 --shard %d/2 --quiet -o part-%d", i, i);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(latex),
                                       cmocka_unit_test(latex_has_what_was_asked_for),
                                       cmocka_unit_test(markdown), cmocka_unit_test(csv),
                                       cmocka_unit_test(nonsense_is_refused)};

    return cmocka_run_group_tests(tests, setup, program_close);
}
