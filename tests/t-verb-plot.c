/* `reach plot` as a user meets it: what it draws of which results, and that every option is applied
 * or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/plot_inputs.h"
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
#include <zlib.h>

static void a_folder_is_drawn_whole(void **state)
{
    static const char *const drawn[] = {"erf",        "layers", "targets", "attention",
                                        "validation", "heads",  "ppl",     "fields",
                                        "bias",       "matrix", "fit"};

    (void)state;
    expect("plot all -o whole --format svg", 0, "whole/heads.svg");
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        if (!exists(at("whole/%s.gp", drawn[i])) || !exists(at("whole/%s.svg", drawn[i])))
            fail_msg("%s is not drawn", drawn[i]);
    assert_false(exists(at("whole/steps.gp")));
    assert_false(exists(at("whole/ladder.gp")));
    expect("plot all -o whole --figure heads", 1, "heads.gp: exists");
    script_only("plot all -o some --figure fit,erf");
    assert_true(exists(at("some/erf.gp")) && exists(at("some/fit.gp")));
    assert_false(exists(at("some/heads.gp")));
    expect("plot all -o nowhere --figure erf,steps", 1, "no figure \"steps\"");
    expect("plot empty -o nowhere", 1, "nothing to draw");
    succeed("explain window --prompt abc --quiet -o explained");
    expect("plot explained -o nowhere", 1, "explained: has explanations, which are not drawn");
    expect("plot explained/explain.csv -o nowhere", 1, "(expected `reach report` with it");
    assert_false(exists(at("nowhere")));
}

/* The figures of a result are those that `reach erf` made of it, data and marks. */
static void figures_are_those_of_the_run(void **state)
{
    static const char *const names[] = {"layers", "targets", "attention", "validation"};

    (void)state;
    script_only("plot all -o again --figure layers,targets,attention,validation");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *own = script_of(at("all/%s.gp", names[i]) + strlen(base) + 1), *again = NULL, *from,
             *to, *same;

        again = slurp(at("again/%s.gp", names[i]), NULL);
        assert_non_null(again);
        from = strstr(own, "# ---- data");
        to = strstr(own, "# ---- drawing");
        same = strstr(again, "# ---- data");
        assert_true(from && to && same);
        if (strncmp(from, same, (size_t)(to - from)) != 0)
            fail_msg("%s.gp has other data than the run's", names[i]);
        free(own);
        free(again);
    }
}

static void options_are_applied(void **state)
{
    (void)state;
    script_only("plot all --figure erf -o o1 --only window --label window=A~name --no-title "
                "--panels tail --width 85mm --font "
                "Liberation~Serif --font-size 9 --legend top-left --threshold 0.9");
    assert_has("o1/erf.gp", "label1 = 'A name'");
    assert_has("o1/erf.gp", "width_mm = 85\n");
    assert_has("o1/erf.gp", "dpi = 300 ");
    assert_has("o1/erf.gp", "font = 'Liberation Serif'\nfont_size = 9 ");
    assert_has("o1/erf.gp", "set key top left inside");
    assert_has("o1/erf.gp", "keyentry"); /* the panel that is left has the key */
    assert_lacks("o1/erf.gp", "label2");
    assert_lacks("o1/erf.gp", "heading1");
    assert_lacks("o1/erf.gp", "position \"");
    assert_has("o1/erf.gp", "# command: reach plot all --figure erf --threshold 0.9 --only window");
    script_only("plot all --figure erf -o o2 --title One~title --xlog --legend none --colours "
                "sequential --height 120mm");
    assert_has("o2/erf.gp", "title1 = 'One title'");
    assert_has("o2/erf.gp", "heading1 = ");
    assert_has("o2/erf.gp", "height_mm = 120\n");
    assert_has("o2/erf.gp", "set logscale x\n");
    assert_has("o2/erf.gp", "dt solid lc rgb \"#0D0887\"");
    assert_has("o2/erf.gp", "dt (14,5) lc rgb \"#E56B5D\"");
    assert_lacks("o2/erf.gp", "\nset key");
    script_only("plot all/curve.csv --train-length 16 -o o3 --width 1200px");
    assert_has("o3/erf.gp", "L_{tr} = 16");
    assert_has("o3/erf.gp", "width_mm = 317.5\n");
    assert_has("o3/erf.gp", "dpi = 96 ");
    script_only("plot all --figure attention,layers -o o4 --threshold 0.5");
    assert_has("o4/attention.gp", "more than 1 \xe2\x88\x92 0.5 of a head");
    assert_has("o4/layers.gp", "ERF(0.5)");
}

static double number_at(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (double)(((uint32_t)u[0] << 24) + ((uint32_t)u[1] << 16) + ((uint32_t)u[2] << 8) + u[3]);
}

/* The first "/MediaBox [" of a PDF, in it or in one of its deflated streams, where newer cairo has
 * it; `text` [size] is room. */
static const char *media_box(char *text, size_t size, char *pdf, size_t bytes)
{
    char *found = memmem(pdf, bytes, "/MediaBox [", 11), *at = pdf;

    if (found)
        return found;
    while ((at = memmem(at, (size_t)(pdf + bytes - at), "stream\n", 7))) {
        uLongf length = size - 1;
        z_stream z = {.next_in = (Bytef *)at + 7,
                      .avail_in = (uInt)(pdf + bytes - at - 7),
                      .next_out = (Bytef *)text,
                      .avail_out = (uInt)length};

        at += 7;
        assert_int_equal(inflateInit(&z), Z_OK);
        (void)inflate(&z, Z_FINISH);
        length = z.total_out;
        inflateEnd(&z);
        text[length] = 0;
        if ((found = memmem(text, length, "/MediaBox [", 11)))
            return found;
    }
    return NULL;
}

/* Width and height of a picture in mm. */
static void size_of_picture(double size[2], const char *folder, const char *stem,
                            const char *format)
{
    size_t bytes;
    char *picture = slurp(at("%s/%s.%s", folder, stem, format), &bytes), *found = NULL;

    assert_non_null(picture);
    if (strcmp(format, "png") == 0) {
        assert_memory_equal(picture + 33 + 4, "pHYs", 4);
        assert_int_equal(picture[33 + 16], 1); /* dots to the metre */
        assert_true(number_at(picture + 33 + 17) ==
                    (double)crc32(0, (unsigned char *)picture + 33 + 4, 13));
        for (int i = 0; i < 2; i++)
            size[i] = number_at(picture + 16 + 4 * i) / number_at(picture + 33 + 8 + 4 * i) * 1000;
    } else if (strcmp(format, "svg") == 0) {
        found = strstr(picture, "<svg");
        assert_non_null(found);
        assert_int_equal(sscanf(found, "<svg width=\"%lf\" height=\"%lf\"", &size[0], &size[1]), 2);
        size[0] *= 25.4 / 96, size[1] *= 25.4 / 96;
    } else if (strcmp(format, "pdf") == 0) {
        static char text[1 << 16];
        const char *box = media_box(text, sizeof text, picture, bytes);
        assert_non_null(box);
        assert_int_equal(sscanf(box, "/MediaBox [ 0 0 %lf %lf", &size[0], &size[1]), 2);
        size[0] *= 25.4 / 72, size[1] *= 25.4 / 72;
    } else {
        found = strstr(picture, "rectangle (");
        assert_non_null(found);
        assert_int_equal(sscanf(found, "rectangle (%lf,%lf)", &size[0], &size[1]), 2);
        size[0] *= 10, size[1] *= 10;
    }
    free(picture);
}

/* Pictures are as large as was asked for, in whole millimetres or not. */
static void sizes_are_those_asked_for(void **state)
{
    static const double widths[] = {80, 85, 89, 89.5};
    static const char *const formats[] = {"png", "svg", "pdf", "tikz"};
    double size[2];

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        succeed_drawn("plot all --figure erf -o sized-%zu --panels tail --no-title --width %gmm "
                      "--height 97mm --format png,svg,pdf,tikz",
                      w, widths[w]);
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            char folder[32];

            snprintf(folder, sizeof folder, "sized-%zu", w);
            size_of_picture(size, folder, "erf", formats[f]);
            if (!(fabs(size[0] - widths[w]) <= 0.3 && fabs(size[1] - 97) <= 0.3))
                fail_msg("%s: %.2f x %.2f mm (expected %g x 97)", formats[f], size[0], size[1],
                         widths[w]);
        }
    }
}

/* Every kind of figure is as wide as was asked for and as high as its script says, to 0.5 mm in
 * every format. */
static void every_kind_has_its_size(void **state)
{
    static const struct {
        const char *results, *stems;
    } drawn[] = {
        {"all", "erf layers targets attention heads validation ppl fields bias matrix fit"},
        {"step-3 step-20 --figure steps", "steps"},
        {"all/summary.csv", "ladder"},
        {"epsilons --figure epsilon", "epsilon"},
        {"gain --figure gain", "gain"},
    };
    static const char *const formats[] = {"svg", "pdf", "png"};
    char stem[16], *script;
    double size[2], high;
    int length;

    (void)state;
    script_only("ppl none window --text text --context 8,16 --segments 9 --gain --quiet -o gain");
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        succeed_drawn("plot %s -o kinds --width 84.7mm --format svg,pdf,png --force",
                      drawn[i].results);
        for (const char *p = drawn[i].stems; sscanf(p, " %15s%n", stem, &length) == 1;
             p += length) {
            script = slurp(at("kinds/%s.gp", stem), NULL);
            assert_non_null(script);
            assert_int_equal(sscanf(strstr(script, "\nheight_mm = "), "\nheight_mm = %lf", &high),
                             1);
            free(script);
            for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
                size_of_picture(size, "kinds", stem, formats[f]);
                if (!(fabs(size[0] - 84.7) <= 0.5 && fabs(size[1] - high) <= 0.5))
                    fail_msg("%s.%s: %.2f x %.2f mm (expected 84.7 x %g)", stem, formats[f],
                             size[0], size[1], high);
            }
        }
    }
}

static void options_are_refused(void **state)
{
    static const struct {
        const char *line;
        int status;
        const char *said;
    } cases[] = {
        {"--figure layers --xlog", 1, "--xlog: is not for layers.gp"},
        {"--figure bias --xlog", 1, "--panels log"},
        {"--figure heads --legend none", 1, "--legend: heads.gp has none"},
        {"--figure matrix --colours sequential", 1, "--colours: matrix.gp"},
        {"--figure erf,targets --panels tail", 1, "--panels: targets.gp has no panels"},
        {"--figure erf --panels map", 1, "has no panel \"map\" (expected head, tail"},
        {"--figure erf --panels head,", 1, "has no panel \"\""},
        {"--figure ppl --threshold 0.5", 1, "--threshold: ppl.gp"},
        {"--figure bias --train-length 9", 1, "--train-length: bias.gp"},
        {"--figure ppl --panels ratio", 1, "--per-token"},
        {"--figure attention --threshold 0.123", 1, "no rows of epsilon 0.877"},
        {"--figure matrix --format tikz", 1, "--format tikz: matrix.gp"},
        {"--figure erf --only window,nobody", 1,
         "nothing called \"nobody\" (expected one of window, none)"},
        {"--figure erf --only none --label nobody=x", 1, "nothing called \"nobody\""},
        {"--figure erf --steps 1", 1, "--steps: has 1 numbers for 2 curves"},
        {"--figure erf --steps 1,1", 1, "the same one"},
        {"--figure erf --steps 1,x", 1, "expected a number for each curve"},
        {"--figure erf --width 21mm", 1, "--width 21mm: leaves no room in erf.gp"},
        {"--figure erf --height 21mm", 1, "--height 21mm: leaves no room in erf.gp"},
        {"--label x", 2, "expected NAME=TEXT"},
        {"--title a --no-title", 2, "both given"},
        {"--font Times --format svg,tikz", 2, "not for tikz"},
        {"--figure erf --label window=a --label window=b", 1,
         "--label: \"window\" is given two texts, \"a\" and \"b\""},
        {"--figure erf --steps 0x1,2", 1, "expected a number for each curve"},
        {"--figure erf --steps ~1,2", 1, "expected a number for each curve"},
        {"--width 0x50mm", 2, "not a length"},
        {"--width ~85mm", 2, "not a length"},
        {"--width +85mm", 2, "not a length"},
        {"--width 19mm", 2, "not a length"},
        {"--width 85", 2, "not a length"},
        {"--height nanmm", 2, "not a length"},
        {"--legend left", 2, "--legend"},
        {"--font-size 1", 2, "--font-size"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];

        snprintf(line, sizeof line, "plot all -o refused --force %s", cases[i].line);
        expect(line, cases[i].status, cases[i].said);
    }
    expect("plot all/ppl.csv all/fit.csv -o refused", 1, "another kind of table");
    expect("plot all/fit.csv all/erf.h5 -o refused", 1, "cannot be drawn with curves");
    expect("plot targets.csv -o refused", 1, "expected ppl.csv");
    succeed("plot many -o drawn-many --figure epsilon");
    assert_has("drawn-many/epsilon.gp",
               "\n0.01 5 5 5 1\n0.02 5 5 5 1\n"); /* of 90 points those that are apart have marks */
    assert_has("drawn-many/epsilon.gp", "\n0.9 1 1 1 0\n");
    expect("plot epsilons -o refused --figure epsilon --xlog", 1, "--xlog: is not for epsilon.gp");
    expect("plot epsilons -o refused --figure epsilon --panels head", 1,
           "--panels: epsilon.gp has no panels");
    expect("plot held --figure erf --train-length 9 -o refused", 1,
           "--train-length: the results state the training lengths");
    succeed("plot held --figure erf,validation --train-length 9 -o taken");
    expect("plot all/summary.csv --threshold 0.77 -o refused", 1,
           "all/summary.csv: has no ERF(0.77)");
    expect("plot all/trf.csv --figure fields --train-length 9 -o refused", 1,
           "fields.gp marks those of models");
    expect("bias alibi -o refused --format tikz", 2, "matrix.gp has too many cells");
}

/* Texts of users in every format: what stands in them is drawn, and nothing of it is run or ends a
 * string. */
static void texts_are_only_texts(void **state)
{
    static const char *const hostile[] = {"it's",
                                          "''",
                                          "\\",
                                          "a\\'b",
                                          "`touch ran`",
                                          "@x $y %d %s %",
                                          "{/Symbol a}_b^c",
                                          "\"q\"",
                                          "#&~<>|",
                                          "\\input{x}",
                                          "\xff\xc3(",
                                          "\xce\xb1 \xe2\x88\x92 \xe2\x80\xa6",
                                          "line\nbreak",
                                          "]]>",
                                          "]]]>&#x0;&#x3c;&amp;",
                                          "$curve1 << EOD",
                                          ".system('touch ran').",
                                          "x\\",
                                          ""};
    static const char *const seeds = "'\"\\`@$%{}_^#&~<>|.()[]\xc3\xa9 \xff\nab";

    (void)state;
    srand(7);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile + 12; i++) {
        char text[40], line[512], *picture, *shown;
        size_t kept = 0;
        struct outcome o;

        if (i < sizeof hostile / sizeof *hostile)
            snprintf(text, sizeof text, "%s", hostile[i]);
        else
            for (text[0] = 0; kept < 20; text[++kept] = 0)
                text[kept] = seeds[(size_t)rand() % strlen(seeds)];
        for (char *p = text; *p; p++)
            if (*p == ' ' || *p == '~') /* what program.h divides lines at, or writes for it */
                *p = '~';
        snprintf(line, sizeof line,
                 "plot all --figure erf,fields --format svg,tikz -o hostile --force --title T%s "
                 "--label window=%s",
                 text, text);
        for (char *p = line; *p; p++)
            if (*p == '\n')
                *p = '\t';
        o = finish(start(line, NULL));
        if (o.status != 0)
            fail_msg("\"%s\": exit %d, %s", text, o.status, o.err);
        outcome_free(&o);
        if (exists(at("hostile/ran")) || exists(at("ran")))
            fail_msg("\"%s\" was run", text);
        picture = script_of("hostile/erf.tikz");
        if (strcmp(text, "#&~<>|") == 0 &&
            !strstr(picture, "\\#\\& {\\ttfamily <}{\\ttfamily >}{\\ttfamily |}"))
            fail_msg("\"%s\" is not made safe for TeX", text);
        if (strcmp(text, "\\input{x}") == 0 &&
            (strstr(picture, "\\input") || !strstr(picture, "\\textbackslash{}input\\{x\\}")))
            fail_msg("\"%s\" is a command of TeX", text);
        free(picture);
        shown = strcmp(text, "{/Symbol~a}_b^c") == 0 ? "{/Symbol a}_b^c"
                : strcmp(text, "\\") == 0            ? "T\\<"
                : strcmp(text, "]]>") == 0           ? "]]&#x3e;"
                : strstr(text, "&#x0;")              ? "]]]&#x3e;&#x26;#x0;&#x26;#x3c;&amp;amp;"
                                                     : NULL;
        picture = script_of("hostile/erf.svg");
        if (shown && !strstr(picture, shown))
            fail_msg("\"%s\" is not shown as it is", shown);
        if (strstr(picture, "]]>") || strstr(picture, "&#x0;"))
            fail_msg("\"%s\" makes a picture that is not XML", text);
        free(picture);
    }
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *f = fopen(at("%s", name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(at("%s", name), mode), 0);
}

/* Neither a gnuplot nor what gnuplot itself looks for, where figures are written. */
static void nothing_in_the_folder_is_run(void **state)
{
    const char *usual = getenv("PATH");
    char own[4096], path[9000], linked[4096];

    (void)state;
    assert_int_equal(mkdir(at("own"), 0777), 0);
    assert_int_equal(mkdir(at("linked"), 0777), 0);
    snprintf(own, sizeof own, "%s", at("own"));
    snprintf(linked, sizeof linked, "%s", at("linked"));
    write_file("own/gnuplot", "#!/bin/sh\necho >\"${0%/*}/ran\"\n", 0755);
    write_file("gnuplot", "#!/bin/sh\necho >ran\n", 0755);
    write_file("own/gnuplot-tikz.lua", "io.open(\"ran\", \"w\"):close()\n", 0644);
    write_file("gnuplot-tikz.lua", "io.open(\"ran\", \"w\"):close()\n", 0644);
    assert_int_equal(symlink("../own/gnuplot", at("linked/gnuplot")), 0);
    for (int i = 0; i < 6; i++) {
        struct outcome o;

        snprintf(path, sizeof path, "%s%s%s",
                 i == 0   ? ".:"
                 : i == 1 ? ":"
                 : i == 2 ? "own:"
                 : i == 3 ? own
                 : i == 4 ? linked
                          : "",
                 i == 3 || i == 4 ? ":" : "", usual);
        o = finish(start("plot all --figure erf --format tikz,svg -o own --force", path));
        if (o.status != 0 || exists(at("own/ran")) || exists(at("ran")) || exists("/ran"))
            fail_msg("PATH=%s: exit %d, %s", path, o.status, o.err);
        outcome_free(&o);
        assert_has("own/erf.tikz", "gnuplot variables");
    }
}

/* A font that is not there is told, with the one that fc-match has in its place; not one that is,
 * however it is written, nor a generic name; and nothing where there is no fc-match. */
static void a_missing_font_is_told(void **state)
{
    static const struct {
        const char *options, *said;
    } cases[] = {
        {"--font Foo-Bar~Sans", "the font \"Foo-Bar Sans\" is not installed: in its place is Real"},
        {"--font Foo:Bold --format pdf", "the font \"Foo:Bold\" is not installed"},
        {"--font Foo --format svg", "the font \"Foo\" is not installed: svg pictures only name it"},
        {"--font realserif", NULL},
        {"--font Other~Name", NULL},
        {"--font serif", NULL},
        {"--font Foo --quiet", NULL},
        {"", "the font \"DejaVu Sans\" is not installed: in its place is Real Serif ("},
        {"--format tikz", NULL},
    };
    char path[512];
    struct outcome without;

    (void)state;
    assert_int_equal(mkdir(at("fonts"), 0777), 0);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", at("fonts"));
    write_file("fonts/fc-match",
               "#!/bin/sh\nprintf '%s|' \"$@\" >>\"${0%/*}/asked\"\nprintf 'Real Serif,Other "
               "Name'\n",
               0755);
    write_file("fonts/gnuplot",
               "#!/bin/sh\ncase $3 in *png*) e=IEND;; *svg*) e='</svg>';; *pdf*) e=%%EOF;; *) "
               "e='gnuplot variables';; esac\nprintf '%40s' \"$e\" >/dev/fd/4\n",
               0755);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128];
        struct outcome o;

        snprintf(line, sizeof line, "plot all --figure fit -o font --force %s", cases[i].options);
        o = finish(start(line, path));
        if (o.status != 0 || lines(o.err) != (cases[i].said ? 1 : 0) ||
            (cases[i].said && !strstr(o.err, cases[i].said)))
            fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
        outcome_free(&o);
    }
    assert_has("fonts/asked", "-f|%{family}|Foo\\-Bar Sans|-f|%{family}|Foo|");
    assert_int_equal(unlink(at("fonts/fc-match")), 0);
    without = finish(start("plot all --figure fit -o font --force --font Foo", at("fonts")));
    assert_int_equal(without.status, 0);
    assert_string_equal(without.err, "");
    outcome_free(&without);
}

/* Cells that a run never writes: which row, and what was expected. */
static void tables_are_checked(void **state)
{
    static const char head[] =
        "model,layer,head,epsilon,attention_erf,trf,trf_length,verdict,segments,excluded\n";
    static const char *const cases[][2] = {
        {"a,1,16000,0.01,7,28,7,converges,2,0\na,,1,0.01,1234567,28,7654321,converges,2,0\n",
         "row 2 has \"\" as layer (expected a whole number from 1 to 16384)"},
        {"a,1,,0.01,7,28,7,converges,2,0\n", "row 1 has \"\" as head"},
        {"a,0,1,0.01,7,28,7,converges,2,0\n", "row 1 has \"0\" as layer"},
        {"a,1,16385,0.01,7,28,7,converges,2,0\n", "row 1 has \"16385\" as head"},
        {"a,1.5,1,0.01,7,28,7,converges,2,0\n", "row 1 has \"1.5\" as layer"},
        {"a,1,1,0.01,1e300,28,7,converges,2,0\n", "row 1 has \"1e300\" as attention_erf"},
        {"a,1,1,0.01,7,28,-1,converges,2,0\n", "row 1 has \"-1\" as trf_length"},
        {"a,16384,16384,0.01,7,28,7,converges,2,0\n",
         "has 1 rows of a, and layers up to 16384 of heads up to 16384"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];

        snprintf(text, sizeof text, "%s%s", head, cases[i][0]);
        write_file("attention.csv", text, 0644);
        expect("plot attention.csv -o refused", 1, cases[i][1]);
    }
}

/* The same results, the same bytes. */
static void scripts_are_the_same_bytes(void **state)
{
    static const char *const names[] = {"erf", "layers", "heads", "fit", "matrix"};

    (void)state;
    script_only("plot all -o same --force --figure erf,layers,heads,fit,matrix");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(rename(at("same/%s.gp", names[i]), at("same/%s.before", names[i])), 0);
    script_only("plot all -o same --force --figure erf,layers,heads,fit,matrix");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *a = slurp(at("same/%s.gp", names[i]), NULL),
             *b = slurp(at("same/%s.before", names[i]), NULL);

        assert_true(a && b && strcmp(a, b) == 0);
        free(a);
        free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_drawn_whole),
        cmocka_unit_test(figures_are_those_of_the_run),
        cmocka_unit_test(options_are_applied),
        cmocka_unit_test(sizes_are_those_asked_for),
        cmocka_unit_test(every_kind_has_its_size),
        cmocka_unit_test(a_missing_font_is_told),
        cmocka_unit_test(options_are_refused),
        cmocka_unit_test(texts_are_only_texts),
        cmocka_unit_test(tables_are_checked),
        cmocka_unit_test(scripts_are_the_same_bytes),
        cmocka_unit_test(nothing_in_the_folder_is_run),
    };

    return cmocka_run_group_tests(tests, plot_inputs, program_close);
}
