/* How `reach explain` shows what it found: on screens of several widths, with colours and without,
 * and in a page; texts that try to be more than text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/screen.h"
#include "io/glyph.h"
#include "tests/program.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char code[PATH_MAX]; /* examples/models/alibi */

/* Tokens that would end elements, scripts and rows, colour screens, or turn text around; and bytes
 * that are no text. */
static const char hostile[] = "{\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"vocab\": "
                              "{\"<unk>\": 0, \"a\": 1, \"\\u2581\": 2, \"</script>\": "
                              "3, "
                              "\"<img src=x onerror=alert(1)>\": 4, \"\\u001b[31m\": 5, "
                              "\"\\u202e\": 6, \"<!--\": 7, \"]]>\": 8, \"\\\"'&\": 9, \"\\n\": "
                              "10, \"\\t\": "
                              "11, \"<0xE2>\": 12, \"<0x00>\": 13, \"=1+1,\": 14, \"\\u4e2d\": 15, "
                              "\"\\u0301\": 16, \"\\u2028\": 17, \"\\\\\": 18, "
                              "\"&lt;\": 19, \"<0x88>\": 20, \"<0x9A>\": 21}, "
                              "\"merges\": [], \"unk_token\": \"<unk>\"}, \"added_tokens\": "
                              "[{\"id\": 3, \"content\": \"</script>\"}, {\"id\": 4, "
                              "\"content\": \"<img "
                              "src=x onerror=alert(1)>\"}, {\"id\": 5, \"content\": "
                              "\"\\u001b[31m\"}, {\"id\": 7, \"content\": \"<!--\"}, {\"id\": 8, "
                              "\"content\": "
                              "\"]]>\"}, {\"id\": 9, \"content\": \"\\\"'&\"}, {\"id\": 14, "
                              "\"content\": \"=1+1,\"}, {\"id\": 19, \"content\": \"&lt;\"}]}";
static const char hostile_text[] =
    "</script><img src=x onerror=alert(1)>\x1b[31m\xE2\x80\xAE<!--]]>\"'&\n\t\xE2\x88\x9A=1+1,"
    "\xE4\xB8\xAD\xCC\x81\xE2\x80\xA8\\&lt;a</script>a";

static const char prompts[] = "{\"prompt\": \"a<img src=x onerror=alert(1)>\", \"id\": "
                              "\"</script>\\u202e \\u4e2d\\u4e2d a long name of a prompt\"}\n"
                              "{\"text\": \"a</script>a\"}\n";

static int setup(void **state)
{
    struct tiny tiny = {.seed = 1, .vocabulary = 24}, bytes = {.seed = 2};

    (void)state;
    unsetenv("COLORTERM");
    unsetenv("NO_COLOR");
    unsetenv("COLORFGBG");
    unsetenv("COLUMNS");
    if (program_open() != 0 || !realpath("examples/models/alibi", code) ||
        tiny_checkpoint(at("hostile"), &tiny) != 0 || tiny_checkpoint(at("bytes"), &bytes) != 0)
        return -1;
    scratch_write(at("hostile"), "tokenizer.json", hostile, sizeof hostile - 1);
    scratch_write(base, "text", hostile_text, sizeof hostile_text - 1);
    scratch_write(base, "prompts", prompts, sizeof prompts - 1);
    return 0;
}

static struct outcome run(const char *line)
{
    struct outcome o = reach(line);

    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    return o;
}

/* ---- screens ---- */

/* Columns of a line; sequences that colour take none. */
static int columns_of(const char *line, size_t size)
{
    struct glyph g;
    int columns = 0;

    for (size_t i = 0; i < size;)
        if (line[i] == '\033') {
            while (i < size && line[i] != 'm')
                i++;
            i++;
        } else {
            i += glyph_next(&g, line + i, size - i);
            columns += g.width;
        }
    return columns;
}

static void check_columns(const char *text, int most)
{
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, "\n");

        if (columns_of(at, size) > most)
            fail_msg("%d columns: %.*s", most, (int)size, at);
        at += size + 1;
    }
}

static void test_widths(void **state)
{
    static const char *const widths[] = {"40", "80", "160"}, *const by[] = {"token", "word",
                                                                            "line"};
    char line[PATH_MAX + 128];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int colors = 0; colors < 2; colors++) {
            struct outcome o;

            setenv("COLUMNS", widths[i], 1);
            snprintf(line, sizeof line,
                     "explain %s --text text --quiet --color %s --by %s --target-position 9,%d",
                     i == 1 ? "hostile" : code, colors ? "always" : "never",
                     colors ? "sentence" : by[i], 7 + (int)i);
            o = run(line);
            check_columns(o.out, atoi(widths[i]));
            outcome_free(&o);
            o = run("explain hostile --prompts prompts --quiet");
            check_columns(o.out, atoi(widths[i]));
            outcome_free(&o);
        }
    unsetenv("COLUMNS");
}

static void test_colors(void **state)
{
    struct outcome o = run("explain bytes --prompt abcdefgh --quiet");

    (void)state;
    assert_null(strchr(o.out, '\033')); /* a file: digits stand below the text */
    assert_non_null(strstr(o.out, "\n     1  abcdefgh"));
    assert_non_null(strchr(strstr(o.out, "\n     1  abcdefgh"), '9'));
    outcome_free(&o);
    o = run("explain bytes --prompt abcdefgh --quiet --color always");
    assert_non_null(strstr(o.out, ";48;5;220m"));
    assert_null(strstr(o.out, ";48;2;"));
    outcome_free(&o);
    setenv("COLORFGBG", "0;15", 1);
    o = run("explain bytes --prompt abcdefgh --quiet --color always");
    assert_non_null(strstr(o.out, ";48;5;124m"));
    outcome_free(&o);
    unsetenv("COLORFGBG");
    setenv("COLORTERM", "truecolor", 1);
    setenv("NO_COLOR", "1", 1);
    o = run(
        "explain bytes --prompt abcdefgh --quiet --color always"); /* what is asked for counts */
    assert_non_null(strstr(o.out, "\033[38;2;0;0;0;48;2;255;214;84m"));
    outcome_free(&o);
    unsetenv("COLORTERM");
    unsetenv("NO_COLOR");
    expect("explain bytes --prompt abc --color sometimes", 2, "sometimes");
}

/* What screen.c finds on a terminal of 57 columns, in a process whose standard output that is. */
static int on_terminal(enum color_choice choice, int *width)
{
    int master, terminal, status;
    pid_t child;

    open_terminal(57, &master, &terminal);
    fflush(stdout);
    if ((child = fork()) == 0) {
        dup2(terminal, STDOUT_FILENO);
        _exit(screen_colors(choice) * 64 + screen_width());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    close(terminal);
    close(master);
    *width = WEXITSTATUS(status) % 64;
    return WEXITSTATUS(status) / 64;
}

static void test_terminal(void **state)
{
    int width;

    (void)state;
    setenv("TERM", "xterm", 1);
    assert_int_equal(on_terminal(COLOR_AUTO, &width), SCREEN_256);
    assert_int_equal(width, 57);
    assert_int_equal(on_terminal(COLOR_NEVER, &width), SCREEN_PLAIN);
    setenv("COLORTERM", "24bit", 1);
    assert_int_equal(on_terminal(COLOR_AUTO, &width), SCREEN_TRUE);
    setenv("NO_COLOR", "", 1); /* counts where it is not empty */
    assert_int_equal(on_terminal(COLOR_AUTO, &width), SCREEN_TRUE);
    setenv("NO_COLOR", "1", 1);
    assert_int_equal(on_terminal(COLOR_AUTO, &width), SCREEN_PLAIN);
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_int_equal(on_terminal(COLOR_AUTO, &width), SCREEN_PLAIN);
    unsetenv("COLORTERM");
    setenv("TERM", "xterm", 1);
}

static void test_parts(void **state)
{
    struct outcome o = run("explain bytes --prompt abcdefgh --quiet --show 3 --top 0");

    (void)state;
    assert_non_null(strstr(o.out, "(5 tokens before, with"));
    assert_non_null(strstr(o.out, "\n     6  fgh"));
    assert_null(strstr(o.out, "cumulative"));
    assert_null(strstr(o.out, "around it"));
    outcome_free(&o);
    o = run("explain bytes --prompt abcdefgh --quiet --show 0 --top 2");
    assert_null(strstr(o.out, "\n     1  abc"));
    assert_non_null(strstr(o.out, "around it"));
    outcome_free(&o);
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static struct outcome run_code(const char *options)
{
    char line[PATH_MAX + 200];

    snprintf(line, sizeof line, "explain %s %s --quiet", code, options);
    return run(line);
}

/* With --against the shares are of a difference, which is said, with its value; the token is not
 * also one of the others. */
static void test_contrast(void **state)
{
    struct outcome o = run_code("--prompt def~add(self,~child):~self.add( --against self");
    const char *against = strstr(o.out, "\nagainst "), *others = strstr(o.out, "\nothers ");

    (void)state;
    assert_true(against && others && against < others);
    if (!strstr(o.out, "\ndifference ") ||
        !strstr(o.out, "Shares are of the gradient of the difference, log p(target)"))
        fail_msg("%s", o.out);
    outcome_free(&o);
    o = run("explain bytes --prompt abc --against d --json --quiet"); /* ids are bytes */
    others = strstr(o.out, "\"others\": [");
    assert_non_null(others);
    assert_int_equal(count(o.out, "\"id\": 100,"), 1);
    outcome_free(&o);
}

/* On 80 columns a unit is cut only where there is no room; what is before a target is there even
 * if the last word alone is longer; prompts have what their targets are compared with. */
static void test_width(void **state)
{
    static const char of_two[] =
        "{\"prompt\": \"def add(self, child):\", \"target\": \"self\"}\n"
        "{\"prompt\": \"def add(self, child): # forget it\\n  self.children.remove(\", "
        "\"against\": \"self\"}\n";
    struct outcome o;

    (void)state;
    setenv("COLUMNS", "80", 1);
    o = run_code("--prompt def~add(self,~child):~self.children.append( --by word");
    if (strstr(o.out, "around it") || !strstr(o.out, "\" self.children.append(\"  "))
        fail_msg("%s", o.out);
    outcome_free(&o);
    o = run_code("--prompt def~add(self,~child):~self.children.append( --answer self.child "
                 "--leave-out word");
    if (!strstr(o.out, ".children.append(    \"self.child\" "))
        fail_msg("%s", o.out);
    outcome_free(&o);
    scratch_write(base, "two", of_two, sizeof of_two - 1);
    o = run_code("--prompts two");
    if (strncmp(o.out, "prompt  position  before it ", 28) != 0 ||
        !strstr(o.out, " target  against ") || !strstr(o.out, "ildren.remove(  "))
        fail_msg("%s", o.out);
    outcome_free(&o);
    unsetenv("COLUMNS");
}

/* ---- hostile texts ---- */

static void test_hostile(void **state)
{
    struct outcome o = run("explain hostile --text text -o out --top 40 --quiet --dtype f64");
    char *page, *table;

    (void)state;
    for (const char *at = o.out; *at; at++)
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
    assert_null(strstr(o.out, "\u202e"));
    assert_non_null(strstr(o.out, "\\x1B[31m"));
    outcome_free(&o);

    page = slurp(at("out/explain.html"), NULL);
    assert_int_equal(count(page, "<script"),
                     2); /* the data and the script; what the text says is text */
    assert_int_equal(count(page, "</script"), 2);
    assert_int_equal(count(page, "<img"), 0);
    assert_int_equal(count(page, "<!--"), 0);
    assert_null(strstr(page, "\u202e"));
    assert_null(strchr(page, '\033'));
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_non_null(strstr(page, "&lt;img src=x onerror=alert(1)&gt;</i>"));
    assert_non_null(strstr(page, "<u>\\x1B</u>[31m</i>"));
    assert_non_null(strstr(page, "<u>\\u202E</u></i>"));
    assert_non_null(strstr(page, "<u>\\xE2</u></i>"));
    assert_non_null(strstr(page, "&quot;&#39;&amp;</i>"));
    assert_non_null(strstr(page, "&amp;lt;</i>"));
    free(page);

    table = slurp(at("out/explain.csv"), NULL);
    assert_non_null(strstr(table, ",\"\"\"'&\","));
    assert_non_null(strstr(table, ",\\n,"));
    assert_non_null(strstr(table, ",\\t,"));
    assert_non_null(strstr(table, ",\\\\,"));
    assert_non_null(strstr(table, ",\\u2028,"));
    assert_non_null(strstr(table, ",\\x1B[31m,"));
    assert_non_null(strstr(table, ",\\xE2,"));
    assert_non_null(strstr(table, ",\"=1+1,\","));
    free(table);
}

/* Of several, and in JSON lines. */
static void test_hostile_prompts(void **state)
{
    struct outcome o = run(
        "explain hostile --prompts prompts --targets 2 --by word -o many --quiet");
    char *page = slurp(at("many/explain.html"), NULL),
         *lines = slurp(at("many/explain.jsonl"), NULL);

    (void)state;
    assert_null(strstr(o.out, "\u202e"));
    outcome_free(&o);
    assert_int_equal(count(page, "<script"), 4); /* of each its data, and the script */
    assert_int_equal(count(page, "</script"), 4);
    assert_int_equal(count(page, "<template"), 3);
    assert_int_equal(count(page, "<img"), 0);
    assert_null(strstr(page, "\u202e"));
    assert_non_null(strstr(page, "&lt;/script&gt;"));
    assert_int_equal(count(lines, "\n"), 3);
    free(page);
    free(lines);
}

/* Names and commands in a page are text as well. */
static void test_hostile_names(void **state)
{
    struct outcome o = run("explain <b>&=bytes --prompt </code><b>x -o names --quiet");
    char *page = slurp(at("names/explain.html"), NULL);

    (void)state;
    outcome_free(&o);
    assert_int_equal(count(page, "<b>"), 1); /* the target */
    assert_non_null(strstr(page, "<title>&lt;b&gt;&amp;: what"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),       cmocka_unit_test(test_colors),
        cmocka_unit_test(test_terminal),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_contrast),     cmocka_unit_test(test_width),
        cmocka_unit_test(test_hostile),      cmocka_unit_test(test_hostile_prompts),
        cmocka_unit_test(test_hostile_names)};

    return cmocka_run_group_tests(tests, setup, program_close);
}
