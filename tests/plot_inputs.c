#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/plot_inputs.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void script_only(const char *line)
{
    struct outcome o = finish(start(line, "/nonexistent"));

    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

char *script_of(const char *name)
{
    char *text = slurp(at("%s", name), NULL);

    if (!text)
        fail_msg("%s is not there", name);
    return text;
}

void assert_has(const char *name, const char *part)
{
    char *text = script_of(name);

    if (!strstr(text, part))
        fail_msg("%s has no \"%s\"", name, part);
    free(text);
}

void assert_lacks(const char *name, const char *part)
{
    char *text = script_of(name);

    if (strstr(text, part))
        fail_msg("%s has \"%s\"", name, part);
    free(text);
}

void script_with_warning(const char *line, const char *said)
{
    struct outcome o = finish(start(line, "/nonexistent"));

    if (o.status != 0 || !strstr(o.err, said))
        fail_msg("reach %s: exit %d: %s (expected \"%s\")", line, o.status, o.err, said);
    outcome_free(&o);
}

int plot_inputs(void **state)
{
    static const struct {
        const char *name;
        struct tiny shape;
    } models[] = {{"none", {.seed = 1, .layers = 2}},
                  {"window",
                   {.seed = 2, .layers = 2, .settings = "\"window\": 5, \"train_length\": 16,"}}};
    static const char measured[] = "erf window none --text text --length 64 --segments 4 "
                                   "--bootstrap 20 --quiet -o all --layer all "
                                   "--target-position 16,32 --attention --validate 3";
    static const char *const lines[] = {
        measured,
        "erf window --text text --length 32 --segments 3 --quiet -o step-3",
        "erf window --text text --length 32 --segments 3 --quiet -o step-20 --offset 200",
        "ppl window none --text text --context 8,16,32 --segments 9 --quiet -o all --per-token "
        "targets.csv",
        "erf window --text text --length 32 --segments 3 --validate 3 --quiet -o held",
        "trf window=./window -o all",
        "trf window=./window --epsilon 0.1 --epsilon 0.01 -o epsilons",
        "trf window=./window --epsilon 0.01:0.9:0.01 -o many",
        "bias alibi --heads 2 --length 32 -o all",
        "fit alibi --heads 2 --form a+b*t --range 0:20 -o all",
    };

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].shape) != 0)
            return -1;
    if (tiny_text(at("text"), 20000, 7) != 0)
        return -1;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        script_only(lines[i]);
    return mkdir(at("empty"), 0777);
}
