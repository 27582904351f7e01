/* The page of `reach report`. */
#include "commands/erf.h"
#include "commands/report.h"
#include "commands/table.h"
#include "page/escape.h"
#include "page/report.h"
#include "run/outputs/outputs.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 200 };

/* ---- a result of `reach erf` ---- */

static void text_cell(struct table *t, const char *text)
{
    table_cell(t, "%s", text && *text ? text : "-");
}

/* The settings of the measurement: one row per property, one column per model. */
static struct table *cards(const struct result *r)
{
    enum { TEXTS = 7, NUMBERS = 7 };
    static const char *const texts[TEXTS] = {"checkpoint", "digest",
                                             "family",     "position encoding",
                                             "adapter",    "keys not understood",
                                             "assumed"},
                             *const numbers[NUMBERS] = {
                                 "trained on (tokens)", "layers",     "heads",     "heads of keys",
                                 "head size",           "model size", "vocabulary"};
    char *alignment = calloc(r->model_count + 2, 1);
    struct table *t = alignment ? table_create(memset(alignment, 'l', r->model_count + 1)) : NULL;

    free(alignment);
    if (!t)
        return NULL;
    table_caption(t, "what was measured");
    table_cell(t, "%s", "");
    for (size_t i = 0; i < r->model_count; i++)
        table_cell(t, "%s", r->models[i].name);
    for (size_t k = 0; k < TEXTS; k++) {
        table_cell(t, "%s", texts[k]);
        for (size_t i = 0; i < r->model_count; i++) {
            const struct result_model *m = &r->models[i];

            text_cell(t, ((const char *const[TEXTS]){m->path, m->digest, m->family,
                                                     m->position_encoding, m->adapter,
                                                     m->not_understood, m->assumed})[k]);
        }
    }
    for (size_t k = 0; k < NUMBERS; k++) {
        table_cell(t, "%s", numbers[k]);
        for (size_t i = 0; i < r->model_count; i++) {
            const struct result_model *m = &r->models[i];

            table_count(t,
                        ((const size_t[NUMBERS]){m->train_length, m->layers, m->heads, m->kv_heads,
                                                 m->head_size, m->hidden, m->vocabulary})[k]);
        }
    }
    table_cell(t, "segments");
    for (size_t i = 0; i < r->model_count; i++)
        table_cell(t, "%zu of %zu tokens, digest %s", r->models[i].segments, r->length,
                   r->models[i].tokens_digest);
    table_cell(t, "computed in");
    for (size_t i = 0; i < r->model_count; i++)
        table_cell(t, "%s on %s: %s", r->dtype, r->device, r->kernels);
    return t;
}

static int put_notes(FILE *f, const struct result *r)
{
    char *text = NULL;
    size_t size;
    FILE *notes = open_memstream(&text, &size);

    if (!notes)
        return -1;
    erf_notes(notes, r);
    if (fclose(notes) != 0) {
        free(text);
        return -1;
    }
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));)
        if (*line)
            report_text(f, "p class=about", line);
    free(text);
    return 0;
}

static int put_result(FILE *f, const struct result *r)
{
    return report_tell_result(f, r) == 0 && erf_tables(r, table_html, f) == 0 ? put_notes(f, r)
                                                                              : -1;
}

static int put_card(FILE *f, const struct result *r)
{
    struct table *t = cards(r);
    int rc;

    fputs("<div class=card>", f);
    rc = t ? table_html(f, t) : -1;
    table_free(t);
    fputs("</div>\n", f);
    return rc;
}

/* ---- a table ---- */

/* A cell of a CSV file for people: long numbers are shortened. */
static void csv_cell(struct table *t, const char *text)
{
    size_t length = strlen(text);
    char *end;
    double value = strtod(text, &end);

    if (!length || *end)
        table_cell(t, "%s", text);
    else if (length > 15 && strspn(text, "0123456789") == length)
        table_cell(t, "%.3g (%zu digits)", value, length);
    else if (length > 7 && strpbrk(text, ".e"))
        table_cell(t, "%.5g", value);
    else
        table_cell(t, "%s", text);
}

/* l or r for a column, 0 for one with only empty cells. */
static char alignment_of(const struct csv_table *csv, size_t column)
{
    char found = 0, *end;

    for (size_t row = 0; row < csv->rows && found != 'l'; row++) {
        const char *text = csv->cell[row * csv->columns + column];

        if (!*text)
            continue;
        strtod(text, &end);
        found = *end ? 'l' : 'r';
    }
    return found;
}

static int put_table(FILE *f, const struct report *table)
{
    const struct csv_table *csv = &table->table;
    char *alignment = calloc(csv->columns + 1, 1);
    size_t *shown = calloc(csv->columns + 1, sizeof *shown), count = 0,
           rows = csv->rows < ROWS_SHOWN ? csv->rows : ROWS_SHOWN;
    struct table *t = NULL;
    int rc = -1;

    for (size_t i = 0; alignment && shown && i < csv->columns; i++)
        if ((alignment[count] = alignment_of(csv, i)))
            shown[count++] = i;
    if (alignment && shown && count)
        t = table_create(alignment);
    if (t) {
        for (size_t i = 0; i < count; i++)
            table_cell(t, "%s", csv->header[shown[i]]);
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < count; i++)
                csv_cell(t, csv->cell[row * csv->columns + shown[i]]);
        if (rows < csv->rows)
            table_note(t, "the first %zu of %zu rows", rows, csv->rows);
        rc = table_html(f, t);
    } else if (alignment && shown)
        rc = 0; /* an empty table */
    table_free(t);
    free(alignment);
    free(shown);
    return rc;
}

/* The meaning of a file's columns. */
static void put_columns(FILE *f, const struct csv_table *csv)
{
    const struct csv_layout *l = NULL;

    for (size_t i = 0; output_at(i) && csv->columns && !l; i++) {
        const struct csv_layout *output = output_at(i);
        size_t k = 0;

        while (k < csv->columns && k < output->count &&
               strcmp(output->columns[k].name, csv->header[k]) == 0)
            k++;
        l = k == csv->columns || k == output->count ? output : NULL;
    }
    if (!l)
        return;
    fputs("<details><summary>what the columns are</summary><dl>\n", f);
    for (size_t i = 0; i < l->count; i++) {
        report_text(f, "dt", l->columns[i].name);
        report_text(f, "dd", l->columns[i].meaning);
    }
    fputs("</dl></details>\n", f);
}

/* ---- all of it ---- */

const char *report_heading(const struct report_source *s)
{
    static const char *const titles[] = {[REPORT_ERF] = "How far back it looks",
                                         [REPORT_CURVES] = "How far back it looks: curves",
                                         [REPORT_LADDER] = "How far back it looks: fields",
                                         [REPORT_PERPLEXITY] = "Perplexity by context",
                                         [REPORT_GAIN] = "Context that helps",
                                         [REPORT_VALIDATION] = "What the loss depends on",
                                         [REPORT_FIELDS] = "Theoretical receptive fields",
                                         [REPORT_WEIGHTS] = "Weights by distance",
                                         [REPORT_BIASES] = "Position biases",
                                         [REPORT_FITS] = "Fitted biases",
                                         [REPORT_ATTENTION] = "How far each head attends",
                                         [REPORT_TARGETS] = "Single targets",
                                         [REPORT_EXPLANATIONS] = "What predictions depended on",
                                         [REPORT_TABLE] = "Table"};
    return titles[s->file.kind];
}

static void put_figures(FILE *f, const struct report_source *s, size_t *number)
{
    static const char *const captions[][2] = {
        {"erf", "Share of the gradient from position m or later, and what the most recent tokens "
                "leave out"},
        {"layers", "The field from layer to layer"},
        {"targets", "The field by the position of the target"},
        {"attention", "How far each head attends"},
        {"ladder", "The field at every threshold"},
        {"ppl", "Perplexity over the context"},
        {"gain", "Targets for which a context is enough"},
        {"validation", "How the loss changes with other text before the last k tokens, over k and "
                       "over the gradient of that text"},
        {"steps", "The field over the steps of training"},
        {"fields", "Theoretical fields"},
        {"trf", "Weights by distance, and what the most recent tokens leave out"},
        {"bias", "Biases by distance"},
        {"matrix", "Biases, and the attention that they alone would give"},
        {"fit", "Fitted curves"},
        {"heads", "The field of each head, by layer"}};

    for (size_t i = 0; i < s->figure_count; i++)
        for (size_t k = 0; k < sizeof captions / sizeof *captions; k++)
            if (strcmp(s->figures[i].stem, captions[k][0]) == 0)
                report_figure(f, captions[k][1], s->figures[i].svg, ++*number);
}

static int put_source(FILE *f, const struct report_run *r, const struct report_source *s,
                      size_t *number)
{
    int is_erf = s->file.kind == REPORT_ERF, rc;
    const char *command = is_erf ? s->result.command : s->file.table.command;
    const char *version = is_erf ? s->result.version : s->file.table.version;

    report_text(f, "h2", report_heading(s));
    fputs("<p class=about>", f);
    html_text(f, s->file.path);
    if (version) {
        fputs(", of reach ", f);
        html_text(f, version);
    }
    fputs("</p>\n", f);
    report_tell(f, &s->file, r);
    rc = is_erf ? put_result(f, &s->result)
         : s->file.kind == REPORT_EXPLANATIONS
             ? report_texts(f, s->units.count ? &s->units : s->explained)
         : s->file.kind != REPORT_CURVES && s->file.kind != REPORT_WEIGHTS ? put_table(f, &s->file)
                                                                           : 0;
    put_figures(f, s, number);
    put_columns(f, &s->file.table);
    if (is_erf && rc == 0)
        rc = put_card(f, &s->result);
    if (command) {
        report_text(f, "h3", "How to repeat");
        report_text(f, "pre", command);
    }
    return rc;
}

int report_page(FILE *f, const struct report_run *r)
{
    size_t number = 0;

    if (report_title(f, r) != 0 || report_summary(f, r) != 0)
        return -1;
    if (r->count > 1) {
        fputs("<nav aria-label=contents><ul>\n", f);
        for (size_t i = 0; i < r->count; i++) {
            fprintf(f, "<li><a href=\"#s%zu\">%s</a>: ", i + 1, report_heading(&r->sources[i]));
            html_text(f, r->sources[i].file.path);
            fputs("</li>\n", f);
        }
        fputs("</ul></nav>\n", f);
    }
    if (r->without_gnuplot)
        report_text(f, "p class=about", "There are no figures: gnuplot was not found.");
    fputs("</header>\n<main>\n", f);
    for (size_t i = 0; i < r->count; i++) {
        fprintf(f, "<section id=s%zu tabindex=-1>\n", i + 1);
        if (put_source(f, r, &r->sources[i], &number) != 0)
            return -1;
        fputs("</section>\n", f);
    }
    report_end(f, r->command, REACH_VERSION);
    return 0;
}
