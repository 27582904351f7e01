/* The output of `reach trf`: a table for each encoding, proofs, and the ranking. */
#include "commands/trf.h"

#include "commands/notes.h"
#include "commands/screen.h"
#include "commands/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers for people ---- */

/* As many digits as both ends share, up to 10; an interval if they share fewer than 4. */
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
        snprintf(out, 64, "[%.24s, %.24s]", series_bound_text(least, lo, 0, 6),
                 series_bound_text(greatest, hi, 1, 6));
    }
}

/* "0.01", also for a typed ".01" or "1e-2". */
static const char *epsilon_text(char out[32], const char *typed)
{
    double value = strtod(typed, NULL);
    snprintf(out, 32, "%.10g", value);
    if (value < 1e-300 || strcmp(out, "1") == 0) /* not distinguishable from 0 or 1 as a double */
        snprintf(out, 32, "%.31s", typed);
    return out;
}

/* ---- one encoding ---- */

/* What is above a table: the name, its formula if different, its layers and heads, and why only its
 * window counts. */
static void put_title(FILE *f, const struct formula_argument *a, int bias)
{
    const struct layer_bias *b = &a->set.biases[bias];
    char layers[128];

    bias_layers_text(layers, sizeof layers, &a->set, bias);
    fputs(screen_text(a->label), f);
    if (layers[0])
        fprintf(f, ", %s", layers);
    if (b->formula && strcmp(a->label, b->formula->source) != 0 &&
        strlen(b->formula->source) <= 100)
        fprintf(f, ": %s", screen_text(b->formula->source));
    if (b->decays)
        fputs(", fixed decays", f);
    if (bias_rows(&a->set, b) > 1)
        fprintf(f, ", %d heads", a->set.heads);
    else if (b->formula)
        fputs(", all heads alike", f);
    if (b->reason[0])
        fprintf(f,
                b->formula ? "; not applicable: %s; of the window alone" : ": not applicable: %s",
                screen_text(b->reason));
}

/* The same; the caller frees. NULL: out of memory. */
static char *title_of(const struct formula_argument *a, int bias)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    put_title(f, a, bias);
    if (!(ferror(f) | fclose(f)))
        return text;
    free(text);
    return NULL;
}

/* The columns of a table other than the numbers. */
struct columns {
    int closed_form, window;
};

static void print_header(struct table *t, const struct trf_run *r, const struct columns *has)
{
    const struct trf_options *o = r->options;
    char epsilon[32];

    table_cell(t, "head");
    table_cell(t, "verdict");
    table_cell(t, "B");
    for (int length = 0; length <= o->length_count; length++)
        for (int depth = 0; depth < r->depths; depth++)
            for (int i = 0; i < o->epsilon_count; i++) {
                char layers[32] = "", keys[48] = "";

                epsilon_text(epsilon, o->epsilons[i]);
                if (depth)
                    snprintf(layers, sizeof layers, "_%ld", o->layers);
                if (length)
                    snprintf(keys, sizeof keys, ", L=%llu",
                             (unsigned long long)o->lengths[length - 1]);
                table_cell(t, "TRF%s(%s%s)", layers, epsilon, keys);
            }
    if (has->window && r->depths > 1) {
        table_cell(t, "w R");
        table_cell(t, "cone");
    }
    if (has->closed_form && o->epsilon_count > 1)
        table_cell(t, "closed form(%s)", epsilon_text(epsilon, o->epsilons[0]));
    else if (has->closed_form)
        table_cell(t, "closed form");
}

static void print_row(struct table *t, const struct trf_run *r, const struct trf_head *head,
                      const struct columns *has)
{
    const struct layer_bias *b = &r->arguments[head->argument].set.biases[head->bias];
    char text[128];
    double value;

    if (head->head)
        table_cell(t, "%d", head->head);
    else
        table_cell(t, head->averaged ? "all (mean)" : "all");
    table_cell(t, "%s",
               head->series ? series_verdict_name(series_verdict(head->series)) : "by length");
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
        if (head->series &&
            series_closed_form(head->series, strtod(r->options->epsilons[0], NULL), &value, text))
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
            screen_say("  all heads:\n");
        else if (end == i + 1)
            screen_say("  head %d:\n", r->heads[i].head);
        else
            screen_say("  heads %d to %d:\n", r->heads[i].head, r->heads[end - 1].head);
        for (const char *line = proof; *line;) {
            int length = (int)strcspn(line, "\n");

            screen_say("    %.*s\n", length, line);
            line += length + (line[length] == '\n');
        }
    }
}

/* 1 if some result of the head could be narrower. */
static int is_open(const struct trf_head *head, int numbers)
{
    int open = 0;

    for (int i = 0; i < numbers; i++) {
        const struct trf_value *v = &head->values[i];

        open |= v->verdict == SERIES_UNDECIDED ||
                (!isnan(v->count.log10_lo) && !series_count_exact(&v->count));
    }
    return open;
}

/* 1 if one of the heads first .. last-1 has a closed form, the last of which becomes `formula`. */
static int has_closed_form(const struct trf_run *r, int first, int last, char formula[128])
{
    double epsilon = strtod(r->options->epsilons[0], NULL), value;
    int found = 0;

    for (int i = first; i < last; i++)
        found |= r->heads[i].series &&
                 series_closed_form(r->heads[i].series, epsilon, &value, formula);
    return found;
}

/* 1 if the table of these heads has a column of closed forms. On a screen those do that have one;
 * in a format for papers and programs all tables of a command have the same columns, and in LaTeX
 * the column is left out for the numbers that were asked for. */
static int show_closed_form(const struct trf_run *r, int first, int last, char formula[128])
{
    char unused[128];
    int one = has_closed_form(r, first, last, formula);

    if (table_chosen() == TABLE_TEXT)
        return one;
    return has_closed_form(r, 0, r->head_count, unused) &&
           (table_chosen() != TABLE_LATEX || screen_is_wide());
}

/* The table of heads first .. last-1, which share a bias. */
static int print_bias(const struct trf_run *r, int first, int last, struct error *e)
{
    const struct trf_options *o = r->options;
    const struct trf_head *top = &r->heads[first];
    const struct formula_argument *a = &r->arguments[top->argument];
    int numbers = (1 + o->length_count) * r->depths * o->epsilon_count;
    struct columns has = {.window = a->set.biases[top->bias].window > 0};
    char *alignment, *title = title_of(a, top->bias), formula[128] = "";
    struct table *t;

    if (title && !top->values) {
        screen_say("%s%s\n", first && (top->bias || !a->is_model) ? "\n" : "", title);
        free(title);
        return 0;
    }
    has.closed_form = show_closed_form(r, first, last, formula);
    alignment = title ? malloc(2 * (size_t)numbers + 16) : NULL;
    if (!alignment) {
        free(title);
        return table_show(NULL, e);
    }
    strcpy(alignment, "rlrr");
    for (int i = 1; i < numbers; i++)
        strcat(alignment, "r9");
    strcat(alignment, has.window && r->depths > 1 ? "r1r1" : "");
    strcat(alignment, has.closed_form ? "r1" : "");
    t = table_create(alignment);
    if (t) {
        table_caption(t, "%s", title);
        print_header(t, r, &has);
        for (int i = first; i < last; i++)
            print_row(t, r, &r->heads[i], &has);
        if (has.closed_form && formula[0])
            table_note(t, "closed form [B], eps %s: %s", o->epsilons[0], formula);
    }
    free(alignment);
    free(title);
    if (table_show(t, e) != 0)
        return -1;
    for (int i = first; i < last; i++)
        if (r->heads[i].series && series_spent(r->heads[i].series) &&
            is_open(&r->heads[i], numbers)) {
            if (o->effort > 0)
                screen_say("the search ended while %s: an effort of %g s is not enough\n",
                           series_spent(r->heads[i].series), o->effort);
            else
                screen_say("the search ended while %s; --effort S gives it S seconds\n",
                           series_spent(r->heads[i].series));
            break;
        }
    if (o->explain) {
        while (last > first && r->heads[last - 1].averaged && !a->is_model)
            last--;
        print_proofs(r, first, last);
    }
    return 0;
}

/* ---- ranking ---- */

static void place_name(char *out, size_t size, const struct trf_run *r, const struct trf_place *p)
{
    const struct formula_argument *a = &r->arguments[p->argument];
    char layers[64];

    bias_layers_text(layers, sizeof layers, &a->set, p->bias);
    snprintf(out, size, "%.80s%s%s", a->label, layers[0] ? ", " : "", layers);
}

static void print_ranking(const struct trf_run *r)
{
    if (r->place_count < 2)
        return;
    screen_say("\nranking by TRF(%s), shortest first (by the mean kernel if heads differ)\n",
               r->options->epsilons[0]);
    for (int i = 0; i < r->place_count; i++) {
        const struct trf_place *p = &r->places[i];
        char name[160], text[128];

        place_name(name, sizeof name, r, p);
        trf_count_text(text, &p->value->count);
        screen_say("%3d. %s: %s", i + 1, screen_text(name), text);
        if (!trf_is_finite(p))
            screen_say(" (%s%s)",
                       p->by->series ? series_verdict_name(series_verdict(p->by->series))
                                     : "differs by length",
                       isnan(p->value->count.log10_lo) ? "" : "; of the longest length given");
        screen_say("\n");
        if (i + 1 == r->place_count)
            break;
        switch (p->order) {
        case TRF_PROVED:
            screen_say("     no longer than the next for every eps and head, proved: %s\n",
                       screen_text(p->why));
            break;
        case TRF_NEXT_DIVERGES:
            screen_say("     shorter than the next, whose series diverges\n");
            break;
        case TRF_BY_NUMBERS:
            screen_say("     no longer than the next by the numbers, at this eps\n");
            break;
        case TRF_UNKNOWN: screen_say("     cannot be distinguished from the next\n"); break;
        }
    }
}

/* ---- the whole ---- */

static void print_model_lines(const struct formula_argument *a, int gap)
{
    screen_say("%s%s: %s", gap ? "\n" : "", screen_text(a->label), screen_text(a->set.position));
    if (a->set.layers)
        screen_say(", %d layers, %d heads", a->set.layers, a->set.heads);
    screen_say("\n");
    if (a->set.cone)
        screen_say("exact cone of its layers: %ld tokens\n", a->set.cone);
}

/* Truncated, so that a share below 1 is not shown as 100 %. 1 if it was printed, or would have been
 * for fewer arguments. */
static int print_share(const struct trf_run *r, int argument)
{
    const struct trf_share *u = &r->shares[argument];

    if (isnan(u->share))
        return 0;
    if (r->count <= SENTENCES_MOST)
        screen_say("%.1f %% of the weight that %d layer%s give%s to %zu distances is within the "
                   "training length of %zu\n",
                   floor(1000 * u->share + 1e-9) / 10, u->layers, u->layers == 1 ? "" : "s",
                   u->layers == 1 ? "s" : "", SHARE_DISTANCES * u->train_length, u->train_length);
    return 1;
}

int trf_print(const struct trf_run *r, struct error *e)
{
    char unused[128];
    int told = 0;

    for (int first = 0, last; first < r->head_count; first = last) {
        const struct trf_head *head = &r->heads[first];

        for (last = first + 1; last < r->head_count && r->heads[last].argument == head->argument &&
                               r->heads[last].bias == head->bias;
             last++)
            ;
        if (head->bias == 0 && r->arguments[head->argument].is_model)
            print_model_lines(&r->arguments[head->argument], first > 0);
        if (print_bias(r, first, last, e) != 0)
            return -1;
        trf_print_rotary(r, head->argument, head->bias);
        if (last == r->head_count || r->heads[last].argument != head->argument)
            told |= print_share(r, head->argument);
    }
    if (told && r->count > SENTENCES_MOST)
        screen_say("\n(--json has the share of each within its training length; with up to %d "
                   "arguments it is said here)\n",
                   SENTENCES_MOST);
    if (table_chosen() == TABLE_LATEX && !screen_is_wide() &&
        has_closed_form(r, 0, r->head_count, unused))
        progress_message(r->progress, "--table latex leaves out the closed forms (expected --wide "
                                      "for all columns)");
    print_ranking(r);
    return 0;
}
