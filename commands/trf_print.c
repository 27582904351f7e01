/* What `reach trf` prints: a table an encoding, proofs, and the ranking of several encodings. */
#include "commands/trf.h"

#include "commands/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers for people ---- */

/* As many digits as both ends share, up to 10; an interval where they share fewer than 4. */
static void sum_text(char out[64], double lo, double hi)
{
    char other[64];

    if (isnan(lo)) {
        snprintf(out, 64, "-");
    } else if (lo == INFINITY) {
        snprintf(out, 64, "inf");
    } else if (hi == INFINITY) {
        char least[64];
        snprintf(out, 64, ">= %.40s", series_bound_text(least, lo, 0, 6));
    } else {
        for (int digits = 10; digits >= 4; digits--) {
            snprintf(out, 64, "%.*g", digits, lo);
            snprintf(other, 64, "%.*g", digits, hi);
            if (strcmp(out, other) == 0)
                return;
        }
        char least[64], greatest[64];
        snprintf(out, 64, "[%.24s, %.24s]", series_bound_text(least, lo, 0, 6), series_bound_text(greatest, hi, 1, 6));
    }
}

/* "0.01" of what was typed, ".01" or "1e-2". */
static const char *epsilon_text(char out[32], const char *typed)
{
    snprintf(out, 32, "%.10g", strtod(typed, NULL));
    return out;
}

/* ---- one encoding ---- */

/* What is above a table: the name, its formula where that is another text, its layers and heads. */
static void print_title(const struct formula_argument *a, int bias)
{
    const struct layer_bias *b = &a->set.biases[bias];
    char layers[128];

    bias_layers_text(layers, sizeof layers, &a->set, bias);
    printf("%s", a->label);
    if (layers[0])
        printf(", %s", layers);
    if (b->formula && strcmp(a->label, b->formula->source) != 0 && strlen(b->formula->source) <= 100)
        printf(": %s", b->formula->source);
    if (bias_rows(&a->set, b) > 1)
        printf(", %d heads", a->set.heads);
    else if (b->formula)
        printf(", all heads alike");
    putchar('\n');
    if (b->reason[0])
        printf("not applicable: %s%s\n", b->reason, b->formula ? "; of the window alone:" : "");
}

/* Which columns a table has beside the numbers. */
struct columns {
    int closed_form, window;
};

static void print_header(struct table *t, const struct trf_run *r, const struct columns *has)
{
    const struct trf_options *o = r->options;

    table_cell(t, "head");
    table_cell(t, "verdict");
    table_cell(t, "B");
    for (int length = 0; length <= o->length_count; length++)
        for (int depth = 0; depth < r->depths; depth++)
            for (int i = 0; i < o->epsilon_count; i++) {
                char epsilon[32], layers[32] = "", keys[48] = "";

                epsilon_text(epsilon, o->epsilons[i]);
                if (depth)
                    snprintf(layers, sizeof layers, "_%ld", o->layers);
                if (length)
                    snprintf(keys, sizeof keys, ", L=%llu", (unsigned long long)o->lengths[length - 1]);
                table_cell(t, "TRF%s(%s%s)", layers, epsilon, keys);
            }
    if (has->window && r->depths > 1) {
        table_cell(t, "w R");
        table_cell(t, "cone");
    }
    if (has->closed_form)
        table_cell(t, "closed form");
}

static void print_row(struct table *t, const struct trf_run *r, const struct trf_head *head, const struct columns *has)
{
    const struct layer_bias *b = &r->arguments[head->argument].set.biases[head->bias];
    char text[128];
    double value;

    if (head->head)
        table_cell(t, "%d", head->head);
    else
        table_cell(t, head->averaged ? "all (mean)" : "all");
    table_cell(t, "%s", head->series ? series_verdict_name(series_verdict(head->series)) : "by length");
    sum_text(text, head->values[0].sum_lo, head->values[0].sum_hi);
    table_cell(t, "%s", text);
    for (int length = 0; length <= r->options->length_count; length++)
        for (int depth = 0; depth < r->depths; depth++)
            for (int i = 0; i < r->options->epsilon_count; i++) {
                trf_count_text(text, &head->values[trf_index(r, length, depth, i)].count);
                table_cell(t, "%s", text);
            }
    if (has->window && r->depths > 1) {
        table_cell(t, "%.0f", (double)b->window * (double)r->options->layers);
        table_cell(t, "%.0f", (double)r->options->layers * ((double)b->window - 1) + 1);
    }
    if (has->closed_form) {
        if (head->series && series_closed_form(head->series, strtod(r->options->epsilons[0], NULL), &value, text))
            table_cell(t, "%.8g", value);
        else
            table_cell(t, "-");
    }
}

/* The proofs of heads first .. last-1, equal ones once. */
static void print_proofs(const struct trf_run *r, int first, int last)
{
    for (int i = first, end; i < last; i = end) {
        const char *proof = r->heads[i].series ? series_proof(r->heads[i].series) : NULL;

        end = i + 1;
        if (!proof)
            continue;
        while (end < last && r->heads[end].series && r->heads[i].head && r->heads[end].head &&
               strcmp(proof, series_proof(r->heads[end].series)) == 0)
            end++;
        if (!r->heads[i].head)
            printf("  all heads:\n");
        else if (end == i + 1)
            printf("  head %d:\n", r->heads[i].head);
        else
            printf("  heads %d to %d:\n", r->heads[i].head, r->heads[end - 1].head);
        for (const char *line = proof; *line;) {
            int length = (int)strcspn(line, "\n");

            printf("    %.*s\n", length, line);
            line += length + (line[length] == '\n');
        }
    }
}

/* The table of heads first .. last-1, which share a bias. */
static int print_bias(const struct trf_run *r, int first, int last, struct error *e)
{
    const struct trf_options *o = r->options;
    const struct trf_head *top = &r->heads[first];
    const struct formula_argument *a = &r->arguments[top->argument];
    int numbers = (1 + o->length_count) * r->depths * o->epsilon_count, rc;
    struct columns has = {.window = a->set.biases[top->bias].window > 0};
    char *alignment, formula[128] = "";
    struct table *t;
    double value;

    print_title(a, top->bias);
    if (!top->values)
        return 0;
    for (int i = first; i < last; i++)
        if (r->heads[i].series && series_closed_form(r->heads[i].series, strtod(o->epsilons[0], NULL), &value, formula))
            has.closed_form = 1;
    alignment = malloc((size_t)numbers + 8);
    if (!alignment)
        return fail(e, "out of memory for the table");
    memcpy(alignment, "rlr", 3);
    memset(alignment + 3, 'r', (size_t)numbers);
    snprintf(alignment + 3 + numbers, 5, "%s%s", has.window && r->depths > 1 ? "rr" : "", has.closed_form ? "r" : "");
    t = table_create(alignment);
    if (t) {
        print_header(t, r, &has);
        for (int i = first; i < last; i++)
            if (!r->heads[i].averaged || a->is_model)
                print_row(t, r, &r->heads[i], &has);
    }
    rc = t ? table_print(stdout, t) : -1;
    table_free(t);
    free(alignment);
    if (rc != 0)
        return fail(e, "out of memory for the table");
    if (has.closed_form)
        printf("closed form [B], eps %s: %s\n", o->epsilons[0], formula);
    if (o->explain) {
        while (last > first && r->heads[last - 1].averaged && !a->is_model)
            last--;
        print_proofs(r, first, last);
    }
    return 0;
}

/* ---- ranking ---- */

/* What an encoding is ranked by: its mean kernel where heads differ. */
struct place {
    int argument, bias;
    const struct trf_head *by;
    const struct trf_value *value;
};

/* Of the infinite series where it converges; else of the greatest length asked for. */
static const struct trf_value *ranked_value(const struct trf_run *r, const struct trf_head *head)
{
    const struct trf_value *v = &head->values[0];
    uint64_t longest = 0;

    if (head->series && series_verdict(head->series) == SERIES_CONVERGES)
        return v;
    for (int i = 0; i < r->options->length_count; i++)
        if (r->options->lengths[i] > longest) {
            longest = r->options->lengths[i];
            v = &head->values[trf_index(r, i + 1, 0, 0)];
        }
    return v;
}

static int is_finite_field(const struct place *p)
{
    return p->by->series && series_verdict(p->by->series) == SERIES_CONVERGES;
}

static int by_field(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int finite = is_finite_field(y) - is_finite_field(x);
    double p = x->value->count.log10_lo, q = y->value->count.log10_lo;

    if (finite)
        return finite;
    p = isnan(p) ? INFINITY : p;
    q = isnan(q) ? INFINITY : q;
    if (p != q)
        return p < q ? -1 : 1;
    return x->argument != y->argument ? x->argument - y->argument : x->bias - y->bias;
}

/* Heads of a place, without the mean kernel. */
static const struct trf_head *heads_of(const struct trf_run *r, const struct place *p, int *count)
{
    const struct trf_head *first = NULL;

    *count = 0;
    for (int i = 0; i < r->head_count; i++)
        if (r->heads[i].argument == p->argument && r->heads[i].bias == p->bias && !r->heads[i].averaged) {
            first = first ? first : &r->heads[i];
            ++*count;
        }
    return first;
}

/* *proved 1 if for every head f/g never increases, which orders the mean kernels too: each head's share within j distances is the
 * larger, so their mean is. `why` is that of the last head. */
static int prove_order(int *proved, char why[256], const struct trf_run *r, const struct place *f, const struct place *g,
                       struct error *e)
{
    int count_f, count_g, heads;
    const struct trf_head *first_f = heads_of(r, f, &count_f), *first_g = heads_of(r, g, &count_g);

    *proved = 0;
    heads = count_f > count_g ? count_f : count_g;
    if (!first_f || !first_g || (count_f != heads && count_f != 1) || (count_g != heads && count_g != 1))
        return 0;
    for (int h = 0; h < heads; h++) {
        const struct trf_head *a = first_f + (count_f == 1 ? 0 : h), *b = first_g + (count_g == 1 ? 0 : h);
        struct formula_error problem;
        int order;

        if (!a->series || !b->series)
            return 0;
        if (series_compare(a->series, b->series, &order, why, &problem) != 0)
            return fail(e, "%s against %s: %s", r->arguments[f->argument].label, r->arguments[g->argument].label,
                        problem.message);
        if (order != -1)
            return 0;
    }
    *proved = 1;
    return 0;
}

static void place_name(char *out, size_t size, const struct trf_run *r, const struct place *p)
{
    const struct formula_argument *a = &r->arguments[p->argument];
    char layers[64];

    bias_layers_text(layers, sizeof layers, &a->set, p->bias);
    snprintf(out, size, "%.80s%s%s", a->label, layers[0] ? ", " : "", layers);
}

/* 1 if the bounds of the two show that a's count is not the larger. */
static int bounds_order(const struct place *a, const struct place *b)
{
    const struct series_count *x = &a->value->count, *y = &b->value->count;

    if (x->hi && y->lo) {
        size_t i = strlen(x->hi), k = strlen(y->lo);

        return i < k || (i == k && strcmp(x->hi, y->lo) <= 0);
    }
    return x->log10_hi <= y->log10_lo;
}

static int print_ranking(const struct trf_run *r, struct error *e)
{
    struct place *places = calloc((size_t)r->head_count + 1, sizeof *places);
    int count = 0, rc = -1;

    if (!places)
        return fail(e, "out of memory for the ranking");
    for (int i = 0; i < r->head_count; i++) {
        const struct trf_head *head = &r->heads[i];

        if (!head->values || (head->head && !(bias_rows(&r->arguments[head->argument].set,
                                                        &r->arguments[head->argument].set.biases[head->bias]) == 1)))
            continue;
        places[count++] = (struct place){head->argument, head->bias, head, ranked_value(r, head)};
    }
    rc = 0;
    if (count < 2)
        goto end;
    qsort(places, (size_t)count, sizeof *places, by_field);
    printf("\nranking by TRF(%s), shortest first (of the mean kernel where heads differ)\n", r->options->epsilons[0]);
    for (int i = 0; i < count && rc == 0; i++) {
        char name[160], text[128], why[256];
        int proved = 0;

        place_name(name, sizeof name, r, &places[i]);
        trf_count_text(text, &places[i].value->count);
        printf("%3d. %s: %s", i + 1, name, text);
        if (!is_finite_field(&places[i]))
            printf(" (%s%s)",
                   places[i].by->series ? series_verdict_name(series_verdict(places[i].by->series)) : "differs by length",
                   isnan(places[i].value->count.log10_lo) ? "" : "; of the longest length given");
        putchar('\n');
        if (i + 1 == count)
            break;
        rc = prove_order(&proved, why, r, &places[i], &places[i + 1], e);
        if (rc != 0)
            break;
        if (proved)
            printf("     not above the next for every eps and head, proved: %s\n", why);
        else if (is_finite_field(&places[i]) && places[i + 1].by->series &&
                 series_verdict(places[i + 1].by->series) == SERIES_DIVERGES)
            printf("     below the next, whose series diverges\n");
        else if (bounds_order(&places[i], &places[i + 1]))
            printf("     not above the next by the numbers, at this eps\n");
        else
            printf("     not told apart from the next\n");
    }
end:
    free(places);
    return rc;
}

/* ---- the whole ---- */

static void print_model_lines(const struct formula_argument *a)
{
    printf("%s: %s, %d layers, %d heads\n", a->label, a->set.position, a->set.layers, a->set.heads);
    if (a->set.cone)
        printf("exact cone of its windows: %ld tokens\n", a->set.cone);
}

int trf_print(const struct trf_run *r, struct error *e)
{
    for (int first = 0, last; first < r->head_count; first = last) {
        const struct trf_head *head = &r->heads[first];

        for (last = first + 1;
             last < r->head_count && r->heads[last].argument == head->argument && r->heads[last].bias == head->bias; last++)
            ;
        if (first > 0)
            putchar('\n');
        if (head->bias == 0 && r->arguments[head->argument].is_model)
            print_model_lines(&r->arguments[head->argument]);
        if (print_bias(r, first, last, e) != 0)
            return -1;
    }
    return print_ranking(r, e);
}

int trf_print_summary(const struct decoder *d, struct error *e)
{
    struct trf_options options = {.formulas = {.heads = 1}, .epsilons = {"0.01"}, .epsilon_count = 1, .layers = 1};
    struct trf_run r = {.options = &options, .count = 1};
    int rc = -1;

    r.arguments = calloc(1, sizeof *r.arguments);
    if (!r.arguments)
        return fail(e, "out of memory");
    r.arguments->label = strdup(d->path);
    if (!r.arguments->label) {
        fail(e, "out of memory");
        goto end;
    }
    if (biases_of_decoder(&r.arguments->set, d, e) != 0)
        goto end;
    if (r.arguments->set.uses_length) {
        printf("TRF(0.01)      by length: the bias uses L (reach trf %s --length N)\n", d->path);
        rc = 0;
        goto end;
    }
    if (trf_analyze(&r, e) != RUN_DONE)
        goto end;
    for (int i = 0; i < r.head_count; i++) {
        const struct trf_head *head = &r.heads[i];
        const struct layer_bias *b = &r.arguments->set.biases[head->bias];
        char layers[128], text[128];
        int begins = i == 0 || r.heads[i - 1].bias != head->bias;

        if (begins) {
            bias_layers_text(layers, sizeof layers, &r.arguments->set, head->bias);
            printf("%s%s%s%s", i ? "               " : "TRF(0.01)      ", layers, layers[0] ? ": " : "",
                   b->reason[0] ? "not applicable, " : "");
            if (b->reason[0])
                printf("%s%s", b->reason, head->values ? "; of the window alone: " : "");
        }
        if (head->values) {
            trf_count_text(text, &head->values[0].count);
            printf("%s%s%s",
                   head->averaged ? "; mean kernel "
                   : begins       ? ""
                                  : " ",
                   text,
                   series_verdict(head->series) == SERIES_CONVERGES || head->averaged ? ""
                   : series_verdict(head->series) == SERIES_DIVERGES                  ? " (diverges)"
                                                                                      : " (undecided)");
        }
        if (i + 1 == r.head_count || r.heads[i + 1].bias != head->bias)
            putchar('\n');
    }
    rc = 0;
end:
    trf_run_free(&r);
    return rc;
}
