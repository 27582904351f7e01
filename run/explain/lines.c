/* explain.jsonl: an explanation a line, for programs. */
#include "run/explain/explain.h"

#include "io/formats/csv.h"
#include "io/formats/json.h"

#include <math.h>
#include <stdlib.h>

/* `"name":` after what is before it. */
static void put_name(FILE *f, const char *name)
{
    fprintf(f, ",\"%s\":", name);
}

static int put_text(FILE *f, const char *text)
{
    json_t *value = json_string(text);
    int rc = value ? json_dumpf(value, f, JSON_ENCODE_ANY) : -1;

    json_decref(value);
    return rc;
}

/* JSON has no numbers that are not finite. */
static void put_real(FILE *f, double value)
{
    char number[32];

    fputs(isfinite(value) ? csv_format_real(number, value) : "null", f);
}

static void put_reals(FILE *f, const char *name, const double *value, size_t count)
{
    put_name(f, name);
    for (size_t i = 0; i < count; i++) {
        fputc(i ? ',' : '[', f);
        put_real(f, value[i]);
    }
    fputc(']', f);
}

/* Spelt as in explain.csv: bytes of a token need not be characters. */
static int put_piece(FILE *f, const struct explanation *x, int32_t id, char **text, size_t *size)
{
    const char *piece = texts_spell(x->pieces, id, text, size);

    return piece ? put_text(f, piece) : -1;
}

static int put_prediction(FILE *f, const struct explanation *x, struct prediction p, char **text,
                          size_t *size)
{
    int rc;

    if (p.id < 0) /* several tokens */
        fputs("{\"id\":null,\"token\":", f);
    else
        fprintf(f, "{\"id\":%d,\"token\":", (int)p.id);
    rc = put_piece(f, x, p.id, text, size);
    fputs(",\"logprob\":", f);
    put_real(f, p.logprob);
    fputc('}', f);
    return rc;
}

static int put_predictions(FILE *f, const struct explanation *x, char **text, size_t *size)
{
    int rc;

    put_name(f, "target");
    rc = put_prediction(f, x, x->target, text, size);
    if (x->contrast) {
        put_name(f, "against");
        rc |= put_prediction(f, x, x->against, text, size);
    }
    put_name(f, "alternatives");
    for (size_t i = 0; i < x->alternative_count; i++) {
        fputc(i ? ',' : '[', f);
        rc |= put_prediction(f, x, x->alternative[i], text, size);
    }
    fputs(x->alternative_count ? "]" : "[]", f);
    return rc;
}

static int put_inputs(FILE *f, const struct explanation *x, char **text, size_t *size)
{
    int rc = 0;

    put_name(f, "ids");
    for (size_t i = 0; i < x->count; i++)
        fprintf(f, "%c%d", i ? ',' : '[', (int)x->id[i]);
    fputc(']', f);
    put_name(f, "tokens");
    for (size_t i = 0; i < x->count; i++) {
        fputc(i ? ',' : '[', f);
        rc |= put_piece(f, x, x->id[i], text, size);
    }
    fputc(']', f);
    put_reals(f, "norms", x->norm, x->count);
    put_reals(f, "shares", x->share, x->count);
    return rc;
}

/* Words, sentences or lines. */
static int put_units(FILE *f, const struct explanation *x, char **text, size_t *size)
{
    int rc = 0;

    put_name(f, "units");
    for (size_t i = 0; i < x->count; i++) {
        fprintf(f, "%c{\"first\":%zu,\"last\":%zu,\"text\":", i ? ',' : '[', x->start[i] + 1,
                x->start[i + 1]);
        rc |= put_piece(f, x, x->id[i], text, size);
        fputs(",\"share\":", f);
        put_real(f, x->share[i]);
        fputc('}', f);
    }
    fputc(']', f);
    return rc;
}

/* `joined`: of its units, or NULL. */
static int put_line(FILE *f, const struct explanation *x, const struct explanation *joined)
{
    char *text = NULL;
    size_t size;
    int rc = 0;

    fputs("{\"id\":", f);
    if (x->is_numbered)
        fputs(x->name, f);
    else
        rc |= put_text(f, x->name);
    put_name(f, "model");
    rc |= put_text(f, x->model);
    put_name(f, "attribution");
    rc |= put_text(f, x->attribution);
    put_name(f, "target_position");
    fprintf(f, "%zu", x->count + 1);
    put_name(f, "predicted");
    fprintf(f, "%d", x->predicted);
    rc |= put_predictions(f, x, &text, &size) | put_inputs(f, x, &text, &size);
    if (joined)
        rc |= put_units(f, joined, &text, &size);
    fputs("}\n", f);
    free(text);
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
