/* What was proved, in numbers, for tests/certificate.py or any other checker: doc/certificate.md.
 */
#include "run/trf/trf.h"

#include "io/system/atomic.h"
#include "version.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t PARTIAL[] = {64, 1000}; /* distances with stated sums */

static void write_line(FILE *f, const char *text)
{
    for (; *text; text++)
        fputc(isspace((unsigned char)*text) ? ' ' : *text, f);
    fputc('\n', f);
}

/* 1 if the name occurs in the text as a word. */
static int names(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = text; (at = strstr(at, name)) != NULL; at += n) {
        int before = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');

        if (!before && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return 1;
    }
    return 0;
}

/* The formula, and everything its value depends on. */
static void write_formula(FILE *f, const struct trf_run *r, const struct trf_head *head)
{
    const struct bias_set *set = &r->arguments[head->argument].set;
    const struct formula *b = set->biases[head->bias].formula;

    fputs("formula ", f);
    write_line(f, b->source);
    for (int i = 0; i < formula_preset_count; i++)
        if (names(b->source, formula_presets[i].name))
            fprintf(f, "preset %s(%s) %s\n", formula_presets[i].name, formula_presets[i].parameters,
                    formula_presets[i].body);
    for (int i = 0; i < b->parameter_count; i++) {
        const struct formula_parameter *p = &b->parameters[i];
        int k = p->count > 1 ? (head->head ? head->head : 1) - 1 : 0;

        if (p->count && p->decimal && p->decimal[k])
            fprintf(f, "set %s %s\n", p->name, p->decimal[k]);
        else if (p->count)
            fprintf(f, "set %s %a\n", p->name, p->value[k]);
    }
    fprintf(f, "at h %d H %d d %d\n", head->head ? head->head : 1, set->heads, set->head_size);
}

static int write_bounds(FILE *f, const char *what, double lo, double hi)
{
    char text[2][64];

    return fprintf(f, "%s %s %s\n", what, series_bound_text(text[0], lo, 0, 0),
                   series_bound_text(text[1], hi, 1, 0));
}

static void write_field(FILE *f, const char *epsilon, uint64_t length, const struct series_count *c)
{
    if (!c->lo && isnan(c->log10_lo))
        return;
    fprintf(f, "field %s length ", epsilon);
    if (length)
        fprintf(f, "%llu", (unsigned long long)length);
    else
        fputs("inf", f);
    if (c->lo || c->hi)
        fprintf(f, " %s %s\n", c->lo ? c->lo : "0", c->hi ? c->hi : "inf");
    else
        write_bounds(f, " log10", c->log10_lo, c->log10_hi);
}

static int write_head(FILE *f, const struct trf_run *r, const struct trf_head *head,
                      struct error *e)
{
    const struct trf_options *o = r->options;
    const char *label = r->arguments[head->argument].label;
    struct formula_error problem;
    struct series_count count;
    char *proved = series_certificate(head->series), what[64];
    double lo, hi;

    if (!proved)
        return fail(e, "%s: out of memory", label);
    write_formula(f, r, head);
    fprintf(f, "%s\n", proved);
    free(proved);
    for (size_t i = 0; i < sizeof PARTIAL / sizeof *PARTIAL; i++) {
        if (series_trf_finite(head->series, "0.5", PARTIAL[i], &count, &lo, &hi, &problem) != 0)
            continue; /* no mass so early */
        series_count_free(&count);
        snprintf(what, sizeof what, "partial %llu", (unsigned long long)PARTIAL[i]);
        write_bounds(f, what, lo, hi);
    }
    write_bounds(f, "sum", head->values->sum_lo, head->values->sum_hi);
    for (int length = 0; length <= o->length_count; length++)
        for (int i = 0; i < o->epsilon_count; i++)
            write_field(f, o->epsilons[i], length ? o->lengths[length - 1] : 0,
                        &head->values[trf_index(r, length, 0, i)].count);
    fputs("end\n", f);
    return 0;
}

int trf_write_certificate(const struct trf_run *r, struct error *e)
{
    struct atomic_file out;
    int rc = 0;

    if (atomic_open(&out, r->options->certificate, e) != 0)
        return -1;
    fputs("reach-certificate 1 " REACH_VERSION "\n", out.stream);
    for (int i = 0; i < r->head_count && rc == 0; i++)
        if (r->heads[i].series && !r->heads[i].averaged)
            rc = write_head(out.stream, r, &r->heads[i], e);
    if (rc == 0)
        return atomic_commit(&out, e);
    atomic_abandon(&out);
    return -1;
}
