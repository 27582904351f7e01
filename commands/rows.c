/* Valid values of options shared by several verbs. */
#include "commands/rows.h"

#include "analyze/formula.h"
#include "io/order.h"
#include "model/rope.h"
#include "run/shared_options.h"

#include <stdlib.h>
#include <string.h>

const char *const picture_formats[] = {"png", "svg", "pdf", "tikz", NULL};
const char *const device_choices[] = {"auto", "cpu", "cuda", NULL};
const char *const dtype_choices[] = {"f32", "f64", "tf32", "bf16", "bf16x3", NULL};
const char *const keep_choices[] = {"f32", "bf16", NULL};
const char *const bias_dtype_choices[] = {"f32", "bf16", "f16", NULL};
const char *const positions_choices[] = {"", "none", NULL};
const char *const none_choices[] = {"none", NULL};
const char *const slopes_choices[] = {"paper", "press", NULL};
const char *const records_choices[] = {"apart", "joined", NULL};
const char *const tokens_dtype_choices[] = {
    [TOKENS_BY_CONTENT] = "",   [TOKENS_UINT8] = "uint8",   [TOKENS_UINT16] = "uint16",
    [TOKENS_UINT32] = "uint32", [TOKENS_UINT64] = "uint64", [TOKENS_INT16] = "int16",
    [TOKENS_INT32] = "int32",   [TOKENS_INT64] = "int64",   NULL};

const char *const bos_choices[] = {
    [BOS_AUTO] = "auto", [BOS_ALWAYS] = "always", [BOS_NEVER] = "never", NULL};

int check_bias(const char *text, struct error *e)
{
    struct formula_error problem = {0, ""};
    struct formula *f = formula_parse(text, &problem);
    const char *missing;
    int rc = 0;

    if (!f)
        return fail(e, "--bias: \"%s\", at character %zu: %s", text, problem.at + 1,
                    problem.message);
    missing = formula_missing(f);
    if (missing) {
        const struct formula_preset *near = formula_preset_find(text)
                                                ? NULL
                                                : formula_preset_near(missing);

        rc = fail(
            e, "--bias: \"%s\": parameter %s has no value (expected one, as in alibi(delta=2)%s%s)",
            text, missing, near ? "; did you mean " : "", near ? near->name : "");
    }
    formula_free(f);
    return rc;
}

int read_targets(size_t targets[TARGETS_MAX], size_t *count, const char *value, struct error *e)
{
    for (const char *rest = value; rest; rest = strchr(rest, ',') ? strchr(rest, ',') + 1 : NULL) {
        size_t length = strcspn(rest, ","), known = 0;
        char one[32];
        long whole;

        if (length >= sizeof one)
            return fail(e, "--target-position: \"%.*s\" is not valid (expected a whole number)",
                        (int)length, rest);
        snprintf(one, sizeof one, "%.*s", (int)length, rest);
        if (read_whole("--target-position", one, 2, 1L << 30, &whole, e) != 0)
            return -1;
        while (known < *count && targets[known] != (size_t)whole)
            known++;
        if (known < *count)
            continue;
        if (*count == TARGETS_MAX)
            return fail(e, "--target-position: too many (expected at most %d in all)", TARGETS_MAX);
        targets[(*count)++] = (size_t)whole;
    }
    qsort(targets, *count, sizeof *targets, order_sizes);
    return 0;
}

int write_targets(FILE *f, const size_t *targets, size_t count, int nth)
{
    for (size_t i = 0; i < count && nth == 0; i++)
        fprintf(f, "%s%zu", i ? "," : "", targets[i]);
    return nth == 0 && count > 0;
}

int check_rope(const char *text, struct error *e)
{
    struct rope_spec s;

    return rope_parse(&s, text, e);
}

int check_encoding(const struct encoding_options *o, struct error *e)
{
    if (o->rope && o->positions_none)
        return fail(e, "--rope and --positions none are both given (expected one of them: rotary "
                       "positions, or none)");
    return 0;
}

int check_keep(const struct machine_options *o, struct error *e)
{
    if (o->keep_bf16 && strcmp(o->dtype, "f64") == 0)
        return fail(e, "--keep bf16 and --dtype f64 are both given (expected one of them: bf16 "
                       "rounds what f64 is to keep)");
    return 0;
}

/* cuda or cuda:N */
static int is_cuda(const char *device)
{
    return strncmp(device, "cuda", 4) == 0 &&
           (device[4] == 0 ||
            (device[4] == ':' && device[5] && device[5 + strspn(device + 5, "0123456789")] == 0));
}

int check_device(const char *text, struct error *e)
{
    return is_cuda(text) || strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0
               ? 0
               : fail(e, "--device: \"%s\" is not valid (expected auto, cpu, cuda or cuda:N)",
                      text);
}
