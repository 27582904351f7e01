/* explain.csv, units.csv and explain.html. */
#include "run/explain/explain.h"

#include "page/explain.h"
#include "run/explain/columns.h"
#include "run/results.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>

/* `token 103, " self" (id 302), log p -1.31`, in `f`. */
static int describe(FILE *f, const struct explanation *x, struct prediction p)
{
    char number[32], *quoted = explanation_quoted(x, p.id);

    if (!quoted)
        return -1;
    fprintf(f, "%s (id %d)", quoted, (int)p.id);
    if (!isnan(p.logprob))
        fprintf(f, ", log p %s", csv_format_real(number, p.logprob));
    free(quoted);
    return 0;
}

/* Integrated gradients: the sum, and what it is to be. */
static void describe_completeness(FILE *f, const struct explanation *x)
{
    char sum[32], whole[32];

    fprintf(f,
            "; completeness: the sum of the attributions is %s, %s minus that of rows of zeros %s",
            csv_format_real(sum, x->attributed),
            x->contrast ? "log p(target) - log p(against)" : "log p",
            csv_format_real(whole, explanation_explained(x) - x->baseline));
}

/* The same of many. */
static void describe_gaps(FILE *f, const struct explanations *all)
{
    double most = 0, mean = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct explanation *x = &all->item[i];
        double gap = fabs(x->attributed - (explanation_explained(x) - x->baseline));

        most = fmax(most, gap);
        mean += gap / (double)all->count;
    }
    fprintf(f,
            "; completeness: the sum of the attributions differs from what is explained minus that "
            "of rows of zeros by %.3g on average, %.3g at most",
            mean, most);
}

/* A description of the numbers. */
static char *note_of(const void *found)
{
    const struct explanations *all = &((const struct explain_run *)found)->found;
    const struct explanation *x = all->item;
    char *note = NULL;
    size_t size;
    FILE *f = open_memstream(&note, &size);
    int rc = 0;

    if (!f)
        return NULL;
    if (all->count > 1) {
        fprintf(f, "%zu targets, by %starget_position and target_id; attribution %s", all->count,
                x->name ? "prompt, " : "", x->attribution);
        if (x->integrated)
            describe_gaps(f, all);
        return fclose(f) == 0 ? note : NULL;
    }
    fprintf(f, "target: token %zu, ", x->count + 1);
    rc |= describe(f, x, x->target);
    if (x->contrast) {
        fputs("; against ", f);
        rc |= describe(f, x, x->against);
    }
    for (size_t i = 0; i < x->alternative_count; i++) {
        fputs(i ? "; " : "; likeliest others: ", f);
        rc |= describe(f, x, x->alternative[i]);
    }
    if (x->segment)
        fprintf(f, "; segment %zu", x->segment);
    fprintf(f, "; attribution %s", x->attribution);
    if (x->integrated)
        describe_completeness(f, x);
    rc |= ferror(f);
    if (fclose(f) == 0 && !rc)
        return note;
    free(note);
    return NULL;
}

/* `joined`: of its units, or NULL. */
static int write_rows(struct csv *csv, const struct explanation *x,
                      const struct explanation *joined, struct error *e)
{
    char *text = NULL, *room = NULL;
    size_t size, room_size, unit = 0;
    const char *target = texts_spell(x->pieces, x->target.id, &room, &room_size);
    int rc = 0;

    for (size_t i = 0; i < x->count && rc == 0; i++) {
        const char *piece = texts_spell(x->pieces, x->id[i], &text, &size);

        unit += joined && i == joined->start[unit];
        if (piece && target)
            csv_row(csv, &(struct explain_row){.model = x->model,
                                               .position = (long long)i + 1,
                                               .distance = (long long)(x->count - 1 - i),
                                               .id = x->id[i],
                                               .piece = piece,
                                               .norm = x->norm[i],
                                               .share = x->share[i],
                                               .cumulative = x->cumulative[i],
                                               .rank = (long long)x->rank[i] + 1,
                                               .line = (long long)x->line[i],
                                               .target_position = (long long)x->count + 1,
                                               .target_id = explanation_target_id(x),
                                               .target_logprob = x->target.logprob,
                                               .unit = (long long)unit,
                                               .prompt = x->name ? x->name : "",
                                               .target = target});
        else
            rc = fail(e, "explain.csv: out of memory");
    }
    free(text);
    free(room);
    return rc;
}

static int write_units(struct csv *csv, const struct explanation *x, struct error *e)
{
    char *text = NULL, *room = NULL;
    size_t size, room_size;
    const char *target = texts_spell(x->pieces, x->target.id, &room, &room_size);
    int rc = 0;

    for (size_t i = 0; i < x->count && rc == 0; i++) {
        const char *spelt = texts_spell(x->pieces, x->id[i], &text, &size);
        int changes = x->change && !isnan(x->change[i]);

        if (spelt && target)
            csv_row(csv,
                    &(struct unit_row){.model = x->model,
                                       .unit = (long long)i + 1,
                                       .position = (long long)x->start[i] + 1,
                                       .last = (long long)x->start[i + 1],
                                       .distance = (long long)(x->tokens->count - x->start[i + 1]),
                                       .text = spelt,
                                       .norm = x->norm[i],
                                       .share = x->share[i],
                                       .cumulative = x->cumulative[i],
                                       .rank = (long long)x->rank[i] + 1,
                                       .line = (long long)x->line[i],
                                       .target_position = (long long)x->tokens->count + 1,
                                       .target_id = explanation_target_id(x),
                                       .target_logprob = x->target.logprob,
                                       .prompt = x->name ? x->name : "",
                                       .target = target,
                                       .change = changes ? x->change[i] : NAN,
                                       .change_rank = changes ? (long long)x->change_rank[i] + 1
                                                              : 0,
                                       .rank_correlation = changes ? x->correlation : NAN});
        else
            rc = fail(e, "units.csv: out of memory");
    }
    free(text);
    free(room);
    return rc;
}

static int token_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct explain_run *r = found;
    int rc = 0;

    for (size_t i = 0; i < r->found.count && rc == 0; i++)
        rc = write_rows(csv, &r->found.item[i], r->joined.count ? &r->joined.item[i] : NULL, e);
    return rc;
}

static int unit_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct explain_run *r = found;
    int rc = 0;

    for (size_t i = 0; i < r->joined.count && rc == 0; i++)
        rc = write_units(csv, &r->joined.item[i], e);
    return rc;
}

static int has_names(const void *found)
{
    return ((const struct explain_run *)found)->options->prompts != NULL;
}

static int is_joined(const void *found)
{
    return ((const struct explain_run *)found)->joined.count > 0;
}

static int write_page(const void *found, const char *path, struct atomic_file *out, struct error *e)
{
    const struct explain_run *r = found;

    if (atomic_open(out, path, e) != 0)
        return -1;
    if (page_explain(out->stream, explain_shown(r), r->command, REACH_VERSION) == 0)
        return atomic_stage(out, e);
    atomic_abandon(out);
    return fail(e, "%s: out of memory", path);
}

const struct results_file *const explain_files[] = {
    &(const struct results_file){.layout = &explain_csv, .rows = token_rows, .note = note_of},
    &(const struct results_file){.name = "explain.html", .write = write_page},
    &(const struct results_file){
        .is_wanted = is_joined, .layout = &units_csv, .rows = unit_rows, .note = note_of},
    &(const struct results_file){.is_wanted = has_names,
                                 .name = "explain.jsonl",
                                 .write = explain_write_lines},
    NULL};
const struct results_layout explain_layout = {explain_files, (const char *const[]){NULL}};

int explain_write(const struct explain_run *r, struct error *e)
{
    return results_write(r->options->folder, &explain_layout, r, r->command, e);
}
