/* plots/figure.c and plots/draw.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/figure.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POSITIONS = 127 };

static const double thresholds[] = {0.99, 0.5, 0.9};

/* A curve whose shares fall by `rate` a token; erf is its ERF(0.99). */
static struct figure_curve make_curve(double *c, size_t n, double rate, const char *label)
{
    double sum = 0;
    size_t erf = n;

    for (size_t m = n; m-- > 0;)
        c[m] = sum += exp(-rate * (double)(n - 1 - m));
    for (size_t m = 0; m < n; m++)
        c[m] /= sum;
    for (size_t m = 0; m < n && c[m] > 0.99; m++)
        erf = n - m;
    return (struct figure_curve){.label = label, .c = c, .c_lo = c, .c_hi = c, .positions = n, .train_length = 32, .erf = erf};
}

static int file_size(const char *folder, const char *name)
{
    char path[4200];
    struct stat found;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &found) == 0 ? (int)found.st_size : -1;
}

static int have_gnuplot(void)
{
    return system("command -v gnuplot >/dev/null 2>&1") == 0;
}

static void formats_are_checked(void **state)
{
    static const char *const good[] = {"png", "svg", "pdf", "png,svg", "pdf,png,svg"};
    static const char *const bad[] = {"", "gif", "png,", ",png", "png,,svg", "png svg", "PNG", "pngpngpng", "png,svgx"};
    struct error e;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (figure_check_formats(good[i], &e) != 0)
            fail_msg("%s is refused: %s", good[i], e.text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (figure_check_formats(bad[i], &e) == 0)
            fail_msg("\"%s\" is taken", bad[i]);
}

/* The script holds every curve, each with its label, and draws all pictures that were asked for; older ones go. */
static void all_formats_are_drawn(void **state)
{
    char *folder = *state, path[4200], *script;
    double c[2][POSITIONS];
    struct figure_curve curves[] = {make_curve(c[0], POSITIONS, 0.5, "steep"), make_curve(c[1], POSITIONS, 0.05, "flat")};
    const char *const comments[] = {"made by a test", NULL};
    struct error e = {""};
    int rc;

    if (!have_gnuplot())
        skip();
    rc = figure_erf(folder, "erf", curves, 2, thresholds, 3, comments, "png,svg,pdf", &e);
    if (rc != 0)
        fail_msg("%d: %s", rc, e.text);
    snprintf(path, sizeof path, "%s/erf.gp", folder);
    script = slurp(path, NULL);
    assert_non_null(script);
    assert_non_null(strstr(script, "# made by a test"));
    assert_non_null(strstr(script, "$curve1 << EOD\n1 1 1 1\n"));
    assert_non_null(strstr(script, "$curve2 << EOD"));
    assert_non_null(strstr(script, "title 'steep   ERF 10'"));
    assert_non_null(strstr(script, "title 'flat   ERF 89'"));
    assert_non_null(strstr(script, "L_{tr} = 32"));
    assert_null(strstr(script, folder)); /* it can be moved */
    free(script);
    assert_true(file_size(folder, "erf.png") > 10000);
    assert_true(file_size(folder, "erf.svg") > 1000);
    assert_true(file_size(folder, "erf.pdf") > 1000);

    assert_int_equal(figure_erf(folder, "erf", curves, 2, thresholds, 3, comments, "svg", &e), 0);
    assert_int_equal(file_size(folder, "erf.png"), -1);
    assert_true(file_size(folder, "erf.svg") > 1000);
}

/* The script alone, in another folder, draws erf.png. */
static void script_stands_alone(void **state)
{
    char *folder = *state, command[9000];
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e;

    if (!have_gnuplot())
        skip();
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 3, NULL, "svg", &e), 0);
    snprintf(command, sizeof command, "mkdir '%s/moved' && mv '%s/erf.gp' '%s/moved' && cd '%s/moved' && gnuplot erf.gp", folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    assert_true(file_size(folder, "moved/erf.png") > 10000);
}

/* Nothing in a name or a comment is run, or ends the string or line it stands in. */
static void names_are_only_names(void **state)
{
    static const char *const names[] = {"it's", "`touch ran`", "a\"b", "back\\", "@x", "$curve1", "line\nbreak", "_a^b {/Symbol a}", "#", "EOD", "%s%n",
                                        "\xce\xb1\xce\xb2 and a very long name that cannot be shown whole in the key", ""};
    char *folder = *state;
    struct error e = {""};

    if (!have_gnuplot())
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double c[POSITIONS];
        struct figure_curve curve = make_curve(c, POSITIONS, 0.1, names[i]);
        const char *const comments[] = {names[i], "`touch ran`", "! touch ran", "ends with \\", "system('touch ran')", NULL};
        int rc = figure_erf(folder, "erf", &curve, 1, thresholds, 3, comments, "svg", &e);

        if (rc != 0)
            fail_msg("\"%s\": %d, %s", names[i], rc, e.text);
        if (file_size(folder, "ran") >= 0)
            fail_msg("\"%s\": something in the script was run", names[i]);
    }
}

/* Curves that are short, long, many, of several lengths, without intervals, saturated, exactly 0 or 1: all draw. */
static void awkward_curves(void **state)
{
    char *folder = *state;
    double *long_curve = malloc(20000 * sizeof *long_curve), one[] = {1}, three[] = {1, 0.2, 0.1}, steps[POSITIONS], short_curve[POSITIONS];
    struct figure_curve curves[26];
    struct error e = {""};
    int rc;

    assert_non_null(long_curve);
    if (!have_gnuplot()) {
        free(long_curve);
        skip();
    }
    for (size_t m = 0; m < POSITIONS; m++)
        steps[m] = m < POSITIONS - 5 ? 1 : 0;
    curves[0] = (struct figure_curve){.label = "one", .c = one, .positions = 1, .erf = 1, .saturated = 1};
    assert_int_equal(figure_erf(folder, "erf", curves, 1, thresholds, 3, NULL, "svg", &e), 0);
    curves[0] = (struct figure_curve){.label = "three", .c = three, .positions = 3, .erf = 3, .saturated = 1, .train_length = 3};
    assert_int_equal(figure_erf(folder, "erf", curves, 1, thresholds, 3, NULL, "svg", &e), 0);
    curves[1] = (struct figure_curve){.label = "steps", .c = steps, .positions = POSITIONS, .erf = 6, .train_length = 1000};
    curves[2] = make_curve(long_curve, 20000, 1e-3, "long");
    for (size_t i = 3; i < 26; i++) {
        curves[i] = make_curve(short_curve, POSITIONS, 0.2, "many");
        curves[i].train_length = (int)i * 4;
    }
    rc = figure_erf(folder, "erf", curves, 26, thresholds, 3, NULL, "svg", &e);
    free(long_curve);
    if (rc != 0)
        fail_msg("%d: %s", rc, e.text);
    /* what cannot be seen is thinned */
    assert_in_range(file_size(folder, "erf.gp"), 1000, 600000);
}

static void failures_of_gnuplot_are_told(void **state)
{
    char *folder = *state, path[4200], *saved = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};
    FILE *f;

    assert_non_null(saved);
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 3, NULL, "png", &e), 1);
    setenv("PATH", saved, 1);
    assert_non_null(strstr(e.text, "gnuplot: not found"));
    assert_true(file_size(folder, "erf.gp") > 1000);
    assert_int_equal(file_size(folder, "erf.png"), -1);

    if (have_gnuplot()) {
        snprintf(path, sizeof path, "%s/wrong.gp", folder);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs("this is no command\n", f);
        fclose(f);
        assert_int_equal(figure_draw("wrong.gp", folder, "wrong", "png", &e), 1);
        assert_non_null(strstr(e.text, "wrong.gp"));
        assert_non_null(strstr(e.text, "invalid command"));
        assert_int_equal(file_size(folder, "wrong.png"), -1);
    }
    free(saved);
}

/* gnuplot ends well on a full disk. */
static void cut_off_pictures_are_dropped(void **state)
{
    char *folder = *state, path[4200], *saved = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};
    FILE *f;

    assert_non_null(saved);
    snprintf(path, sizeof path, "%s/gnuplot", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\nfor end in png svg; do echo 'only the first bytes of a picture' > .erf.$end.part; done\n", f);
    fclose(f);
    chmod(path, 0700);
    snprintf(path, sizeof path, "%s:%s", folder, saved);
    setenv("PATH", path, 1);
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 3, NULL, "png", &e), 1);
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 3, NULL, "svg", &e), 1);
    setenv("PATH", saved, 1);
    assert_non_null(strstr(e.text, "unfinished"));
    assert_int_equal(file_size(folder, "erf.png"), -1);
    assert_int_equal(file_size(folder, "erf.svg"), -1);
    assert_int_equal(file_size(folder, ".erf.svg.part"), -1);
    free(saved);
}

static void refusals(void **state)
{
    char *folder = *state, missing[4200];
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};

    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(figure_erf(missing, "erf", &curve, 1, thresholds, 3, NULL, "png", &e), -1);
    assert_int_equal(figure_erf(folder, "erf", &curve, 0, thresholds, 3, NULL, "png", &e), -1);
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 0, NULL, "png", &e), -1);
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 3, NULL, "gif", &e), -1);
    curve.positions = 0;
    assert_int_equal(figure_erf(folder, "erf", &curve, 1, thresholds, 3, NULL, "png", &e), -1);
    assert_int_equal(file_size(folder, "erf.gp"), -1);
}

static int setup(void **state)
{
    *state = scratch_make();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    scratch_remove(*state);
    return 0;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_checked), WITH_FOLDER(all_formats_are_drawn), WITH_FOLDER(script_stands_alone), WITH_FOLDER(names_are_only_names),
        WITH_FOLDER(awkward_curves), WITH_FOLDER(failures_of_gnuplot_are_told),
        WITH_FOLDER(cut_off_pictures_are_dropped), WITH_FOLDER(refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
