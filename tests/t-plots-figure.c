/* plots/figure.c and plots/draw.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "plots/figure.h"
#include "plots/ladder.h"
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

#define AS(list) \
    &(const struct figure_style) \
    { \
        .formats = (list) \
    }

#define AT(folder, stem, comments, style) \
    &(const struct figure_place) \
    { \
        folder, stem, comments, style \
    }

enum { POSITIONS = 127 };

static const double thresholds[] = {0.99, 0.5, 0.9};

static int draw_erf(const struct figure_place *to, const struct figure_curve *curves, size_t count,
                    size_t threshold_count, struct error *e)
{
    return figure_erf(to, &(struct figure_curves){curves, count, thresholds, threshold_count}, e);
}

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
    return (struct figure_curve){.label = label,
                                 .c = c,
                                 .c_lo = c,
                                 .c_hi = c,
                                 .positions = n,
                                 .train_length = 32,
                                 .erf = erf};
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
    static const char *const bad[] = {"",        "gif", "png,",      ",png",    "png,,svg",
                                      "png svg", "PNG", "pngpngpng", "png,svgx"};
    struct error e;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (figure_check_formats(good[i], &e) != 0)
            fail_msg("%s is refused: %s", good[i], e.text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (figure_check_formats(bad[i], &e) == 0)
            fail_msg("\"%s\" is taken", bad[i]);
}

/* The script holds every curve, each with its label, and draws all pictures that were asked for;
 * older ones go. */
static void all_formats_are_drawn(void **state)
{
    char *folder = *state, path[4200], *script;
    double c[2][POSITIONS];
    struct figure_curve curves[] = {make_curve(c[0], POSITIONS, 0.5, "steep"),
                                    make_curve(c[1], POSITIONS, 0.05, "flat")};
    const char *const comments[] = {"made by a test", NULL};
    struct error e = {""};
    int rc;

    if (!have_gnuplot())
        skip();
    rc = draw_erf(AT(folder, "erf", comments, AS("png,svg,pdf")), curves, 2, 3, &e);
    if (rc != 0)
        fail_msg("%d: %s", rc, e.text);
    snprintf(path, sizeof path, "%s/erf.gp", folder);
    script = slurp(path, NULL);
    assert_non_null(script);
    assert_non_null(strstr(script, "# made by a test"));
    assert_non_null(strstr(script, "$curve1 << EOD\n1 1 1 1\n"));
    assert_non_null(strstr(script, "$curve2 << EOD"));
    assert_non_null(strstr(script, "\nlabel1 = 'steep'\n"));
    assert_non_null(strstr(script, "\nlabel2 = 'flat'\n"));
    assert_non_null(strstr(script, "ls 1 title t(label1).\"   ERF \".\"10\""));
    assert_non_null(strstr(script, "ls 2 title t(label2).\"   ERF \".\"89\""));
    assert_true(strstr(script, "label2 = ") <
                strstr(script, "$curve1")); /* what may be edited stands above the data */
    assert_non_null(strstr(script, "L_{tr} = 32"));
    assert_null(strstr(script, folder)); /* it can be moved */
    free(script);
    assert_true(file_size(folder, "erf.png") > 10000);
    assert_true(file_size(folder, "erf.svg") > 1000);
    assert_true(file_size(folder, "erf.pdf") > 1000);

    assert_int_equal(draw_erf(AT(folder, "erf", comments, AS("svg")), curves, 2, 3, &e), 0);
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
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("svg")), &curve, 1, 3, &e), 0);
    snprintf(command, sizeof command,
             "mkdir '%s/moved' && mv '%s/erf.gp' '%s/moved' && cd '%s/moved' && gnuplot erf.gp",
             folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    assert_true(file_size(folder, "moved/erf.png") > 10000);
}

static int draw_ladder(const char *folder, const char *name, struct error *e)
{
    double field[1] = {3};
    unsigned char saturated[1] = {0};
    struct ladder_row row = {name, field, field, field, saturated};

    return figure_ladder(AT(folder, "ladder", NULL, AS("svg")),
                         &(struct ladder){&row, 1, thresholds, 1, 0, 0, name}, e);
}

/* Nothing in a name or a comment is run, or ends the string or line it stands in. */
static void names_are_only_names(void **state)
{
    static const char *const names[] = {
        "it's",
        "it''s",
        "'",
        "''",
        "'''''",
        "'a'",
        "''50%d %s",
        "b''",
        "\xff\xc3(",
        "\xef\xbf\xbe",
        "\xed\xa0\x80",
        "`touch ran`",
        "a\"b",
        "back\\",
        "@x",
        "$curve1",
        "line\nbreak",
        "_a^b {/Symbol a}",
        "#",
        "EOD",
        "%s%n",
        "\xce\xb1\xce\xb2 and a very long name that cannot be shown whole in the key",
        ""};
    char *folder = *state;
    struct error e = {""};

    if (!have_gnuplot())
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double c[POSITIONS];
        struct figure_curve curve = make_curve(c, POSITIONS, 0.1, names[i]);
        const char *const comments[] = {names[i],       "`touch ran`",         "! touch ran",
                                        "ends with \\", "system('touch ran')", NULL};
        int rc = draw_erf(AT(folder, "erf", comments, AS("svg")), &curve, 1, 3, &e);

        if (rc != 0)
            fail_msg("\"%s\": %d, %s", names[i], rc, e.text);
        rc = draw_ladder(folder, names[i], &e);
        if (rc != 0)
            fail_msg("\"%s\" beside a tick: %d, %s", names[i], rc, e.text);
        if (file_size(folder, "ran") >= 0)
            fail_msg("\"%s\": something in the script was run", names[i]);
    }
}

/* Curves that are short, long, many, of several lengths, without intervals, saturated, exactly 0 or
 * 1: all draw. */
static void awkward_curves(void **state)
{
    char *folder = *state;
    double *long_curve = malloc(20000 * sizeof *long_curve), one[] = {1}, three[] = {1, 0.2, 0.1},
           steps[POSITIONS], short_curve[POSITIONS];
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
    curves[0] =
        (struct figure_curve){.label = "one", .c = one, .positions = 1, .erf = 1, .saturated = 1};
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("svg")), curves, 1, 3, &e), 0);
    curves[0] = (struct figure_curve){
        .label = "three", .c = three, .positions = 3, .erf = 3, .saturated = 1, .train_length = 3};
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("svg")), curves, 1, 3, &e), 0);
    curves[1] = (struct figure_curve){
        .label = "steps", .c = steps, .positions = POSITIONS, .erf = 6, .train_length = 1000};
    curves[2] = make_curve(long_curve, 20000, 1e-3, "long");
    for (size_t i = 3; i < 26; i++) {
        curves[i] = make_curve(short_curve, POSITIONS, 0.2, "many");
        curves[i].train_length = (int)i * 4;
    }
    rc = draw_erf(AT(folder, "erf", NULL, AS("svg")), curves, 26, 3, &e);
    free(long_curve);
    if (rc != 0)
        fail_msg("%d: %s", rc, e.text);
    /* what cannot be seen is thinned */
    assert_in_range(file_size(folder, "erf.gp"), 1000, 600000);
}

/* The script of these curves, without a picture; the caller frees. */
static char *script_of(const char *folder, const struct figure_curve *curves, size_t count)
{
    char *usual = strdup(getenv("PATH")), *script;
    struct error e;

    assert_non_null(usual);
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), curves, count, 3, &e),
                     FIGURE_NO_GNUPLOT);
    setenv("PATH", usual, 1);
    free(usual);
    script = slurp(scratch_path(folder, "erf.gp"), NULL);
    assert_non_null(script);
    return script;
}

static int times(const char *text, const char *part)
{
    int found = 0;

    for (const char *p = text; (p = strstr(p, part)); p++)
        found++;
    return found;
}

/* Fields that end at the frame would hide each other: an arrow has their number. One alone has its
 * mark, unless it is only a lower bound. */
static void marks_at_the_frame_are_counted(void **state)
{
    char *folder = *state, *script;
    double c[4][POSITIONS];
    struct figure_curve curves[4];

    for (size_t i = 0; i < 4; i++) {
        curves[i] = make_curve(c[i], POSITIONS, i ? 1e-3 : 0.5, "curve");
        curves[i].train_length = 0;
    }
    curves[1].erf = POSITIONS - 1;
    curves[2].erf = POSITIONS - 2;
    curves[3].erf = POSITIONS, curves[3].saturated = 1;
    script = script_of(folder, curves, 4);
    assert_int_equal(times(script, "set label times(3) at graph"), 2); /* in both panels */
    assert_true(times(script, " left offset 0,-0.75 front boxed") == 1 &&
                times(script, " right offset 0,0.75 front boxed") == 1); /* and inside them */
    assert_int_equal(times(script, " $mark1 using"), 2);
    assert_int_equal(times(script, " $mark2 using") + times(script, " $mark3 using") +
                         times(script, " $mark4 using"),
                     0);
    assert_int_equal(times(script, "keyentry with vectors"), 1);
    free(script);
    script = script_of(folder, curves, 2);
    assert_int_equal(times(script, " $mark2 using"), 2);
    assert_null(strstr(script, "keyentry with vectors"));
    free(script);
    script = script_of(folder, &curves[3], 1);
    assert_int_equal(times(script, "set label times(1) at graph"), 2);
    assert_null(strstr(script, " $mark1 using"));
    free(script);
}

/* Where the first panel begins, in units from the top. */
static double top_of(const char *script)
{
    const char *margin = strstr(script, "set tmargin at screen "),
               *height = strstr(script, "height_mm = ");

    assert_true(margin && height);
    return (1 - strtod(margin + strlen("set tmargin at screen "), NULL)) *
           strtod(height + strlen("height_mm = "), NULL) * 1600 / 260;
}

/* Room above a panel is for labels that are there; two that would overlap take two lines. */
static void room_above_is_for_labels(void **state)
{
    static const int lengths[][2] = {{0, 0}, {32, 32}, {32, 100}, {32, 33}};
    char *folder = *state, *script;
    double c[2][POSITIONS], top[4];

    for (size_t i = 0; i < 4; i++) {
        struct figure_curve curves[] = {make_curve(c[0], POSITIONS, 0.5, "steep"),
                                        make_curve(c[1], POSITIONS, 0.05, "flat")};

        curves[0].train_length = lengths[i][0], curves[1].train_length = lengths[i][1];
        script = script_of(folder, curves, 2);
        assert_int_equal(times(script, "m(\"L_{tr} = 32\")"), i ? 2 : 0); /* once a panel */
        top[i] = top_of(script);
        free(script);
    }
    assert_float_equal(top[1] - top[0], 26, 0.1);
    assert_float_equal(top[2], top[3], 0.1);
    assert_float_equal(top[3] - top[1], 22, 0.1);
}

static void failures_of_gnuplot_are_told(void **state)
{
    char *folder = *state, path[4200],
         *saved = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};
    FILE *f;

    assert_non_null(saved);
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), &curve, 1, 3, &e),
                     FIGURE_NO_GNUPLOT);
    setenv("PATH", saved, 1);
    assert_non_null(strstr(e.text, "gnuplot: not found"));
    assert_true(file_size(folder, "erf.gp") > 1000);
    assert_int_equal(file_size(folder, "erf.png"), -1);

    if (have_gnuplot()) {
        snprintf(path, sizeof path, "%s/wrong.gp", folder);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs("this is not a command\n", f);
        fclose(f);
        assert_int_equal(figure_draw("wrong.gp", folder, "wrong", "png", &e), FIGURE_NOT_DRAWN);
        assert_non_null(strstr(e.text, "wrong.gp"));
        assert_non_null(strstr(e.text, "invalid command"));
        assert_int_equal(file_size(folder, "wrong.png"), -1);
    }
    free(saved);
}

/* gnuplot ends well on a full disk. */
static void cut_off_pictures_are_dropped(void **state)
{
    char *folder = *state, path[4200],
         *saved = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};
    FILE *f;

    assert_non_null(saved);
    snprintf(path, sizeof path, "%s/bin", folder); /* not where it draws: from there none is run */
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/bin/gnuplot", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\neval \"$3\"\necho 'only the first bytes of a picture' > \"$output\"\n", f);
    fclose(f);
    chmod(path, 0700);
    snprintf(path, sizeof path, "%s/bin:%s", folder, saved);
    setenv("PATH", path, 1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), &curve, 1, 3, &e),
                     FIGURE_NOT_DRAWN);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("svg")), &curve, 1, 3, &e),
                     FIGURE_NOT_DRAWN);
    setenv("PATH", saved, 1);
    assert_non_null(strstr(e.text, "unfinished"));
    assert_int_equal(file_size(folder, "erf.png"), -1);
    assert_int_equal(file_size(folder, "erf.svg"), -1);
    assert_int_equal(scratch_count(folder), 2); /* the script and the folder of this gnuplot */
    free(saved);
}

/* A name that either kind of gnuplot's strings would change is drawn as it is. */
static void names_are_shown_as_they_are(void **state)
{
    static const char *const names[][2] = {
        {"''5%d it''s 100% \\n {^a}_b \xff", "''5%d it''s 100% \\n {^a}_b \xef\xbf\xbd"},
        /* what turns or hides other text, and the one text that may not stand in SVG */
        {"\xe2\x80\xae]\xc2\x9b]]>", "\xef\xbf\xbd]\xef\xbf\xbd]]&#x3e;"}};
    char *folder = *state;
    struct error e = {""};

    if (!have_gnuplot())
        skip();
    for (int i = 0; i < 4; i++) {
        const char *const *name = names[i / 2];
        double c[POSITIONS];
        struct figure_curve curve = make_curve(c, POSITIONS, 0.1, name[0]);
        char *picture;

        assert_int_equal(i % 2 ? draw_ladder(folder, name[0], &e)
                               : draw_erf(AT(folder, "erf", NULL, AS("svg")), &curve, 1, 3, &e),
                         0);
        picture = slurp(scratch_path(folder, i % 2 ? "ladder.svg" : "erf.svg"), NULL);
        if (!picture || !strstr(picture, name[1]))
            fail_msg("%s.svg does not show \"%s\"", i % 2 ? "ladder" : "erf", name[1]);
        free(picture);
    }
}

/* What a user has set for gnuplot changes nothing. */
static void settings_of_gnuplot_do_not_count(void **state)
{
    static const char *const settings[][2] = {{"GNUTERM", "nonsense"},
                                              {"GNUTERM", "dumb"},
                                              {"GNUPLOT_LIB", "/nonexistent"},
                                              {"GNUPLOT_PS_DIR", "/nonexistent"},
                                              {"DISPLAY", ":99"},
                                              {"LC_ALL", "de_DE.UTF-8"}};
    char *folder = *state, *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL, *plain, *other;
    static const char startup[] = "set terminal dumb\nsystem('touch ran')\n";
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};
    size_t size, size_now;

    if (!have_gnuplot())
        skip();
    scratch_write(folder, ".gnuplot", startup, strlen(startup));
    setenv("HOME", folder, 1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("svg")), &curve, 1, 3, &e), 0);
    plain = slurp(scratch_path(folder, "erf.svg"), &size);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char *before = getenv(settings[i][0]) ? strdup(getenv(settings[i][0])) : NULL;

        setenv(settings[i][0], settings[i][1], 1);
        if (draw_erf(AT(folder, "erf", NULL, AS("svg")), &curve, 1, 3, &e) != 0)
            fail_msg("%s=%s: %s", settings[i][0], settings[i][1], e.text);
        unsetenv(settings[i][0]);
        if (before)
            setenv(settings[i][0], before, 1);
        free(before);
        other = slurp(scratch_path(folder, "erf.svg"), &size_now);
        if (!plain || !other || size != size_now || memcmp(plain, other, size) != 0)
            fail_msg("%s=%s draws another picture", settings[i][0], settings[i][1]);
        free(other);
    }
    assert_int_equal(file_size(folder, "ran"), -1);
    free(plain);
    if (home)
        setenv("HOME", home, 1);
    free(home);
}

/* Links and pipes under the names that pictures have while they are drawn are not gone through. */
static void nothing_is_drawn_through_a_link(void **state)
{
    char *folder = *state, name[64];
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};

    if (!have_gnuplot())
        skip();
    scratch_write(folder, "precious", "kept", 4);
    snprintf(name, sizeof name, ".erf.png.tmp-%ld", (long)getpid());
    assert_int_equal(symlink("precious", scratch_path(folder, name)), 0);
    assert_int_equal(symlink("precious", scratch_path(folder, ".erf.png.part")), 0);
    snprintf(name, sizeof name, ".erf.svg.tmp-%ld", (long)getpid());
    assert_int_equal(mkfifo(scratch_path(folder, name), 0666), 0);
    assert_int_equal(mkfifo(scratch_path(folder, ".erf.svg.part"), 0666), 0);
    assert_int_equal(symlink("precious", scratch_path(folder, "erf.pdf")), 0);
    alarm(100);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png,svg,pdf")), &curve, 1, 3, &e), 0);
    alarm(0);
    assert_int_equal(file_size(folder, "precious"), 4);
    assert_true(file_size(folder, "erf.pdf") > 1000);
    assert_int_equal(
        scratch_count(folder),
        7); /* these three pictures, the script, the file, and two names that nobody uses */
    unlink(scratch_path(folder, "erf.png"));
    assert_int_equal(mkdir(scratch_path(folder, "erf.png"), 0777), 0);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), &curve, 1, 3, &e), -1);
    assert_non_null(strstr(e.text, "erf.png: cannot be removed"));
}

static void refusals(void **state)
{
    char *folder = *state, missing[4200];
    double c[POSITIONS];
    struct figure_curve curve = make_curve(c, POSITIONS, 0.1, "one");
    struct error e = {""};

    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(draw_erf(AT(missing, "erf", NULL, AS("png")), &curve, 1, 3, &e), -1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), &curve, 0, 3, &e), -1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), &curve, 1, 0, &e), -1);
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("gif")), &curve, 1, 3, &e), -1);
    curve.positions = 0;
    assert_int_equal(draw_erf(AT(folder, "erf", NULL, AS("png")), &curve, 1, 3, &e), -1);
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
        cmocka_unit_test(formats_are_checked),
        WITH_FOLDER(all_formats_are_drawn),
        WITH_FOLDER(script_stands_alone),
        WITH_FOLDER(names_are_only_names),
        WITH_FOLDER(awkward_curves),
        WITH_FOLDER(marks_at_the_frame_are_counted),
        WITH_FOLDER(room_above_is_for_labels),
        WITH_FOLDER(failures_of_gnuplot_are_told),
        WITH_FOLDER(cut_off_pictures_are_dropped),
        WITH_FOLDER(refusals),
        WITH_FOLDER(names_are_shown_as_they_are),
        WITH_FOLDER(settings_of_gnuplot_do_not_count),
        WITH_FOLDER(nothing_is_drawn_through_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
