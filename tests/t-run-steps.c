/* run/steps.c: the order of checkpoints by the steps in their names, also among the operands of
 * verbs and in results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "run/steps.h"
#include "tests/option_calls.h"
#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A list, and the order it is put in; one text for all of it. */
static void steps_of_names(void **state)
{
    static const struct {
        enum steps_stated stated;
        const char *given, *sorted;
    } cases[] = {
        {STEPS_STATED, "r/checkpoint-100 r/checkpoint-1000 r/checkpoint-200 ",
         "r/checkpoint-100 r/checkpoint-200 r/checkpoint-1000 "},
        {STEPS_STATED, "global_step3000 global_step500 ", "global_step500 global_step3000 "},
        {STEPS_STATED, "iter_0000900/x iter_0001000/x iter_0000100/x ",
         "iter_0000100/x iter_0000900/x iter_0001000/x "},
        {STEPS_STATED, "a/b-70m@step512 a/b-70m@step64 a/b-70m@step8-x ",
         "a/b-70m@step8-x a/b-70m@step64 a/b-70m@step512 "},
        {STEPS_STATED, "r/2M r/1.5k/ r/500 r/1B ", "r/500 r/1.5k/ r/2M r/1B "},
        {STEPS_STATED, "ckpt-2K.h5 ckpt-1000.h5 ckpt-.5.h5 ", NULL},
        {STEPS_STATED, "Step=2e ", NULL},
        {STEPS_STATED, "step-1.5.gguf step-1.25.gguf ", "step-1.25.gguf step-1.5.gguf "},
        {STEPS_NUMBERS, "r/1000 r/200 ", "r/200 r/1000 "},
        {STEPS_STATED, "x-step-5 y-step-4 ", NULL}, /* two runs */
        {STEPS_STATED, "r/checkpoint-5 q/checkpoint-4 ", NULL},
        {STEPS_STATED, "r/checkpoint-20 r/final r/checkpoint-3 ", NULL},
        {STEPS_STATED, "pythia-410m pythia-70m ", NULL}, /* sizes */
        {STEPS_STATED, "window-40 window-24 ", NULL},
        {STEPS_STATED, "b=r/step-9 a=r/step-10 ", NULL},
        {STEPS_STATED, "step-3-b step-3-a step-1 ", "step-1 step-3-b step-3-a "},
        {STEPS_STATED, "step-7 ", "step-7 "},
        {STEPS_STATED, "step-0x20 step-0x10 ", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *sorted = cases[i].sorted ? cases[i].sorted : cases[i].given;
        char copy[200], found[200] = "", *rest = copy, *word;
        struct text_list l = {0};
        double steps[4];
        struct error e;
        enum steps_stated stated;

        snprintf(copy, sizeof copy, "%s", cases[i].given);
        while (*(word = strsep(&rest, " ")))
            assert_int_equal(text_list_add(&l, word, &e), 0);
        stated = steps_find(steps, l.item, (size_t)l.count);
        assert_int_equal(steps_sort(&l, STEPS_NUMBERS, &e), 0);
        for (int k = 0; k < l.count; k++)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s ", l.item[k]);
        if (strcmp(found, sorted) != 0 || stated != (cases[i].sorted ? cases[i].stated : 0))
            fail_msg("%s: %d, sorted %s", cases[i].given, stated, found);
        text_list_free(&l);
    }
}

/* Operands of verbs are in that order when they are read, and so recorded; formulas as given. */
static void operands_are_by_step(void **state)
{
    static const struct {
        const struct verb *verb;
        const char *line, *recorded;
    } cases[] = {
        {&erf_verb, "r/checkpoint-30 --text t r/checkpoint-4",
         "reach erf r/checkpoint-4 r/checkpoint-30 --text t"},
        {&ppl_verb, "r/30 r/4 --text t --context 8",
         "reach ppl r/4 r/30 --text t --protocol last --context 8"},
        {&trf_verb, "r/step30 r/step4", "reach trf r/step4 r/step30"},
        {&bias_verb, "t/30 t/4", "reach bias t/30 t/4"},
        {&report_verb, "step-30 step-4", "reach report step-4 step-30"},
        {&plot_verb, "step-30 step-4", "reach plot step-4 step-30"},
        {&plot_verb, "step-30 step-4 --steps 3,4", "reach plot step-30 step-4 --steps 3,4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char copy[200], *command;
        struct error e = {""};
        void *o = calloc(1, cases[i].verb->options_size);

        assert_non_null(o);
        if (option_parse(o, cases[i].verb, cases[i].line, copy, &e) != 0)
            fail_msg("%s: %s", cases[i].line, e.text);
        command = options_command(o, cases[i].verb);
        assert_string_equal(command, cases[i].recorded);
        free(command);
        options_free(o, cases[i].verb);
        free(o);
    }
}

/* As a shell lists them; the recorded command has the order of the results. */
static void results_are_by_step(void **state)
{
    static const char *const files[] = {"erf/summary.csv", "erf/curve.csv", "ppl/ppl.csv"};

    (void)state;
    succeed("erf run/checkpoint-100 run/checkpoint-1000 run/checkpoint-200 --text text --length 12 "
            "--segments 3 --bootstrap 10 -o erf");
    succeed("ppl run/checkpoint-100 run/checkpoint-1000 run/checkpoint-200 --text text --context 8 "
            "--segments 3 -o ppl");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = slurp(at("%s", files[i]), NULL);
        const char *command = strstr(text, "run/checkpoint-100 run/checkpoint-200 "
                                           "run/checkpoint-1000"),
                   *first = strstr(text, "\ncheckpoint-100,"),
                   *middle = strstr(text, "\ncheckpoint-200,"),
                   *last = strstr(text, "\ncheckpoint-1000,");

        if (!command || !first || !middle || !last || middle < first || last < middle)
            fail_msg("%s:\n%s", files[i], text);
        free(text);
    }
    succeed("plot erf -o drawn");
    assert_true(exists(at("drawn/steps.gp")));
}

static int make_inputs(void **state)
{
    static const char *const names[] = {"run/checkpoint-100", "run/checkpoint-200",
                                        "run/checkpoint-1000"};

    (void)state;
    if (program_open() != 0 || mkdir(at("run"), 0700) != 0 || tiny_text(at("text"), 400, 7) != 0)
        return -1;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (tiny_checkpoint(at("%s", names[i]), &(struct tiny){.seed = i + 1}) != 0)
            return -1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_names),
        cmocka_unit_test(operands_are_by_step),
        cmocka_unit_test(results_are_by_step),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
