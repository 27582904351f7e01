/* explain.jsonl: an explanation a line, for programs. */
#include "run/explain/explain.h"

#include "io/formats/json_write.h"

#include <math.h>
#include <stdlib.h>

/* What is written, and room for spelling a piece. */
struct line {
    struct json_writer json;
    const struct explanation *x;
    char *text;
    size_t size;
};

/* Spelt as in explain.csv: bytes of a token need not be characters. */
static int put_piece(struct line *l, const char *name, int32_t id)
{
    const char *piece = texts_spell(l->x->pieces, id, &l->text, &l->size);

    json_write_text(&l->json, name, piece);
    return piece ? 0 : -1;
}

static int put_prediction(struct line *l, const char *name, struct prediction p)
{
    int rc;

    json_write_open(&l->json, name, '{');
    if (p.id < 0) /* several tokens */
        json_write_text(&l->json, "id", NULL);
    else
        json_write_whole(&l->json, "id", p.id);
    rc = put_piece(l, "token", p.id);
    json_write_real(&l->json, "logprob", p.logprob);
    json_write_close(&l->json, '}');
    return rc;
}

static int put_predictions(struct line *l)
{
    int rc = put_prediction(l, "target", l->x->target);

    if (l->x->contrast)
        rc |= put_prediction(l, "against", l->x->against);
    json_write_open(&l->json, "alternatives", '[');
    for (size_t i = 0; i < l->x->alternative_count; i++)
        rc |= put_prediction(l, NULL, l->x->alternative[i]);
    json_write_close(&l->json, ']');
    return rc;
}

static void put_reals(struct line *l, const char *name, const double *value)
{
    json_write_open(&l->json, name, '[');
    for (size_t i = 0; i < l->x->count; i++)
        json_write_real(&l->json, NULL, value[i]);
    json_write_close(&l->json, ']');
}

static int put_inputs(struct line *l)
{
    int rc = 0;

    json_write_open(&l->json, "ids", '[');
    for (size_t i = 0; i < l->x->count; i++)
        json_write_whole(&l->json, NULL, l->x->id[i]);
    json_write_close(&l->json, ']');
    json_write_open(&l->json, "tokens", '[');
    for (size_t i = 0; i < l->x->count; i++)
        rc |= put_piece(l, NULL, l->x->id[i]);
    json_write_close(&l->json, ']');
    put_reals(l, "norms", l->x->norm);
    put_reals(l, "shares", l->x->share);
    return rc;
}

/* NaN: null. */
static void put_real(struct line *l, const char *name, double value)
{
    if (isnan(value))
        json_write_text(&l->json, name, NULL);
    else
        json_write_real(&l->json, name, value);
}

/* Words, sentences or lines. */
static int put_units(struct line *l)
{
    int rc = 0;

    json_write_open(&l->json, "units", '[');
    for (size_t i = 0; i < l->x->count; i++) {
        json_write_open(&l->json, NULL, '{');
        json_write_whole(&l->json, "first", (long long)l->x->start[i] + 1);
        json_write_whole(&l->json, "last", (long long)l->x->start[i + 1]);
        rc |= put_piece(l, "text", l->x->id[i]);
        json_write_real(&l->json, "share", l->x->share[i]);
        if (l->x->change)
            put_real(l, "change", l->x->change[i]);
        json_write_close(&l->json, '}');
    }
    json_write_close(&l->json, ']');
    if (l->x->change)
        put_real(l, "rank_correlation", l->x->correlation);
    return rc;
}

/* `joined`: of its units, or NULL. */
static int put_line(FILE *f, const struct explanation *x, const struct explanation *joined)
{
    struct line l = {.json = {.stream = f, .is_line = 1}, .x = x};
    int rc;

    json_write_open(&l.json, NULL, '{');
    if (x->is_numbered)
        json_write_whole(&l.json, "id", strtoll(x->name, NULL, 10));
    else
        json_write_text(&l.json, "id", x->name);
    json_write_text(&l.json, "model", x->model);
    json_write_text(&l.json, "attribution", x->attribution);
    json_write_whole(&l.json, "target_position", (long long)x->count + 1);
    json_write_whole(&l.json, "predicted", x->predicted);
    if (x->integrated) {
        json_write_open(&l.json, "completeness", '{');
        json_write_real(&l.json, "sum", x->attributed);
        json_write_real(&l.json, "explained", explanation_explained(x));
        json_write_real(&l.json, "baseline", x->baseline);
        json_write_close(&l.json, '}');
    }
    rc = put_predictions(&l) | put_inputs(&l);
    if (joined) {
        l.x = joined;
        rc |= put_units(&l);
    }
    json_write_close(&l.json, '}');
    free(l.text);
    return rc;
}

int explain_write_lines(const void *found, const char *path, struct atomic_file *out,
                        struct error *e)
{
    const struct explain_run *r = found;
    int rc = 0;

    if (atomic_open(out, path, e) != 0)
        return -1;
    for (size_t i = 0; i < r->found.count && rc == 0; i++)
        rc = put_line(out->stream, &r->found.item[i], r->joined.count ? &r->joined.item[i] : NULL);
    if (rc == 0)
        return atomic_stage(out, e);
    atomic_abandon(out);
    return fail(e, "%s: out of memory", path);
}
