/* What all verbs do alike for people at a terminal: tables as wide as it is, pipes that close,
 * slips of the hand, options given twice, lines said once. */
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
#include <sys/wait.h>
#include <unistd.h>

#define ERF "erf m --text text --length 32 --segments 3 --bootstrap 20 --quiet --force -o run"

static int setup(void **state)
{
    struct tiny shape = {.seed = 1};

    (void)state;
    unsetenv("COLUMNS");
    return program_open() != 0 || tiny_checkpoint(at("m"), &shape) != 0 ||
                   tiny_checkpoint(at("n"), &shape) != 0 || tiny_text(at("text"), 2000, 7) != 0
               ? -1
               : 0;
}

/* What `reach LINE` prints on a terminal of so many columns. The caller frees. */
static char *on_terminal(const char *line, int columns)
{
    int master, terminal, status;
    char *text, command[512];
    size_t used = 0;
    ssize_t n;
    pid_t child;

    open_terminal(columns, &master, &terminal);
    text = calloc(1, 1 << 16);
    assert_non_null(text);
    snprintf(command, sizeof command, "cd '%s' && exec \"$REACH\" %s", base, line);
    if ((child = fork()) == 0) {
        dup2(terminal, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    close(terminal);
    while (used < (1 << 16) - 1 && (n = read(master, text + used, (1 << 16) - 1 - used)) > 0)
        used += (size_t)n;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(master);
    if (status != 0)
        fail_msg("reach %s: exit %d: %s", line, WEXITSTATUS(status), text);
    return text;
}

static size_t first_line(const char *text)
{
    return strcspn(text, "\r\n");
}

static void tables_fit(void **state)
{
    struct outcome whole = reach(ERF);
    char *wide = on_terminal(ERF " --wide", 60), *narrow = on_terminal(ERF, 60),
         *roomy = on_terminal(ERF, 200);
    size_t needs = first_line(whole.out);

    (void)state;
    assert_int_equal(whole.status, 0);
    assert_true(needs > 100); /* a file has all of it */
    assert_int_equal(first_line(wide), needs);
    assert_int_equal(first_line(roomy), needs);
    assert_in_range(first_line(narrow), 30, 60);
    assert_non_null(strstr(narrow, "(in 60 columns without position encoding, "));
    assert_null(strstr(wide, "--wide has all"));
    assert_null(strstr(roomy, "--wide has all"));
    assert_null(strstr(whole.out, "--wide has all"));
    outcome_free(&whole);
    free(wide);
    free(narrow);
    free(roomy);
}

static void readers_may_stop(void **state)
{
    static const char *const lines[] = {"families", "erf --help", "trf alibi sandwich", "info m"};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char command[512], *said;
        size_t size;

        snprintf(command, sizeof command,
                 "cd '%s' && { \"$REACH\" %s 2> said; echo $? > status; } | true", base, lines[i]);
        assert_int_equal(system(command), 0);
        said = slurp(at("said"), &size);
        assert_string_equal(said, "");
        free(said);
        said = slurp(at("status"), &size);
        assert_string_equal(said, "0\n");
        free(said);
    }
    assert_int_equal(system("\"$REACH\" families > /dev/full 2> /dev/null") >> 8, 1);
}

static void slips_are_guessed(void **state)
{
    (void)state;
    expect("erff m", 2, "did you mean reach erf?");
    expect("erf m --lenght 5", 2, "did you mean --length?");
    expect("trf alibbi", 2, "did you mean alibi");
    expect("erf m --text t --bias alibbi", 2, "did you mean alibi");
    expect("trf kerple_lgo", 2, "did you mean kerple_log");
    expect("erf m --text text --bias alibbi(delta=2)", 2, "did you mean: alibi");
    expect("erf m --text text --bias alibi(delt=2)", 2, "it takes: delta=0");
    expect("trf alibi sandwich --set delt=1", 2, "NAME one of delta");
    expect("trf t --set x=1", 2, "no formula has a parameter");
    expect("ppl m --text text --protocol slidng", 2,
           "expected last, nonoverlapping, sliding or cached");
}

static void once_is_enough(void **state)
{
    (void)state;
    expect("erf m --text text --length 512 --length 1024", 2, "--length: is given twice");
    expect("erf m --text text -o a -o b", 2, "-o: is given twice");
    expect("erf m --text text --resume --force", 2, "--resume and --force are both given");
}

/* The memory of models that take the same. */
static void plans_are_told_once(void **state)
{
    static const char *const lines[] = {
        "erf m n --text text --length 32 --segments 3 --bootstrap 20 --force -o run",
        "ppl m n --text text --context 8 --segments 3"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct outcome o = reach(lines[i]);
        const char *said;

        assert_int_equal(o.status, 0);
        said = strstr(o.err, "work space");
        assert_non_null(said);
        assert_null(strstr(said + 1, "work space"));
        outcome_free(&o);
    }
}

static size_t times(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Sentences about each model for up to three; what is noted of all models is noted once. */
static void many_models_are_brief(void **state)
{
    static const char run[] = " --text text --length 32 --segments 3 --bootstrap 20 --force -o run "
                              "--train-length 8 --attribution smoothgrad --quiet";
    char line[256];
    struct outcome o;

    (void)state;
    for (int count = 3; count <= 4; count++) {
        snprintf(line, sizeof line, "erf a=m b=m c=m%s%s", count == 4 ? " d=m" : "", run);
        o = reach(line);
        assert_int_equal(o.status, 0);
        assert_int_equal(times(o.out, "summed attribution norm comes"), count == 3 ? 3 : 0);
        assert_int_equal(times(o.out, "What was found of each of these 4 models"), count == 4);
        assert_int_equal(times(o.out, "noise of standard deviation"), 1);
        assert_int_equal(times(o.out,
                               count == 3 ? "\nall 3 models: noise" : "\nall 4 models: noise"),
                         1);
        outcome_free(&o);
    }
    o = reach("erf a=m b=n"
              " --text text --length 32 --segments 3 --shard 1/2 --force -o one "
              "--bootstrap 20 --quiet");
    assert_int_equal(times(o.out, "\nall 2 models: shard 1 of 2: "), 1);
    outcome_free(&o);
    o = reach("trf a=alibi b=alibi c=alibi d=alibi --layers 2 --train-length 64");
    assert_int_equal(times(o.out, "of the weight that"), 0);
    assert_int_equal(times(o.out, "(--json has the share of each"), 1);
    outcome_free(&o);
}

/* With --quiet no verb says anything on standard error, and the result is the same. */
static void quiet_is_silent(void **state)
{
    static const char *const lines[] = {
        "erf m n --text text --length 32 --segments 3 --bootstrap 20 --force -o run",
        "erf m --text text --length 32 --segments 2 --force -o part-1 --shard 1/2",
        "erf m --text text --length 32 --segments 2 --force -o part-2 --shard 2/2",
        "merge part-1 part-2 --force -o whole",
        "explain m --prompt abc",
        "trf alibi m",
        "bias alibi m --length 8",
        "fit sandwich",
        "plot run --force -o plots",
        "report run --force -o run.html",
        "tokenize m text t.npy --force",
        "convert m copy --force",
        "families",
        "version",
        "completion bash",
        "ppl m n --text text --context 8 --segments 3", /* these print times */
        "info m",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char quiet[512];
        struct outcome loud, soft;

        snprintf(quiet, sizeof quiet, "%s --quiet", lines[i]);
        loud = finish(start(lines[i], "/nonexistent")); /* without gnuplot */
        soft = finish(start(quiet, "/nonexistent"));
        if (loud.status != 0 || soft.status != 0 || *soft.err || !*soft.out)
            fail_msg("%s: exit %d: %s%s", quiet, soft.status, soft.out, soft.err);
        if (i + 2 < sizeof lines / sizeof *lines && strncmp(lines[i], "tokenize", 8) != 0)
            assert_string_equal(soft.out, loud.out);
        outcome_free(&loud);
        outcome_free(&soft);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_fit),
                                       cmocka_unit_test(readers_may_stop),
                                       cmocka_unit_test(slips_are_guessed),
                                       cmocka_unit_test(once_is_enough),
                                       cmocka_unit_test(plans_are_told_once),
                                       cmocka_unit_test(many_models_are_brief),
                                       cmocka_unit_test(quiet_is_silent)};

    return cmocka_run_group_tests(tests, setup, program_close);
}
