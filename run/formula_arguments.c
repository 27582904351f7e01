/* FORMULA, PRESET and MODEL arguments. */
#include "run/formula_arguments.h"

#include "io/checkpoint/hub.h"
#include "run/models.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *argument_after_name(const char *text, size_t *length)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || (n > 0 && text[n] && strchr("_.-", text[n])))
        n++;
    *length = n > 0 && text[n] == '=' && text[n + 1] != '=' && text[n + 1]
                  ? n
                  : 0; /* t==3 is a comparison */
    return *length ? text + n + 1 : text;
}

/* ---- slopes of released code ---- */

/* The head's slope of alibi_press as an expression, for presets with the slope k. */
#define PRESS_POWER "2^sum(i,1,30,2^i<=H)"
#define PRESS_SLOPE \
    "2^-(h<=" PRESS_POWER "?8*h/" PRESS_POWER ":4*(2*(h-" PRESS_POWER ")-1)/" PRESS_POWER ")"

static int is_one_of(const char *name, size_t length, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == length && memcmp(*names, name, length) == 0)
            return 1;
    return 0;
}

/* TEXT with alibi replaced by alibi_press, and with the released code's slope in presets whose k is
 * ALiBi's slope and that have no arguments. NULL: out of memory; the caller frees. `k_is_set`:
 * --set gives k. */
static char *with_press_slopes(const char *text, int k_is_set)
{
    static const char *const sloped[] = {"type1", "type2", "divergent_a", "divergent_b", NULL},
                             *const alibi[] = {"alibi", NULL};
    char *out = NULL;
    size_t size, i = 0;
    FILE *f = open_memstream(&out, &size);

    if (!f)
        return NULL;
    while (text[i]) {
        size_t n = 0, after;

        while (isalnum((unsigned char)text[i + n]) || text[i + n] == '_')
            n++;
        if (n == 0) {
            fputc(text[i++], f);
            continue;
        }
        fwrite(text + i, 1, n, f);
        if (is_one_of(text + i, n, alibi)) {
            fputs("_press", f);
        } else if (is_one_of(text + i, n, sloped) && !k_is_set) {
            after = i + n + strspn(text + i + n, " ");
            if (text[after] != '(') {
                fputs("(k=" PRESS_SLOPE ")", f);
            } else if (text[after + 1 + strspn(text + after + 1, " ")] == ')') {
                fputs("(k=" PRESS_SLOPE, f);
                i = after + 1 - n;
            }
        }
        i += n;
    }
    if (fclose(f) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

/* ---- formulas ---- */

/* Sets the parameters of F that --set names. */
static int apply_sets(struct formula *f, const char *text, const struct formula_options *o,
                      struct error *e)
{
    for (int i = 0; i < o->sets.count; i++)
        for (int p = 0; p < f->parameter_count; p++) {
            struct formula_error problem;

            if (!formula_set_names(o->sets.item[i], f->parameters[p].name))
                continue;
            if (formula_set_text(f, o->sets.item[i], &problem) != 0)
                return fail(e, "--set: \"%s\", at character %zu: %s", o->sets.item[i],
                            problem.at + 1, problem.message);
            if (f->parameters[p].count > 1 && f->parameters[p].count != o->heads)
                return fail(e,
                            "--set: \"%s\" gives %d values, but %s has %ld heads (expected 1 "
                            "value, or one for each head)",
                            o->sets.item[i], f->parameters[p].count, text, o->heads);
            break;
        }
    return 0;
}

/* Parses TEXT with all options applied. RUN_DONE, or RUN_USAGE with *e; *missing is set if only a
 * parameter's value is missing. */
static enum run_status read_formula(struct formula_argument *out, const char *text,
                                    const struct formula_options *o, int *missing, struct error *e)
{
    struct formula_error problem;
    struct formula *f;
    char *rewritten = NULL;
    int k_is_set = 0;
    const char *name;

    *missing = 0;
    for (int i = 0; i < o->sets.count; i++)
        k_is_set |= formula_set_names(o->sets.item[i], "k");
    f = formula_parse(text, &problem);
    if (f && o->press) { /* errors refer to the text as written */
        formula_free(f);
        rewritten = with_press_slopes(text, k_is_set);
        f = rewritten ? formula_parse(rewritten, &problem) : NULL;
        out->sloped = rewritten && (k_is_set || strcmp(rewritten, text) != 0);
        free(rewritten);
        if (!rewritten) {
            fail(e, "%s: out of memory", text);
            return RUN_FAILED;
        }
    }
    if (!f) {
        fail(e, "%s: %swrong at character %zu: %s", text,
             strpbrk(text, "(+*^?<>,") ? ""
                                       : "is neither a preset nor a path, and as a formula it is ",
             problem.at + 1, problem.message);
        return RUN_USAGE;
    }
    if (apply_sets(f, text, o, e) != 0)
        goto failed;
    name = formula_missing(f);
    if (name) {
        const struct formula_preset *near = formula_preset_find(text) ? NULL
                                                                      : formula_preset_near(name);

        fail(e, "%s: parameter '%s' has no value (expected --set %s=VALUE%s%s%s)", text, name, name,
             strcmp(name, "e") == 0 ? "; Euler's number is exp(1)"
             : formula_preset_find(text)
                 ? ""
                 : "; if no parameter is meant, this is neither a preset nor a path",
             near ? "; did you mean " : "", near ? near->name : "");
        *missing = 1;
        goto failed;
    }
    return biases_of_formula(&out->set, f, (int)o->heads, HEAD_SIZE_DEFAULT, e) == 0 ? RUN_DONE
                                                                                     : RUN_FAILED;
failed:
    formula_free(f);
    return RUN_USAGE;
}

/* ---- checkpoints ---- */

static enum run_status read_model(struct formula_argument *out, const char *path,
                                  const struct formula_options *o, struct progress *p,
                                  struct error *e)
{
    struct decoder *d = model_open(path, NULL, o->strict, p, e);
    enum run_status rc = d && biases_of_decoder(&out->set, d, e) == 0 ? RUN_DONE : RUN_FAILED;

    out->is_model = 1;
    decoder_close(d);
    return rc;
}

/* ---- arguments ---- */

static int begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

enum run_status formula_argument_read(struct formula_argument *out, const char *text,
                                      const struct formula_options *o, struct progress *p,
                                      struct error *e)
{
    size_t name_length;
    const char *body = argument_after_name(text, &name_length);
    int forced = begins_with(body, "/") || begins_with(body, "./") || begins_with(body, "../") ||
                 begins_with(body, "hf:"),
        missing = 0;
    enum run_status rc;
    struct stat found;

    memset(out, 0, sizeof *out);
    if (*body == 0) {
        fail(e, "an empty argument is neither a formula nor a path");
        return RUN_USAGE;
    }
    if (begins_with(body, "rope:")) {
        out->label = name_length ? strndup(text, name_length) : strdup(body);
        out->is_model = 1;
        rc = out->label && biases_of_rope(&out->set, body + strlen("rope:"), e) == 0 ? RUN_DONE
                                                                                     : RUN_USAGE;
    } else if (forced ||
               (!formula_preset_find(body) && body[0] != '-' && stat(body, &found) == 0)) {
        struct text_list one = {.item = &text, .count = 1};
        struct model_argument *named = NULL;

        if (model_arguments(&named, &one, NULL, e) != 0)
            return RUN_USAGE;
        out->label = strdup(named->name);
        rc = out->label && model_arguments_find(named, 1, p, e) == 0
                 ? read_model(out, named->path, o, p, e)
                 : RUN_FAILED;
        model_arguments_free(named, 1);
    } else {
        out->label = name_length ? strndup(text, name_length) : strdup(body);
        rc = out->label ? read_formula(out, body, o, &missing, e) : RUN_FAILED;
        if (missing && strchr(body, '/') && body[0] != '-') {
            fail(e,
                 "%s: no such file or folder (nor a formula whose parameters all have values%s%s)",
                 body, hub_is_name(body) ? "; a model in the cache would be hf:" : "",
                 hub_is_name(body) ? body : "");
            rc = RUN_FAILED;
        }
    }
    if (!out->label)
        fail(e, "%s: out of memory", text);
    if (rc != RUN_DONE)
        formula_argument_free(out);
    return rc;
}

void formula_argument_free(struct formula_argument *a)
{
    biases_free(&a->set);
    free(a->label);
    memset(a, 0, sizeof *a);
}

enum run_status formula_arguments_read(struct formula_argument **out, const struct text_list *texts,
                                       const struct formula_options *o, struct progress *p,
                                       struct error *e)
{
    struct formula_argument *all = calloc((size_t)texts->count + 1, sizeof *all);
    enum run_status rc = all ? RUN_DONE : RUN_FAILED;

    if (!all)
        fail(e, "out of memory for the arguments");
    for (int i = 0; i < texts->count && rc == RUN_DONE; i++)
        rc = formula_argument_read(&all[i], texts->item[i], o, p, e);
    if (rc == RUN_DONE)
        rc = formula_arguments_take(all, texts->count, o, e);
    if (rc == RUN_DONE)
        *out = all;
    else
        formula_arguments_free(all, texts->count);
    return rc;
}

void formula_arguments_free(struct formula_argument *a, int count)
{
    for (int i = 0; a && i < count; i++)
        formula_argument_free(&a[i]);
    free(a);
}
