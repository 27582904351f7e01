/* The attributes of erf.h5 and the values of a result in them, one row for each attribute. */
#include "io/formats/csv.h"
#include "io/results/result.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The type of a value in the file. */
enum kind {
    TEXT, /* char *; NULL if absent */
    WHOLE, /* size_t */
    TOKEN, /* int, not below 0 */
    REAL, /* double */
    REALS, /* the thresholds */
    PART, /* the shard: I/N */
    METHOD /* of the interval of a struct erf_summary; not read */
};

/* The struct that holds it, and so its groups: the run's and the model's are in the main one, the
 * field's in all. */
enum place { RUN, MODEL, FIELD, RUN_BY_FIELD, MODEL_BY_FIELD };

/* The results that have it. */
enum when {
    ALWAYS,
    WHERE_KNOWN /* a text that is not NULL, a whole number that is not 0 */,
    SINCE_0_3 /* always, but older versions did not write it */,
    OF_BOS,
    OF_BOUNDARY,
    OF_DOCUMENTS,
    OF_SMOOTHGRAD,
    OF_A_SHARD,
    OF_SHARD_ATTENTION
};

static const struct row {
    const char *name;
    enum kind kind;
    enum place place;
    size_t offset;
    enum when when;
    size_t low, high; /* for whole numbers; high 0: known from the file's shape */
} rows[] = {
#define IN_RUN(member) RUN, offsetof(struct result, member)
#define IN_MODEL(member) MODEL, offsetof(struct result_model, member)
#define IN_FIELD(member) FIELD, offsetof(struct result_field, member)
#define SIZE 1, 1 << 30
#define COUNT 0, 1UL << 40
    {"path", TEXT, IN_MODEL(path), ALWAYS, 0, 1},
    {"digest", TEXT, IN_MODEL(digest), ALWAYS, 0, 1},
    {"family", TEXT, IN_MODEL(family), ALWAYS, 0, 1},
    {"layers", WHOLE, IN_MODEL(layers), ALWAYS, SIZE},
    {"heads", WHOLE, IN_MODEL(heads), ALWAYS, SIZE},
    {"kv_heads", WHOLE, IN_MODEL(kv_heads), ALWAYS, SIZE},
    {"head_size", WHOLE, IN_MODEL(head_size), ALWAYS, SIZE},
    {"hidden", WHOLE, IN_MODEL(hidden), ALWAYS, SIZE},
    {"vocabulary", WHOLE, IN_MODEL(vocabulary), ALWAYS, SIZE},
    {"position_encoding", TEXT, IN_MODEL(position_encoding), ALWAYS, 0, 1},
    {"cone", WHOLE, IN_MODEL(cone), ALWAYS, COUNT},
    {"dtype", TEXT, IN_RUN(dtype), ALWAYS, 0, 1},
    {"device", TEXT, IN_RUN(device), ALWAYS, 0, 1},
    {"kernels", TEXT, IN_RUN(kernels), ALWAYS, 0, 1},
    {"target", TEXT, IN_FIELD(quantity), ALWAYS, 0, 1},
    {"target_position", WHOLE, IN_FIELD(target), ALWAYS, 0, 0},
    {"layer", WHOLE, IN_FIELD(layer), ALWAYS, 0, 0},
    {"attribution", TEXT, RUN_BY_FIELD, offsetof(struct result, attribution), ALWAYS, 0, 1},
    {"attribution_steps", WHOLE, RUN_BY_FIELD, offsetof(struct result, attribution_steps),
     WHERE_KNOWN, SIZE},
    {"attribution_baseline", TEXT, RUN_BY_FIELD, offsetof(struct result, attribution_baseline),
     WHERE_KNOWN, 0, 1},
    {"attribution_samples", WHOLE, RUN_BY_FIELD, offsetof(struct result, attribution_samples),
     WHERE_KNOWN, SIZE},
    {"attribution_noise", REAL, MODEL_BY_FIELD, offsetof(struct result_model, noise), OF_SMOOTHGRAD,
     0, 1},
    {"length", WHOLE, IN_RUN(length), ALWAYS, 2, 1 << 30},
    {"segments", WHOLE, IN_FIELD(summary.segments), ALWAYS, COUNT},
    {"excluded", WHOLE, IN_FIELD(summary.excluded), ALWAYS, COUNT},
    {"near_ties", WHOLE, IN_FIELD(near_ties), WHERE_KNOWN, COUNT},
    {"stride", WHOLE, IN_MODEL(stride), ALWAYS, COUNT},
    {"offset", WHOLE, IN_RUN(offset), ALWAYS, COUNT},
    {"overlapping", WHOLE, IN_MODEL(overlapping), ALWAYS, 0, 1},
    {"bos", TOKEN, IN_MODEL(bounds.begins), ALWAYS, 0, 1},
    {"bos_id", TOKEN, IN_MODEL(bounds.bos), OF_BOS, 0, INT_MAX},
    {"boundary", TOKEN, IN_MODEL(bounds.boundary), OF_BOUNDARY, 0, INT_MAX},
    {"documents", WHOLE, IN_MODEL(documents.count), OF_DOCUMENTS, COUNT},
    {"documents_used", WHOLE, IN_MODEL(documents.used), OF_DOCUMENTS, COUNT},
    {"documents_too_short", WHOLE, IN_MODEL(documents.too_short), OF_DOCUMENTS, COUNT},
    {"tokens_left_out", WHOLE, IN_MODEL(documents.left_out), OF_DOCUMENTS, COUNT},
    {"tokens_digest", TEXT, IN_MODEL(tokens_digest), ALWAYS, 0, 1},
    {"train_length", WHOLE, IN_MODEL(train_length), ALWAYS, COUNT},
    {"thresholds", REALS, IN_RUN(thresholds), ALWAYS, 0, 1},
    {"main_threshold", REAL, IN_RUN(main_threshold), ALWAYS, 0, 1},
    {"sink", WHOLE, IN_RUN(sink), ALWAYS, COUNT},
    {"bootstrap", WHOLE, IN_RUN(bootstrap), ALWAYS, COUNT},
    {"seed", WHOLE, IN_RUN(seed), ALWAYS, 0, SIZE_MAX},
    {"interval", METHOD, IN_FIELD(summary), SINCE_0_3, 0, 0},
    {"bias_dtype", TEXT, IN_RUN(bias_dtype), WHERE_KNOWN, 0, 1},
    {"keep", TEXT, IN_RUN(keep), WHERE_KNOWN, 0, 1},
    {"not_understood", TEXT, IN_MODEL(not_understood), WHERE_KNOWN, 0, 1},
    {"assumed", TEXT, IN_MODEL(assumed), WHERE_KNOWN, 0, 1},
    {"adapter", TEXT, IN_MODEL(adapter), WHERE_KNOWN, 0, 1},
    {"mixers", TEXT, IN_MODEL(attention.mixers), WHERE_KNOWN, 0, 1},
    {"shard", PART, IN_RUN(shard), OF_A_SHARD, 0, 1},
    {"shard_first", WHOLE, IN_MODEL(first), OF_A_SHARD, COUNT},
    {"run_segments", WHOLE, IN_MODEL(run_segments), OF_A_SHARD, 1, 1UL << 40},
    {"attention_segments", WHOLE, IN_MODEL(attention.measured), OF_SHARD_ATTENTION, COUNT},
    {"attention_used", WHOLE, IN_MODEL(attention.used), OF_SHARD_ATTENTION, COUNT},
    {"attention_trf", TEXT, IN_MODEL(attention.theory), OF_SHARD_ATTENTION, 0, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert(sizeof(uint64_t) == sizeof(size_t),
               "the seed is read and written as the other whole numbers");

static int is_of_field(const struct row *row)
{
    return row->place >= FIELD;
}

static void *value_of(const struct row *row, struct result *r, struct result_model *m,
                      struct result_field *f)
{
    void *const places[] = {
        [RUN] = r, [MODEL] = m, [FIELD] = f, [RUN_BY_FIELD] = r, [MODEL_BY_FIELD] = m};

    return (char *)places[row->place] + row->offset;
}

/* ---- writing ---- */

static int is_wanted(const struct row *row, const void *value, const struct result *r,
                     const struct result_model *m)
{
    switch (row->when) {
    case ALWAYS:
    case SINCE_0_3: break;
    case WHERE_KNOWN:
        return row->kind == TEXT ? *(char *const *)value != NULL : *(const size_t *)value != 0;
    case OF_BOS: return m->bounds.begins;
    case OF_BOUNDARY: return m->bounds.boundary >= 0;
    case OF_DOCUMENTS: return m->documents.count != 0;
    case OF_SMOOTHGRAD: return r->attribution_samples != 0;
    case OF_A_SHARD: return r->shards != 0;
    case OF_SHARD_ATTENTION: return r->shards != 0 && m->attention.layers != 0;
    }
    return 1;
}

/* The value as text; the caller frees. NULL when memory runs out. */
static char *write_value(const struct row *row, const void *value, const struct result *r)
{
    char number[32], *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    switch (row->kind) {
    case TEXT: fputs(*(char *const *)value ? *(char *const *)value : "", f); break;
    case WHOLE: fprintf(f, "%zu", *(const size_t *)value); break;
    case TOKEN: fprintf(f, "%d", *(const int *)value); break;
    case REAL: fputs(csv_format_real(number, *(const double *)value), f); break;
    case REALS:
        for (size_t i = 0; i < r->threshold_count; i++)
            fprintf(f, "%s%s", i ? "," : "", csv_format_real(number, r->thresholds[i]));
        break;
    case PART: fprintf(f, "%zu/%zu", r->shard, r->shards); break;
    case METHOD:
        fputs(((const struct erf_summary *)value)->replicate_count ? "bootstrap-t" : "none", f);
        break;
    }
    failed = ferror(f);
    if (fclose(f) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

static int describe_field(struct result *r, struct result_model *m, struct result_field *f,
                          struct error *e)
{
    f->attributes = calloc(ROWS, sizeof *f->attributes);
    for (size_t i = 0; f->attributes && i < ROWS; i++) {
        const void *value = value_of(&rows[i], r, m, f);
        struct result_attribute *a = &f->attributes[f->attribute_count];

        if ((f != m->fields && !is_of_field(&rows[i])) || !is_wanted(&rows[i], value, r, m))
            continue;
        f->attribute_count++;
        a->name = strdup(rows[i].name);
        a->value = write_value(&rows[i], value, r);
        if (!a->name || !a->value)
            return fail(e, "%s: out of memory for the attributes", m->name);
    }
    return f->attributes ? 0 : fail(e, "%s: out of memory for the attributes", m->name);
}

int result_describe(struct result *r, struct error *e)
{
    for (size_t i = 0; i < r->model_count; i++)
        for (size_t k = 0; k < r->models[i].field_count; k++)
            if (describe_field(r, &r->models[i], &r->models[i].fields[k], e) != 0)
                return -1;
    return 0;
}

/* ---- reading ---- */

/* Whole numbers as written: only digits. */
static int read_whole_number(size_t *out, const char *text, size_t low, size_t high)
{
    char again[32];

    errno = 0;
    *out = strtoull(text, NULL, 10);
    snprintf(again, sizeof again, "%zu", *out);
    return errno || strcmp(again, text) != 0 || *out < low || *out > high ? -1 : 0;
}

static int read_real(double *out, const char *text, const char **end)
{
    char *behind;

    *out = strtod(text, &behind);
    *end = behind;
    return behind == text || isspace((unsigned char)*text) ? -1 : 0;
}

static int read_thresholds(struct result *r, const char *text)
{
    for (r->threshold_count = 0;; text++) {
        double q, before = r->threshold_count ? r->thresholds[r->threshold_count - 1] : 0;

        if (r->threshold_count == RESULT_THRESHOLDS_MAX || read_real(&q, text, &text) != 0 ||
            !(q > before && q < 1))
            return -1;
        r->thresholds[r->threshold_count++] = q;
        if (!*text)
            return 0;
        if (*text != ',')
            return -1;
    }
}

static int read_part(struct result *r, const char *text)
{
    char one[32];
    size_t length = strcspn(text, "/");

    snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), text);
    return !text[length] || read_whole_number(&r->shards, text + length + 1, 1, SIZE_MAX) != 0 ||
                   read_whole_number(&r->shard, one, 1, r->shards) != 0
               ? -1
               : 0;
}

/* 0, or -1 with what was expected in *e (or that memory ran out). */
static int read_value(const struct row *row, void *value, const char *text, struct result *r,
                      struct error *e)
{
    const char *end = "";
    size_t number;

    switch (row->kind) {
    case TEXT:
        free(*(char **)value);
        return (*(char **)value = strdup(text)) ? 0
                                                : fail_memory(e, (double)strlen(text), row->name);
    case WHOLE:
    case TOKEN:
        if (read_whole_number(&number, text, row->low, row->high) != 0)
            return fail(e, "a whole number from %zu to %zu", row->low, row->high);
        if (row->kind == TOKEN)
            *(int *)value = (int)number;
        else
            *(size_t *)value = number;
        return 0;
    case REAL: return read_real(value, text, &end) == 0 && !*end ? 0 : fail(e, "a number");
    case REALS:
        return read_thresholds(r, text) == 0
                   ? 0
                   : fail(e, "ascending numbers between 0 and 1 with commas");
    case PART: return read_part(r, text) == 0 ? 0 : fail(e, "I/N, the same for all models");
    case METHOD: break;
    }
    return -1;
}

/* The run's attributes are the same for all models, so the first model's are used for all. */
static int check_same(const struct row *row, const char *text, const struct result *r,
                      const struct result_model *m, const char *path, struct error *e)
{
    const char *first = result_attribute(result_main(&r->models[0]), row->name);

    if (row->kind == PART && (!first || strcmp(first, text) != 0))
        return fail(
            e, "%s: the attribute %s of %s is \"%.40s\" (expected I/N, the same for all models)",
            path, row->name, m->name, text);
    return !first || strcmp(first, text) == 0
               ? 0
               : fail(e, "%s: %s of %s is %.80s, and of %s %.80s (expected the same)", path,
                      row->name, m->name, text, r->models[0].name, first);
}

static int understand_field(struct result *r, struct result_model *m, struct result_field *f,
                            const char *path, struct error *e)
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        const char *text = result_attribute(f, row->name);
        int of_run = row->place == RUN || row->place == RUN_BY_FIELD;
        struct error expected;

        if (!text || !row->high || (f != m->fields && row->place != FIELD))
            continue;
        if (of_run && m != r->models) {
            if (check_same(row, text, r, m, path, e) != 0)
                return -1;
        } else if (read_value(row, value_of(row, r, m, f), text, r, &expected) != 0) {
            return fail(e, "%s: the attribute %s of %s is \"%.40s\" (expected %s)", path, row->name,
                        m->name, text, expected.text);
        }
        if (strcmp(row->name, "length") == 0 && m->fields[0].target != r->length)
            return fail(e, "%s: %s has norms of %zu positions (expected %zu)", path, m->name,
                        m->fields[0].positions, r->length - 1);
    }
    return 0;
}

int result_understand(struct result *r, const char *path, struct error *e)
{
    for (size_t i = 0; i < r->model_count; i++) {
        r->models[i].bounds = (struct segment_bounds){.bos = -1, .boundary = -1};
        for (size_t k = 0; k < r->models[i].field_count; k++)
            if (understand_field(r, &r->models[i], &r->models[i].fields[k], path, e) != 0)
                return -1;
    }
    for (r->main_row = 0;
         r->main_row < r->threshold_count && r->thresholds[r->main_row] != r->main_threshold;
         r->main_row++)
        ;
    return r->threshold_count && r->main_row == r->threshold_count
               ? fail(e, "%s: its main_threshold %g is not one of its thresholds", path,
                      r->main_threshold)
               : 0;
}

int result_check_attributes(const struct result *r, const char *path, struct error *e)
{
    for (size_t i = 0; i < r->model_count; i++)
        for (size_t k = 0; k < r->models[i].field_count; k++) {
            struct result_model *m = &r->models[i];
            struct result_field *f = &m->fields[k];

            for (size_t j = 0; j < ROWS; j++) {
                const void *value = value_of(&rows[j], (struct result *)(uintptr_t)r, m, f);

                if (rows[j].when == WHERE_KNOWN || rows[j].when == SINCE_0_3 ||
                    (k && !is_of_field(&rows[j])) || !is_wanted(&rows[j], value, r, m))
                    continue;
                if (!result_attribute(f, rows[j].name))
                    return fail(
                        e,
                        "%s: %s has no attribute %s (expected a result of reach erf --shard I/N)",
                        path, m->name, rows[j].name);
            }
        }
    return 0;
}
