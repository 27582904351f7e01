/* commands/arguments.c, commands/models.c and the options of `reach erf`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/erf.h"
#include "run/models.h"
#include "commands/arguments.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argument_row rows[] = {{"o", "DIR", "folder"}, {"text", "FILE", "a text"}, {"force", NULL, "a flag"}};
static const struct verb_help help = {
    .verb = "test", .synopsis = "X", .description = "A test.\n", .options = rows, .option_count = 3};

static void arguments_are_told_apart(void **state)
{
    static const struct row {
        const char *argument, *next;
        int code;
        const char *value;
    } cases[] = {
        {"--text", "a", 1, "a"},
        {"--text=a=b", NULL, 1, "a=b"},
        {"--text", "--force", 1, "--force"},
        {"-o", "d", 0, "d"},
        {"--force", NULL, 2, NULL},
        {"x", NULL, ARGUMENT_OPERAND, "x"},
        {"-", NULL, ARGUMENT_OPERAND, "-"},
        {"-t^2", NULL, ARGUMENT_OPERAND, "-t^2"},
        {"-x", NULL, ARGUMENT_OPERAND, "-x"},
        {"-h", NULL, ARGUMENT_HELP, NULL},
        {"--help", NULL, ARGUMENT_HELP, NULL},
        {"--o", "d", ARGUMENT_ERROR, NULL},
        {"--tex", "a", ARGUMENT_ERROR, NULL},
        {"--texts", "a", ARGUMENT_ERROR, NULL},
        {"--text", NULL, ARGUMENT_ERROR, NULL},
        {"-o", NULL, ARGUMENT_ERROR, NULL},
        {"--force=1", NULL, ARGUMENT_ERROR, NULL},
        {"--", NULL, ARGUMENT_END, NULL},
        {"", NULL, ARGUMENT_OPERAND, ""},
        {"--=", NULL, ARGUMENT_ERROR, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[] = {(char *)cases[i].argument, (char *)cases[i].next};
        struct arguments a = {.count = cases[i].next ? 2 : 1, .text = argv};
        const char *value = "unset";
        struct error e = {""};
        int code = arguments_next(&a, &help, &value, &e);

        if (code != cases[i].code || (cases[i].value ? !value || strcmp(value, cases[i].value) : value != NULL) ||
            (code == ARGUMENT_ERROR && !e.text[0]))
            fail_msg("%s %s: code %d, value %s, \"%s\"", cases[i].argument, cases[i].next ? cases[i].next : "", code,
                     value ? value : "none", e.text);
    }
}

static void two_dashes_end_the_options(void **state)
{
    char *argv[] = {"--", "--force", "-o"};
    struct arguments a = {.count = 3, .text = argv};
    const char *value;
    struct error e;

    (void)state;
    assert_int_equal(arguments_next(&a, &help, &value, &e), ARGUMENT_OPERAND);
    assert_string_equal(value, "--force");
    assert_int_equal(arguments_next(&a, &help, &value, &e), ARGUMENT_OPERAND);
    assert_string_equal(value, "-o");
    assert_int_equal(arguments_next(&a, &help, &value, &e), ARGUMENT_END);
}

static void numbers_are_read_strictly(void **state)
{
    static const struct row {
        const char *text;
        long value;
        int good;
    } whole[] = {{"0", 0, 1},    {"12", 12, 1},
                 {"-3", -3, 1},  {"100", 100, 1},
                 {"101", 0, 0},  {"-4", 0, 0},
                 {"", 0, 0},     {" 1", 0, 0},
                 {"1 ", 0, 0},   {"1e1", 0, 0},
                 {"1.0", 0, 0},  {"+1", 0, 0},
                 {"0x10", 0, 0}, {"99999999999999999999", 0, 0},
                 {"-", 0, 0},    {"--1", 0, 0}};
    static const struct size_row {
        const char *text;
        size_t value; /* 0: refused */
    } sizes[] = {{"1", 1}, {"1k", 1024}, {"3M", 3145728}, {"2G", 2147483648}, {"1T", 1099511627776}, {"0", 0},  {"", 0},
                 {"G", 0}, {"1GB", 0},   {"-1", 0},       {"1.5G", 0},        {"17179869184G", 0},   {"1 G", 0}};
    static const struct real_row {
        const char *text;
        double value; /* 0: refused */
    } reals[] = {{"0.5", 0.5}, {".99", .99}, {"1e-3", 1e-3}, {"0", 0},    {"1", 0}, {"1.5", 0}, {"nan", 0},
                 {"inf", 0},   {"-0.5", 0},  {"0.5x", 0},    {"0x.8", 0}, {"", 0},  {" .5", 0}};
    struct error e;

    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        long value = 12345;
        int rc = read_whole("--n", whole[i].text, -3, 100, &value, &e);

        if ((rc == 0) != whole[i].good || (rc == 0 && value != whole[i].value))
            fail_msg("\"%s\": %d, %ld", whole[i].text, rc, value);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t value = 0;
        int rc = read_size("--memory", sizes[i].text, &value, &e);

        if ((rc == 0) != (sizes[i].value != 0) || value != sizes[i].value)
            fail_msg("\"%s\": %d, %zu", sizes[i].text, rc, value);
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        double value = 0;
        int rc = read_between("--q", reals[i].text, 0, 1, &value, &e);

        if ((rc == 0) != (reals[i].value != 0) || !(value == reals[i].value))
            fail_msg("\"%s\": %d, %g", reals[i].text, rc, value);
    }
}

static void model_names(void **state)
{
    static const struct row {
        const char *texts[4];
        const char *names[4]; /* none: refused */
        const char *paths[4];
    } cases[] = {
        {{"a/b"}, {"b"}, {"a/b"}},
        {{"a/b///"}, {"b"}, {"a/b///"}},
        {{"x=a/b"}, {"x"}, {"a/b"}},
        {{"x=y=z"}, {"x"}, {"y=z"}},
        {{"a/lr=1"}, {"lr=1"}, {"a/lr=1"}},
        {{"./lr=1/m"}, {"m"}, {"./lr=1/m"}},
        {{"a/m", "b/m", "c/m"}, {"m", "m-2", "m-3"}, {"a/m", "b/m", "c/m"}},
        {{"a/m", "m=b/x"}, {"m-2", "m"}, {"a/m", "b/x"}},
        {{"a/m", "b/m", "m-2=c/m"}, {"m", "m-3", "m-2"}, {"a/m", "b/m", "c/m"}},
        {{"/"}, {"model"}, {"/"}},
        {{"x=a", "x=b"}, {NULL}, {NULL}},
        {{"=a"}, {NULL}, {NULL}},
        {{"x="}, {NULL}, {NULL}},
        {{""}, {NULL}, {NULL}},
        {{"-x"}, {NULL}, {NULL}},
        {{"a\nb=c"}, {NULL}, {NULL}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_argument *models = NULL;
        struct text_list texts = {0};
        struct error e = {""};
        int rc;

        for (int k = 0; k < 4 && cases[i].texts[k]; k++)
            assert_int_equal(text_list_add(&texts, cases[i].texts[k], &e), 0);
        rc = model_arguments(&models, &texts, &e);
        if ((rc == 0) != (cases[i].names[0] != NULL))
            fail_msg("%s: %d, \"%s\"", cases[i].texts[0], rc, e.text);
        for (int k = 0; rc == 0 && k < texts.count; k++)
            if (strcmp(models[k].name, cases[i].names[k]) || strcmp(models[k].path, cases[i].paths[k]))
                fail_msg("%s: is named %s, at %s", cases[i].texts[k], models[k].name, models[k].path);
        free(models);
        text_list_free(&texts);
    }
}

/* Parses a line of words. */
static int parse(struct erf_options *o, const char *line, char *copy, struct error *e)
{
    char *argv[40];
    int argc = 0;

    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return erf_options_parse(o, argc, argv, e);
}

static void erf_defaults(void **state)
{
    struct erf_options o;
    struct error e = {""};
    char copy[400], *command;

    (void)state;
    assert_int_equal(parse(&o, "m --text t", copy, &e), 0);
    assert_string_equal(o.folder, "reach-erf");
    assert_int_equal(o.cut.segments, 1000);
    assert_int_equal(o.bootstrap, 1000);
    assert_int_equal(o.sink, 4);
    assert_int_equal(o.threshold_count, 5);
    assert_int_equal(o.encoding.window, -1);
    assert_true(o.main_threshold == 0.99);
    assert_string_equal(o.machine.dtype, "f32");
    assert_string_equal(o.formats, "png");
    command = erf_options_command(&o);
    assert_string_equal(command, "reach erf m --text t");
    free(command);
    erf_options_free(&o);
}

static void thresholds_are_added_in_order(void **state)
{
    struct erf_options o;
    struct error e = {""};
    char copy[400], *command;

    (void)state;
    assert_int_equal(parse(&o, "m --text t --threshold 0.8 --threshold 0.6 --threshold 0.95", copy, &e), 0);
    assert_int_equal(o.threshold_count, 7);
    for (size_t i = 1; i < o.threshold_count; i++)
        assert_true(o.thresholds[i] > o.thresholds[i - 1]);
    assert_true(o.main_threshold == 0.8);
    command = erf_options_command(&o);
    assert_string_equal(command, "reach erf m --text t --threshold 0.8 --threshold 0.6");
    free(command);
    erf_options_free(&o);
}

/* What changes no number is not recorded, so that a run and its --resume write the same. */
static void recorded_commands(void **state)
{
    static const char *const cases[][2] = {
        {"m --text t --threads 2 --strict --quiet --log l --force --resume --memory 1G -o d --format svg --check-precision 3 "
         "--device cpu --length 2048",
         "reach erf m --text t"},
        {"--segments 7 m --bos --text t --window 0 --seed 9 --positions none --bias -t --dtype f64",
         "reach erf m --text t --segments 7 --bos --seed 9 --bias -t --positions none --window 0 --dtype f64"},
        {"m --tokens t.npy --length 2048", "reach erf m --tokens t.npy --length 2048"},
        {"n=it's --text a;b --stride 5 --offset 6 --sink 0 --bootstrap 0 --train-length 8",
         "reach erf 'n=it'\\''s' --text 'a;b' --stride 5 --offset 6 --sink 0 --bootstrap 0 --train-length 8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct erf_options o;
        struct error e = {""};
        char copy[400], *command;

        if (parse(&o, cases[i][0], copy, &e) != 0)
            fail_msg("%s: %s", cases[i][0], e.text);
        command = erf_options_command(&o);
        assert_string_equal(command, cases[i][1]);
        free(command);
        erf_options_free(&o);
    }
}

static void wrong_usage_is_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "m",
        "--text t",
        "m --text t --tokens u",
        "m --text t --lenght 3",
        "m --text t --length 1",
        "m --text t --length 2.5",
        "m --text t --segments 0",
        "m --text t --stride 0",
        "m --text t --offset -1",
        "m --text t --threshold 1",
        "m --text t --threshold 0",
        "m --text t --threshold 99%",
        "m --text t --sink -1",
        "m --text t --seed -1",
        "m --text t --device gpu",
        "m --text t --device cuda:x",
        "m --text t --dtype f16",
        "m --text t --positions rotary",
        "m --text t --window -1",
        "m --text t --memory 0",
        "m --text t --memory lots",
        "m --text t --threads 0",
        "m --text t --format gif",
        "m --text t --format png,,svg",
        "m --text t --format png,",
        "m --text t --bias 2+",
        "m --text t --bias kerple_log",
        "m --text t --bootstrap 1e3",
        "m --text t --check-precision 0",
        "m --text t --bias-dtype f64",
        "m --text t --resume=yes",
        "m --text t -o",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct erf_options o;
        struct error e = {""};
        char copy[400];

        if (parse(&o, cases[i], copy, &e) == 0 || !e.text[0] || strchr(e.text, '\n'))
            fail_msg("\"%s\" is taken, or refused without a line: \"%s\"", cases[i], e.text);
        erf_options_free(&o);
    }
}

static void devices_that_are_not_here(void **state)
{
    static const char *const cases[] = {"m --text t --device cuda", "m --text t --device cuda:1", "m --text t --dtype tf32",
                                        "m --text t --dtype bf16"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct erf_options o;
        struct error e = {""};
        char copy[400];

        assert_int_equal(parse(&o, cases[i], copy, &e), 0);
        assert_int_equal(run_available(&o.machine, &e), -1);
        if (!strstr(e.text, "reach-cuda.so"))
            fail_msg("\"%s\": %s", cases[i], e.text);
        erf_options_free(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_told_apart),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(model_names),
        cmocka_unit_test(erf_defaults),
        cmocka_unit_test(thresholds_are_added_in_order),
        cmocka_unit_test(recorded_commands),
        cmocka_unit_test(wrong_usage_is_refused),
        cmocka_unit_test(devices_that_are_not_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
