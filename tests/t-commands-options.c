/* commands/options.c, commands/option_values.c, the tables of all verbs, and run/models.c. */
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

/* ---- all verbs ---- */

/* Values for rows whose texts have rules. */
static const char *sample(const struct verb *v, const struct option_row *o, unsigned *seed)
{
    static const char *const own[][5] = {
        {"bias", "alibi(delta=2)", "-ln(1+t)", "inf * (t > 9)", NULL},
        {"rope", "linear:factor=4", "base=500000", "base=90,yarn:factor=4,original=8192,truncate=0",
         NULL},
        {"device", "cpu", "cuda", "cuda:3", NULL},
        {"format", "svg", "png,pdf", "pdf", NULL},
        {"threshold", "0.8", "0.99", ".123456789012345678", NULL},
        {"layer", "all", "0", "17", NULL},
        {"target-position", "5", "9,3", "3,3,1073741824", NULL},
        {"shard", "1/4", "3/3", "1/2147483648", NULL},
        {"context", "64", "512,128", "7,7,7", NULL},
        {"epsilon", "0.01", "0.1", "1e-30", NULL},
        {"coherence", "0.5", "0.999999999999999999999", "1e-30", NULL},
        {"length", "1", "18446744073709551615", "12", NULL},
        {"range", "0:8191", "5:5", "auto", NULL},
        {"set", "p=1.05", "a=1,2,3", "k=it's", NULL},
        {"width", "85mm", "3.3in", "1200px", NULL},
        {"height", "6cm", "240pt", "500px", NULL},
        {"label", "a=b", "a=it's = \"this\"", "a b=", NULL},
    };
    static char text[40];
    unsigned picked = (unsigned)rand_r(seed);
    int count = 0;

    (void)v;
    switch (o->type) {
    case OPTION_CHOICE:
    case OPTION_NUMBERED_CHOICE:
        while (o->choices[count])
            count++;
        return *o->choices[picked % (unsigned)count] ? o->choices[picked % (unsigned)count]
                                                     : o->choices[1];
    case OPTION_INT:
    case OPTION_LONG:
    case OPTION_SIZE:
        snprintf(text, sizeof text, "%ld",
                 picked % 3 == 0   ? (long)o->low
                 : picked % 3 == 1 ? (long)o->high
                                   : (long)(o->low + picked % (unsigned)(o->high - o->low > 1e6
                                                                             ? 1e6
                                                                             : o->high - o->low)));
        return text;
    case OPTION_REAL:
        snprintf(text, sizeof text, "%.17g",
                 o->low + (o->high - o->low) * (picked % 997 + 1) / 999);
        return text;
    case OPTION_UNSIGNED: return picked % 2 ? "18446744073709551615" : "7";
    case OPTION_BYTES: return picked % 2 ? "800M" : "12345";
    default: break;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i][0], o->name) == 0)
            return own[i][1 + picked % 3];
    if (o->type == OPTION_OWN)
        fail_msg("--%s of reach %s has no values in this test", o->name, v->name);
    return picked % 2 ? "a b;'c" : "./plain";
}

/* Settings as one text. */
static char *settings_text(const void *options, const struct verb *v)
{
    struct settings s = {0};
    struct error e = {""};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(options_settings(&s, options, v, &e), 0);
    for (size_t i = 0; i < s.count; i++)
        fprintf(f, "%s=%s\n", s.item[i].name, s.item[i].value);
    fclose(f);
    settings_free(&s);
    return text;
}

/* Parses random options, then the command that they record: commands and settings are the same. 1
 * if they go together. */
static int round_trip(const struct verb *v, unsigned *seed)
{
    void *first = calloc(1, v->options_size + 1), *second = calloc(1, v->options_size + 1);
    char *argv[200], *command, *again, *one, *two, **words;
    int argc = 0, count, rc;
    struct error e = {""};

    for (size_t i = 0; i < v->operand_count; i++)
        argv[argc++] = strdup(v->operands[i].choices                       ? *v->operands[i].choices
                              : strcmp(v->name, "tokenize") == 0 && i == 2 ? "out .npy"
                              : i % 2                                      ? "it's"
                                                                           : "a/b c");
    for (size_t i = 0; i < v->option_count; i++) {
        const struct option_row *o = &v->options[i];
        int times = rand_r(seed) % 3                                       ? 0
                    : o->type == OPTION_LIST || o->flags & OPTION_REPEATED ? 1 + rand_r(seed) % 3
                                                                           : 1;

        while (times-- > 0) {
            char name[OPTION_NAME_MAX];

            argv[argc++] = strdup(option_dashed(name, o->name));
            if (o->value)
                argv[argc++] = strdup(sample(v, o, seed));
        }
    }
    rc = options_parse(first, v, argc, argv, &e);
    if (rc == 0) {
        command = options_command(first, v);
        assert_non_null(command);
        assert_int_equal(command_words(&words, &count, command, &e), 0);
        if (options_parse(second, v, count - 2, words + 2, &e) != 0)
            fail_msg("%s: %s", command, e.text);
        again = options_command(second, v);
        assert_string_equal(again, command);
        one = settings_text(first, v);
        two = settings_text(second, v);
        assert_string_equal(one, two);
        free(words);
        free(command);
        free(again);
        free(one);
        free(two);
    } else if (!strstr(e.text, "given") && !strstr(e.text, " is for ") &&
               !strstr(e.text, "--growth: needs") && !strstr(e.text, "--growth: --length") &&
               !strstr(e.text, "--protocol") && !strstr(e.text, "--stride"))
        fail_msg("reach %s refuses a value of its own table: %s", v->name, e.text);
    options_free(first, v);
    options_free(second, v);
    free(first);
    free(second);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return rc == 0;
}

static void recorded_commands_are_read_back(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (const struct verb *const *v = verbs; *v; v++) {
        int together = 0;

        /* more for a verb with many options that exclude each other */
        for (int i = 0; i < 2000 || (together < 100 && i < 10000); i++)
            together += round_trip(*v, &seed);
        if (together < 100)
            fail_msg("reach %s: only %d of 10000 random command lines go together", (*v)->name,
                     together);
    }
}

/* 1 if `one` and `other`, each with its default or another value, are refused for being given
 * together. */
static int excludes(const struct verb *v, const struct option_row *one,
                    const struct option_row *other)
{
    void *options = calloc(1, v->options_size + 1);
    unsigned seed = 1;
    char *argv[5] = {(char *)"a"}, names[2][OPTION_NAME_MAX], values[2][80];
    int argc = 1, rc;
    struct error e = {""};

    for (int i = 0; i < 2; i++) {
        const struct option_row *o = i ? other : one;

        argv[argc++] = (char *)option_dashed(names[i], o->name);
        if (o->value) {
            snprintf(values[i], sizeof values[i], "%s",
                     o->standard ? o->standard : sample(v, o, &seed));
            argv[argc++] = values[i];
        }
    }
    rc = options_parse(options, v, argc, argv, &e);
    if (rc != 0 &&
        !(strstr(e.text, names[0]) && strstr(e.text, names[1]) && strstr(e.text, "are both given")))
        fail_msg("%s and %s: %s", names[0], names[1], e.text);
    options_free(options, v);
    free(options);
    return rc != 0;
}

/* An option that names what it stands with is refused with all others of the table, whatever their
 * values. */
static void stored_results_refuse_what_measures(void **state)
{
    const struct option_row *segment = option_find(&explain_verb, "segment");
    size_t refused = 0;

    (void)state;
    assert_non_null(segment->beside);
    for (const char *const *name = segment->beside; *name; name++)
        assert_non_null(option_find(&explain_verb, *name));
    for (size_t i = 0; i < explain_verb.option_count; i++) {
        const struct option_row *o = &explain_verb.options[i];
        int chooses = strcmp(o->name, "model") == 0 || strcmp(o->name, "target-position") == 0 ||
                      strcmp(o->name, "by") == 0;
        int measures = (o->flags & OPTION_RESULT && !chooses) || strcmp(o->name, "device") == 0 ||
                       strcmp(o->name, "strict") == 0;

        if (o == segment)
            continue;
        if (excludes(&explain_verb, segment, o) != measures ||
            excludes(&explain_verb, o, segment) != measures)
            fail_msg("--segment and --%s are %s", o->name, measures ? "taken together" : "refused");
        refused += (size_t)measures;
    }
    assert_true(refused > 12);
}

/* What the table must hold for help and parsing. */
static void tables_are_complete(void **state)
{
    (void)state;
    for (const struct verb *const *v = verbs; *v; v++) {
        assert_in_range((*v)->option_count, 0, 64);
        assert_true(*(*v)->name && *(*v)->summary && *(*v)->description && *(*v)->examples &&
                    (*v)->run);
        for (size_t i = 0; i < (*v)->option_count; i++) {
            const struct option_row *o = &(*v)->options[i];
            int chooses = o->type == OPTION_CHOICE || o->type == OPTION_NUMBERED_CHOICE;

            if (option_find(*v, o->name) != o || !o->help ||
                (o->type == OPTION_FLAG) != !o->value || (chooses && !o->choices) ||
                (o->type == OPTION_OWN) != (o->read != NULL) ||
                (o->type == OPTION_OWN && !o->write) ||
                (o->type != OPTION_OWN && o->at >= (*v)->options_size) ||
                strlen(o->name) + 3 > OPTION_NAME_MAX || (o->with && !option_find(*v, o->with)))
                fail_msg("the row %s of reach %s is not complete", o->name, (*v)->name);
        }
    }
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
    } sizes[] = {{"1", 1},
                 {"1k", 1000},
                 {"3M", 3000000},
                 {"2G", 2000000000},
                 {"1T", 1000000000000},
                 {"0", 0},
                 {"", 0},
                 {"G", 0},
                 {"1GB", 0},
                 {"-1", 0},
                 {"1.5G", 0},
                 {"18446744074G", 0},
                 {"1 G", 0}};
    static const struct real_row {
        const char *text;
        double value; /* 0: refused */
    } reals[] = {{"0.5", 0.5}, {".99", .99}, {"1e-3", 1e-3}, {"0", 0},    {"1", 0},
                 {"1.5", 0},   {"nan", 0},   {"inf", 0},     {"-0.5", 0}, {"0.5x", 0},
                 {"0x.8", 0},  {"", 0},      {" .5", 0}};
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
        rc = model_arguments(&models, &texts, NULL, &e);
        if ((rc == 0) != (cases[i].names[0] != NULL))
            fail_msg("%s: %d, \"%s\"", cases[i].texts[0], rc, e.text);
        for (int k = 0; rc == 0 && k < texts.count; k++)
            if (strcmp(models[k].name, cases[i].names[k]) ||
                strcmp(models[k].model, cases[i].paths[k]))
                fail_msg("%s: is named %s, at %s", cases[i].texts[k], models[k].name,
                         models[k].model);
        model_arguments_free(models, texts.count);
        text_list_free(&texts);
    }
}

static void erf_defaults(void **state)
{
    struct erf_options o;
    struct error e = {""};
    char copy[400], *command;

    (void)state;
    assert_int_equal(option_parse(&o, &erf_verb, "m --text t", copy, &e), 0);
    assert_string_equal(o.folder, "reach-erf");
    assert_int_equal(o.cut.segments, 1000);
    assert_int_equal(o.bootstrap, 1000);
    assert_int_equal(o.sink, 4);
    assert_int_equal(o.threshold_count, 5);
    assert_int_equal(o.encoding.window, -1);
    assert_true(o.main_threshold == 0.99);
    assert_string_equal(o.machine.dtype, "f32");
    assert_string_equal(o.formats, "png");
    command = options_command(&o, &erf_verb);
    assert_string_equal(command, "reach erf m --text t");
    free(command);
    options_free(&o, &erf_verb);
}

static void thresholds_are_added_in_order(void **state)
{
    struct erf_options o;
    struct error e = {""};
    char copy[400], *command;

    (void)state;
    assert_int_equal(option_parse(&o, &erf_verb,
                                  "m --text t --threshold 0.8 --threshold 0.6 --threshold 0.95",
                                  copy, &e),
                     0);
    assert_int_equal(o.threshold_count, 7);
    for (size_t i = 1; i < o.threshold_count; i++)
        assert_true(o.thresholds[i] > o.thresholds[i - 1]);
    assert_true(o.main_threshold == 0.8);
    command = options_command(&o, &erf_verb);
    assert_string_equal(command, "reach erf m --text t --threshold 0.8 --threshold 0.6");
    free(command);
    options_free(&o, &erf_verb);
}

/* What changes no number is not recorded, so that a run and its --resume write the same. */
static void recorded_commands(void **state)
{
    static const char *const cases[][2] = {
        {"m --text t --threads 2 --strict --quiet --log l --resume --memory 1G -o d --format svg "
         "--check-precision 3 "
         "--device cpu --length 2048",
         "reach erf m --text t"},
        {"--segments 7 m --bos always --text t --window 0 --seed 9 --positions none --bias -t "
         "--dtype f64",
         "reach erf m --text t --segments 7 --bos always --seed 9 --bias -t --positions none "
         "--window 0 --dtype f64"},
        {"m --tokens t.npy --length 2048", "reach erf m --tokens t.npy --length 2048"},
        {"n=it's --text a;b --stride 5 --offset 6 --sink 0 --bootstrap 0 --train-length 8",
         "reach erf 'n=it'\\''s' --text 'a;b' --stride 5 --offset 6 --sink 0 --bootstrap 0 "
         "--train-length 8"},
        {"m --text t --bootstrap 0 --seed 3 --validate 2",
         "reach erf m --text t --bootstrap 0 --seed 3 --validate 2"},
        {"m --text t --bootstrap 0 --seed 3 --attribution smoothgrad",
         "reach erf m --text t --bootstrap 0 --seed 3 --attribution smoothgrad"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct erf_options o;
        struct error e = {""};
        char copy[400], *command;

        if (option_parse(&o, &erf_verb, cases[i][0], copy, &e) != 0)
            fail_msg("%s: %s", cases[i][0], e.text);
        command = options_command(&o, &erf_verb);
        assert_string_equal(command, cases[i][1]);
        free(command);
        options_free(&o, &erf_verb);
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
        "m --text t --length 5 --length 6",
        "m --text t -o a -o b",
        "m --text t --resume --force",
        "m --text t --bias t --bias t",
        "m --text t --seed 3 --bootstrap 0",
        "m --text t --seed 3 --bootstrap 0 --attribution ig",
        "m --text t --target-position 8,0000000000000000000000000000016x",
        "m --text t --log -",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct erf_options o;
        struct error e = {""};
        char copy[400];

        if (option_parse(&o, &erf_verb, cases[i], copy, &e) == 0 || !e.text[0] ||
            strchr(e.text, '\n'))
            fail_msg("\"%s\" is taken, or refused without a line: \"%s\"", cases[i], e.text);
        options_free(&o, &erf_verb);
    }
}

static void devices_that_are_not_here(void **state)
{
    static const char *const cases[] = {"m --text t --device cuda", "m --text t --device cuda:1",
                                        "m --text t --dtype tf32",
                                        "m --text t --device cuda --dtype bf16"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct erf_options o;
        struct error e = {""};
        char copy[400];

        assert_int_equal(option_parse(&o, &erf_verb, cases[i], copy, &e), 0);
        assert_int_equal(run_available(&o.machine, &e), -1);
        if (!strstr(e.text, "reach-cuda.so"))
            fail_msg("\"%s\": %s", cases[i], e.text);
        options_free(&o, &erf_verb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_commands_are_read_back),
        cmocka_unit_test(stored_results_refuse_what_measures),
        cmocka_unit_test(tables_are_complete),
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
