/* `reach report`: results of every kind in one page, by themselves; names that try to be more than
 * names; what is refused. */
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

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOSTILE "<img~onload>&\"'=m"
#define ESCAPED "&lt;img onload&gt;&amp;&quot;&#39;"

static int has_gnuplot;

static int setup(void **state)
{
    static const char prompts[] =
        "{\"id\": \"<q>\", \"prompt\": \"if </pre><b>\\n\\tx\\u0001\\\\y\", \"target\": \"<\"}\n"
        "{\"prompt\": \"a\", \"answer\": \"bc\"}\n";
    struct tiny one = {.seed = 1}, other = {.seed = 2};
    char text[4000];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + (i * i + i / 7) % 26);
    if (program_open() != 0 || tiny_checkpoint(at("m"), &one) != 0 ||
        tiny_checkpoint(at("n"), &other) != 0)
        return -1;
    scratch_write(base, "text", text, sizeof text);
    has_gnuplot = system("gnuplot --version >/dev/null 2>&1") == 0;
    succeed("erf " HOSTILE " other=n --text text --length 32 --segments 5 --bootstrap 50 "
            "--train-length 16 --layer all "
            "--target-position 8,16 --attention --validate 4 --quiet -o run");
    succeed("ppl " HOSTILE " --text text --segments 20 --context 4,8,16 --gain --quiet -o both");
    succeed("trf alibi sandwich -o both");
    succeed("trf alibi type1 -o theory");
    scratch_write(base, "prompts", prompts, sizeof prompts - 1);
    succeed("explain " HOSTILE " --prompts prompts --quiet -o told");
    return 0;
}

static char *page_of(const char *line)
{
    struct outcome o = reach(line);
    char *page = slurp(at("report.html"), NULL);

    if (o.status != 0 || !page)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    assert_string_equal(o.out, "report.html\n");
    if (has_gnuplot)
        assert_string_equal(o.err, "");
    outcome_free(&o);
    return page;
}

static size_t count_of(const char *page, const char *text)
{
    size_t count = 0;

    for (; (page = strstr(page, text)); page += strlen(text))
        count++;
    return count;
}

/* Every kind, and all that belongs to it. */
static void test_kinds(void **state)
{
    static const char *const said[] = {
        "<!doctype html>", "default-src 'none'", "color-scheme", "@media print",
        "prefers-color-scheme:dark",
        /* erf */
        "run/erf.h5", "half of the summed gradient norm comes from", "ERF(0.99)", "95 % interval",
        "paired by segment", "by layer (gradient", "by target position",
        "target: gradient of log p(target)", "attention ERF(0.01) of other",
        "a head has a share of 0.99 of its attention", "trained on (tokens)", "f32 on cpu",
        ">digest<", "<td>16</td>", "reach erf",
        /* ppl */
        "both/ppl.csv", "the perplexity is", "tokens of context", "exp(nll)", "reach ppl",
        /* gain */
        "both/gain.csv", "of the targets need", "needed_q90",
        /* validation */
        "run/validation.csv", "changes the loss by no more than 0.05 nats",
        /* trf */
        "both/trf.csv", "the field has no end", "tokens, by head", "reach trf alibi sandwich",
        /* weights */
        "both/weights.csv", "Weights by distance, and what the most recent tokens leave out",
        /* itself */
        "reach report run both"};
    static const char *const never[] = {"<script", "<img",    "http://www.w3.org/1999/xhtml",
                                        "src=",    "@import", "url(http",
                                        "<link"};
    char *page = page_of("report run both");

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(page, said[i]))
            fail_msg("the page does not say: %s", said[i]);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        for (const char *found = page; (found = strstr(found, never[i])); found++)
            fail_msg("the page has %.60s", found);
    assert_true(count_of(page, ESCAPED) > 10);
    assert_non_null(strstr(page, "<h1>How far back do " ESCAPED " and other look?</h1>"));
    assert_non_null(strstr(page, "<title>How far back do " ESCAPED " and other look?</title>"));
    assert_true(strstr(page, "95 % interval") < strstr(page, "<section"));
    assert_int_equal(count_of(page, "<section"), 6);
    assert_int_equal(count_of(page, "<section"), count_of(page, "</section>"));
    assert_int_equal(count_of(page, "<table>"), count_of(page, "</table>"));
    assert_int_equal(count_of(page, "<figure>"),
                     has_gnuplot ? 9 : 0); /* four of erf, validation, ppl, gain, fields, trf */
    assert_int_equal(count_of(page, "<svg"), count_of(page, "</svg>"));
    assert_int_equal(count_of(page, "How to repeat"), 6);
    assert_int_equal(has_gnuplot, strstr(page, "href='#f2-") != NULL);
    free(page);
}

/* The numbers are those that the run printed. */
static void test_numbers(void **state)
{
    char *page = page_of("report run --force"), *summary = slurp(at("run/summary.csv"), NULL);
    const char *row = strstr(summary, "other,5,0,32,0.99,");
    char cell[64];

    (void)state;
    assert_non_null(row);
    row += strlen("other,5,0,32,0.99,");
    snprintf(cell, sizeof cell, "<td class=r>%.*s</td>", (int)strcspn(row, ","), row);
    if (!strstr(page, cell))
        fail_msg("the page does not have %s", cell);
    free(page);
    free(summary);
}

/* The change of the loss from context to context has the interval of pairs, from gain.csv; without
 * that file none, and never the spread of the losses themselves. */
static void test_paired_change(void **state)
{
    struct csv_table gain = read_table(at("both/gain.csv"));
    char said[100], *page = page_of("report both --force");

    (void)state;
    snprintf(said, sizeof said, "paired by target, 95 %% interval of the change: %+.3g to %+.3g)",
             -number(&gain, 0, "rest_hi"), -number(&gain, 0, "rest_lo"));
    if (!strstr(page, said))
        fail_msg("the page does not say %s", said);
    assert_null(strstr(page, "(standard error"));
    csv_table_free(&gain);
    free(page);
    page = page_of("report both/ppl.csv --force");
    assert_non_null(strstr(page, " nats per token "));
    assert_null(strstr(page, "interval of the change"));
    assert_null(strstr(page, "(standard error"));
    free(page);
}

/* Of a training run: the field over its steps, and from the first to the last in a sentence. */
static void test_training(void **state)
{
    struct csv_table rows;
    char said[200], *page;
    size_t row = 0;

    (void)state;
    succeed("erf step-100=m step-2k=n --text text --length 32 --segments 5 --bootstrap 50 --quiet "
            "-o training");
    rows = read_table(at("training/summary.csv"));
    while (strcmp(cell(&rows, row, "threshold"), "0.99") != 0)
        row++;
    page = page_of("report training --force");
    snprintf(said, sizeof said,
             "<p class=sentence>From step 100 to step 2000 the ERF(0.99) goes from %s to %s of 31 "
             "tokens, a change of %+.0f",
             cell(&rows, row, "erf"), cell(&rows, row + rows.rows / 2, "erf"),
             number(&rows, row + rows.rows / 2, "erf") - number(&rows, row, "erf"));
    if (!strstr(page, said))
        fail_msg("the page does not say %s", said);
    assert_int_equal(has_gnuplot, strstr(page, "The field over the steps of training") != NULL);
    assert_int_equal(count_of(page, "<figure>"), has_gnuplot ? 2 : 0);
    csv_table_free(&rows);
    free(page);
    page = page_of("report run --force"); /* no steps */
    assert_null(strstr(page, "From step"));
    free(page);
}

/* The texts of explanations, whatever is in them; shades and shares are those of the file. */
static void test_texts(void **state)
{
    static const char *const said[] = {
        "<h1>What predictions depended on: " ESCAPED "</h1>",
        "<h3>&lt;q&gt;: what the prediction of <code>&quot;&lt;&quot;</code> depended on</h3>",
        "<h3>2: what the prediction of <code>&quot;bc&quot;</code> depended on</h3>",
        "<u class=r></u>\n</i>",
        "<u>\\x01</u></i>",
        ">\\</i>",
        "<b>&lt;</b></pre>",
        "<b>bc</b></pre>",
        "shaded by the root of the share",
        "the darkest",
        "How to repeat"};
    char *page = page_of("report told --force"), *table = slurp(at("told/explain.csv"), NULL),
         *text;
    size_t size;
    FILE *f;

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(page, said[i]))
            fail_msg("the page does not say: %s", said[i]);
    assert_null(strstr(page, "</pre><b>\n"));
    assert_int_equal(count_of(page, "<pre class=shaded>"), 4); /* <, bc, b, c */
    assert_int_equal(count_of(page, "<i"), 18 + 1 + 1 + 2);
    assert_true(count_of(page, "<i class=k>") >= 4); /* the largest share of each */
    free(page);

    /* a table of another order, and one without the columns of targets */
    text = strstr(table, ",2,16,");
    assert_non_null(text);
    text[1] = '3';
    scratch_write(base, "wrong.csv", table, strlen(table));
    expect("report wrong.csv -o p.html", 1,
           "row 2 has \"3\" as position (expected a whole number from 2 to 2)");
    f = open_memstream(&text, &size);
    fputs("model,position,distance,id,piece,norm,share\nm,1,0,65,A,1,1\n", f);
    assert_int_equal(fclose(f), 0);
    scratch_write(base, "old.csv", text, size);
    page = page_of("report old.csv --force");
    assert_non_null(strstr(page, "<td>A</td>"));
    free(page);
    free(text);
    free(table);
}

/* With units the page shows them, and what changed without each, as explain's own page does. */
static void test_units(void **state)
{
    static const char begins[] = "Half of the summed", other[] = "model,unit\nm,1\n";
    char *page, *own, *from, *to;

    (void)state;
    succeed("explain m --prompt one~--by~line~four --leave-out word --quiet -o parts");
    page = page_of("report parts --force");
    own = slurp(at("parts/explain.html"), NULL);
    from = strstr(own, begins);
    assert_non_null(from);
    to = strchr(from, '<');
    assert_non_null(to);
    *to = 0;
    assert_non_null(strstr(from, "Of all words left out one at a time, "));
    assert_non_null(strstr(from, "rank correlation (Spearman) of "));
    if (!strstr(page, from))
        fail_msg("the page does not say: %s", from);
    *to = '<';
    for (from = own; (from = strstr(from, "<tr data-i=")); from = to) { /* changes and shares */
        char *row = strstr(from, "</code></td><td>"), *share = row + strlen("</code></td><td>"),
             text[80];

        to = strstr(share, "</td>");
        assert_true(*share == '+' || *share == '-');
        snprintf(text, sizeof text, "<td class=r>%.*s</td>", (int)(to - share), share);
        if (!strstr(page, text))
            fail_msg("the page has no %s", text);
    }
    assert_int_equal(count_of(page, "<i"), 4); /* words */
    assert_non_null(strstr(page, "<th scope=col>word</th><th scope=col class=r>change</th>"));
    free(page);
    free(own);
    succeed("explain m --prompt one~two --by word --quiet -o words");
    page = page_of("report words --force");
    assert_non_null(strstr(page, "of 2 words"));
    assert_null(strstr(page, "left out"));
    free(page);
    page = slurp(at("parts/units.csv"), NULL);
    scratch_write(at("words"), "units.csv", page, strlen(page));
    free(page);
    expect("report words -o p.html", 1, "expected those of the same run");
    scratch_write(at("words"), "units.csv", other, strlen(other));
    expect("report words -o p.html", 1, "units.csv: has no column position");
}

static void test_without_gnuplot(void **state)
{
    struct outcome o = finish(start("report both --force", at("nowhere")));
    char *page = slurp(at("report.html"), NULL);

    (void)state;
    assert_int_equal(o.status, 0);
    assert_int_equal(lines(o.err), 1);
    assert_non_null(strstr(o.err, "gnuplot: not found, so the page has no figures"));
    assert_null(strstr(page, "<svg"));
    assert_non_null(strstr(page, "There are no figures: gnuplot was not found."));
    assert_non_null(strstr(page, "the perplexity is"));
    outcome_free(&o);
    free(page);
}

static void test_refusals(void **state)
{
    char *table = slurp(at("run/attention.csv"), NULL), *name;

    (void)state;
    expect("report run", 1, "exists (expected --force to overwrite it");
    expect("report", 2, "no RESULT is given");
    expect("report run -o run/erf.h5 --force", 2, "ends in .html");
    expect("report nothing -o p.html", 1, "nothing: No such file");
    expect("report m -o p.html", 1, "m: holds no result");
    expect("report run -o no/folder/p.html", 1, "no/folder");
    scratch_write(at("theory"), "erf.part", "x", 1);
    expect("report theory -o p.html", 1, "unfinished run");
    name = strstr(table, "\nother,1,1,"); /* attention of another run, and too little of it */
    assert_non_null(name);
    name[7] = '2';
    scratch_write(at("run"), "attention.csv", table, strlen(table));
    expect("report run -o p.html", 1, "attention.csv: row ");
    *name = 0;
    scratch_write(at("run"), "attention.csv", table, strlen(table));
    expect("report run -o p.html", 1, "attention.csv: row ");
    assert_false(exists(at("p.html")));
    free(table);
}

/* The number of the process that has written it to `started`. */
static pid_t wait_started(void)
{
    for (int i = 0; i < 3000; i++) {
        char *text = slurp(at("started"), NULL);
        int number = text && strchr(text, '\n') ? atoi(text) : 0;

        free(text);
        if (number)
            return number;
        usleep(10000);
    }
    fail_msg("gnuplot was not started");
    return 0;
}

/* Locks, and files that are not whole, in a folder of results. */
static int hidden(const char *folder)
{
    DIR *d = opendir(at("%s", folder));
    int count = 0;

    for (const struct dirent *entry; d && (entry = readdir(d));)
        count += entry->d_name[0] == '.' && strcmp(entry->d_name, ".") != 0 &&
                 strcmp(entry->d_name, "..") != 0;
    if (d)
        closedir(d);
    return count;
}

/* A signal while gnuplot draws: it ends as well, and no folder for figures, no lock and no half
 * file stays. */
static void test_signals_leave_nothing(void **state)
{
    static const char *const lines[] = {"report both -o ended.html", "plot both -o drawn --force"};
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    char script[600], text[120];

    (void)state;
    assert_int_equal(mkdir(at("slow"), 0700), 0);
    snprintf(script, sizeof script, "#!/bin/sh\necho $$ >'%s'\nexec /bin/sleep 100\n",
             at("started"));
    scratch_write(at("slow"), "gnuplot", script, strlen(script));
    assert_int_equal(chmod(at("slow/gnuplot"), 0700), 0);
    assert_int_equal(mkdir(at("temporary-files-in-a-folder-with-a-long-name"), 0700), 0);
    setenv("TMPDIR", at("temporary-files-in-a-folder-with-a-long-name"), 1);
    for (size_t i = 0; i < 6; i++) {
        pid_t child = start(lines[i % 2], at("slow")), drawing = wait_started();
        struct outcome o;

        assert_int_equal(scratch_count(getenv("TMPDIR")), i % 2 == 0);
        kill(child, numbers[i / 2]);
        o = finish(child);
        if (o.status != 1 || scratch_count(getenv("TMPDIR")) || exists(at("ended.html")) ||
            hidden("drawn") || kill(drawing, 0) == 0)
            fail_msg("%s, signal %d: exit %d, %d temporary, gnuplot %d, %s", lines[i % 2],
                     numbers[i / 2], o.status, scratch_count(getenv("TMPDIR")), kill(drawing, 0),
                     o.err);
        outcome_free(&o);
        unlink(at("started"));
    }
    for (int i = 0; i < 40; i++) {
        pid_t child = start("explain m --prompt abcdef -o ended --quiet", NULL);
        struct outcome o;
        int files;

        usleep((useconds_t)(1000 * i));
        kill(child, SIGTERM);
        o = finish(child);
        files = exists(at("ended")) ? scratch_count(at("ended"))
                                    : -1; /* all of the result or nothing, not even its folder */
        if ((files != 2 && (files != -1 || o.status == 0)) ||
            (o.status != 0 && o.status != 1 && o.status != -SIGTERM))
            fail_msg("explain, a signal after %d ms: exit %d, %d files, %s", i, o.status, files,
                     o.err);
        outcome_free(&o);
        snprintf(text, sizeof text, "%s", at("ended"));
        if (exists(text)) {
            unlink(at("ended/explain.csv"));
            unlink(at("ended/explain.html"));
            rmdir(text);
        }
    }
    unsetenv("TMPDIR");
}

/* A parent that ignores SIGCHLD has its children not be waited for: the program's own are. */
static void test_ignored_children(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    pid_t child = start("report run -o children.html --force", NULL);
    signal(SIGCHLD, SIG_DFL);
    struct outcome o = finish(child);
    if (o.status != 0 || *o.err != (has_gnuplot ? 0 : 'r') || !exists(at("children.html")))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_paired_change),
                                       cmocka_unit_test(test_training),
                                       cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_without_gnuplot),
                                       cmocka_unit_test(test_signals_leave_nothing),
                                       cmocka_unit_test(test_ignored_children),
                                       cmocka_unit_test(test_refusals)};

    return cmocka_run_group_tests(tests, setup, program_close);
}
