/* Parts of the texts left out, one at a time. What stays is a text of the other tokens, at the
 * positions that they have in it. */
#include "run/explain/parts.h"

#include "analyze/attribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text without a part, or as it is. */
struct job {
    struct explanation *x; /* of units */
    const int32_t *id; /* [x->tokens->count + outputs] inputs and targets */
    size_t unit; /* x->count: none is left out */
    size_t first, end; /* its tokens */
    size_t outputs, group;
};

struct jobs {
    struct job *item;
    size_t count, most; /* most: inputs of the longest text */
    size_t single; /* explanations of texts of one part, which have none */
};

/* Texts that begin alike follow each other: of one line, the end first. So the tokens before a part
 * stay those of the whole text. */
static int in_turn(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    const size_t keys[][2] = {{x->group, y->group},
                              {y->first, x->first},
                              {y->end, x->end},
                              {y->outputs, x->outputs},
                              {y->x->tokens->count, x->x->tokens->count},
                              {(size_t)x->x, (size_t)y->x}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* The first token of a unit that may be left out: a beginning-of-text token stays. */
static size_t first_of(const struct explanation *x, size_t unit, size_t begins)
{
    return x->start[unit] > begins ? x->start[unit] : begins;
}

/* Of an answer nothing may: then all its tokens are explained by the same parts. */
static int may_go(const struct explanation *x, size_t unit, size_t begins)
{
    size_t prompt = x->tokens->prompt;

    return (!prompt || x->start[unit] < prompt) && first_of(x, unit, begins) < x->start[unit + 1];
}

static void add(struct jobs *all, const struct job *like, size_t unit, size_t first, size_t end)
{
    struct job *j = &all->item[all->count++];

    *j = *like;
    j->unit = unit;
    j->first = first;
    j->end = end;
}

/* Those of an explanation, if it has several parts. */
static int add_all(struct jobs *all, struct explanation *x, const struct question *q, size_t begins,
                   struct error *e)
{
    const struct explanation *tokens = x->tokens;
    struct job like = {.x = x,
                       .id = q->answer > 1 ? q->id : tokens->id,
                       .outputs = q->answer > 1 ? q->answer : 1,
                       .group = q->from ? q->from->number : 0};
    size_t parts = 0, inputs = tokens->count + like.outputs - 1;

    x->change = calloc(x->count, sizeof *x->change);
    if (!x->change)
        return fail_memory(e, (double)x->count * sizeof *x->change, "the changes");
    for (size_t u = 0; u < x->count; u++) {
        x->change[u] = NAN;
        parts += may_go(x, u, begins);
    }
    if (parts < 2) {
        all->single++;
        return 0;
    }
    all->most = inputs > all->most ? inputs : all->most;
    add(all, &like, x->count, tokens->count, tokens->count);
    for (size_t u = 0; u < x->count; u++)
        if (may_go(x, u, begins))
            add(all, &like, u, first_of(x, u, begins), x->start[u + 1]);
    return 0;
}

/* Its text: ids [*inputs + 1]. */
static void write_text(const struct job *j, int32_t *ids, size_t *inputs)
{
    size_t total = j->x->tokens->count + j->outputs;

    memcpy(ids, j->id, j->first * sizeof *ids);
    memcpy(ids + j->first, j->id + j->end, (total - j->end) * sizeof *ids);
    *inputs = total - (j->end - j->first) - 1;
}

/* What is explained: log p of the target, the sum of an answer's, or the difference of two. */
static int score(const struct job *j, double *value, struct scorer *s, int32_t *ids,
                 struct error *e)
{
    size_t inputs;
    double against = 0;

    write_text(j, ids, &inputs);
    if (scorer_sum(s, value, ids, inputs, j->outputs, e) != 0)
        return -1;
    ids[inputs] = j->x->contrast ? j->x->against.id : ids[inputs];
    if (j->x->contrast && scorer_sum(s, &against, ids, inputs, j->outputs, e) != 0)
        return -1;
    *value -= against;
    return isfinite(*value) ? 0
                            : fail(e, "%s: log p is not finite without %s %zu (expected a number)",
                                   j->x->path, j->x->by, j->unit + 1);
}

/* The inputs to compute for all of them. */
static double foresee(const struct jobs *all, struct scorer *s, int32_t *ids)
{
    double sum = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct job *j = &all->item[i];
        size_t inputs;

        write_text(j, ids, &inputs);
        sum += (double)scorer_foresee(s, ids, inputs, j->outputs);
        ids[inputs] = j->x->contrast ? j->x->against.id : ids[inputs];
        sum += (double)scorer_foresee(s, ids, inputs, j->outputs);
    }
    scorer_forget(s);
    return sum;
}

static int by_change(const void *a, const void *b, void *context)
{
    const double *change = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    double one = isnan(change[x]) ? -1 : fabs(change[x]),
           other = isnan(change[y]) ? -1 : fabs(change[y]);

    if (one != other)
        return one > other ? -1 : 1;
    return (x < y) - (x > y); /* if equal, the nearest */
}

int explain_rank_changes(struct explanation *x, struct error *e)
{
    double *size = calloc(x->count, sizeof *size), *share = calloc(x->count, sizeof *share);
    size_t measured = 0;
    int rc = -1;

    x->correlation = NAN;
    x->change_order = calloc(x->count, sizeof *x->change_order);
    x->change_rank = calloc(x->count, sizeof *x->change_rank);
    if (!size || !share || !x->change_order || !x->change_rank) {
        fail_memory(e, 4.0 * (double)x->count * sizeof *size, "the changes");
        goto end;
    }
    for (size_t i = 0; i < x->count; i++) {
        x->change_order[i] = i;
        if (!isnan(x->change[i])) {
            size[measured] = fabs(x->change[i]);
            share[measured++] = x->share[i];
        }
    }
    rc = rank_correlation(&x->correlation, size, share, measured);
    if (rc != 0)
        fail_memory(e, 2.0 * (double)x->count * sizeof *size, "the changes");
    qsort_r(x->change_order, x->count, sizeof *x->change_order, by_change, x->change);
    for (size_t i = 0; i < x->count; i++)
        x->change_rank[x->change_order[i]] = i;
end:
    free(size);
    free(share);
    return rc;
}

static int score_all(const struct jobs *all, struct scorer *s, int32_t *ids, struct error *e)
{
    struct progress *p = s->of->progress;

    p->unit = "parts";
    progress_start(p, all->count, 0);
    progress_costs(p, foresee(all, s, ids), 0);
    for (size_t i = 0; i < all->count; i++) {
        const struct job *j = &all->item[i];
        double value;

        if (score(j, &value, s, ids, e) != 0 || tensors_unchanged(s->of->decoder->tensors, e) != 0)
            return -1;
        if (j->unit == j->x->count)
            j->x->whole = value;
        else
            j->x->change[j->unit] = value - j->x->whole;
        progress_step(p, 1, s->of->argument->name);
    }
    progress_end(p);
    return 0;
}

/* Those of all explanations, in turn. */
static int find_jobs(struct jobs *all, struct explain_run *r, const struct explainer *x,
                     const struct questions *q, struct error *e)
{
    size_t most = 0, k = 0;

    for (size_t i = 0; i < r->joined.count; i++)
        most += r->joined.item[i].count + 1;
    all->item = calloc(most, sizeof *all->item);
    if (!all->item)
        return fail_memory(e, (double)most * sizeof *all->item, "the texts");
    for (size_t i = 0; i < q->count; i++)
        for (size_t n = 0; n < q->item[i].targets; n++)
            if (add_all(all, &r->joined.item[k++], &q->item[i], (size_t)x->reading.bounds.begins,
                        e) != 0)
                return -1;
    qsort(all->item, all->count, sizeof *all->item, in_turn);
    return 0;
}

/* Texts of one part have nothing to leave out. */
static int tell_single(const struct jobs *all, const struct explain_run *r,
                       const struct explainer *x, struct error *e)
{
    const char *part = explain_parts[r->options->leave_out];

    if (!all->count)
        return fail(e, "%s: --leave-out %s: %s a single %s (expected two or more)",
                    x->argument->path, part, r->joined.count > 1 ? "each text is" : "the text is",
                    part);
    if (all->single)
        progress_message(x->progress, "%zu of %zu texts are a single %s, which is not left out",
                         all->single, r->joined.count, part);
    return 0;
}

int explain_leave_out(struct explain_run *r, struct explainer *x, const struct questions *q,
                      struct error *e)
{
    struct jobs all = {0};
    struct scorer s = {0};
    int32_t *ids = NULL;
    int rc = find_jobs(&all, r, x, q, e);

    if (rc == 0 && (rc = tell_single(&all, r, x, e)) == 0) {
        ids = malloc((all.most + 1) * sizeof *ids);
        rc = !ids ? fail_memory(e, (double)all.most * sizeof *ids, "the tokens")
                  : scorer_open(&s, x, all.most, "with parts left out", e);
    }
    if (rc == 0) {
        engine_close(x->engine); /* its memory is needed */
        x->engine = NULL;
        rc = score_all(&all, &s, ids, e);
    }
    for (size_t i = 0; i < r->joined.count && rc == 0; i++)
        rc = explain_rank_changes(&r->joined.item[i], e);
    scorer_close(&s);
    free(all.item);
    free(ids);
    return rc;
}
