/* Options that all runs share. */
#include "commands/run_options.h"
#include "commands/formula_arguments.h"

#include "analyze/formula.h"

#include <string.h>

int read_bias(const char *text, struct error *e)
{
    struct formula_error problem = {0, ""};
    struct formula *f = formula_parse(text, &problem);
    const char *missing;
    int rc = 0;

    if (!f)
        return fail(e, "--bias: \"%s\", at character %zu: %s", text, problem.at + 1, problem.message);
    missing = formula_missing(f);
    if (missing)
        rc = fail(e, "--bias: \"%s\" lacks its parameter %s (expected a value, as in alibi(delta=2))", text, missing);
    formula_free(f);
    return rc;
}

static int choose(const char *option, const char *value, const char *const *choices, const char *expected, struct error *e)
{
    for (; *choices; choices++)
        if (strcmp(value, *choices) == 0)
            return 0;
    return fail(e, "%s: \"%s\" is not valid (expected %s)", option, value, expected);
}

int read_bias_dtype(const char *text, struct error *e)
{
    static const char *const types[] = {"f32", "bf16", "f16", NULL};

    return choose("--bias-dtype", text, types, "f32, bf16 or f16", e);
}

int read_positions(const char *text, struct error *e)
{
    return strcmp(text, "none") == 0 ? 0 : fail(e, "--positions: \"%s\" is not valid (expected none)", text);
}

/* cuda or cuda:N */
static int is_cuda(const char *device)
{
    return strncmp(device, "cuda", 4) == 0 &&
           (device[4] == 0 || (device[4] == ':' && device[5] && device[5 + strspn(device + 5, "0123456789")] == 0));
}

int read_device(const char *text, struct error *e)
{
    static const char *const devices[] = {"auto", "cpu", NULL};

    return is_cuda(text) ? 0 : choose("--device", text, devices, "auto, cpu, cuda or cuda:N", e);
}

int read_dtype(const char *text, struct error *e)
{
    static const char *const dtypes[] = {"f32", "f64", "tf32", "bf16", NULL};

    return choose("--dtype", text, dtypes, "f32, f64, tf32 or bf16", e);
}

int read_heads(struct formula_options *o, const char *value, struct error *e)
{
    return read_whole("--heads", value, 1, HEADS_MAX, &o->heads, e);
}

int read_slopes(struct formula_options *o, const char *value, struct error *e)
{
    o->press = strcmp(value, "press") == 0;
    return o->press || strcmp(value, "paper") == 0 ? 0
                                                   : fail(e, "--slopes: \"%s\" is not valid (expected paper or press)", value);
}

void formula_options_write(FILE *f, const struct formula_options *o)
{
    if (o->heads != HEADS_DEFAULT)
        fprintf(f, " --heads %ld", o->heads);
    for (int i = 0; i < o->sets.count; i++) {
        fputs(" --set", f);
        command_word(f, o->sets.item[i]);
    }
    if (o->press)
        fputs(" --slopes press", f);
}
