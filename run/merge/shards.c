/* What shards say of themselves, and whether they are all of one run. */
#include "run/merge/shards.h"

#include "run/erf/shard.h"
#include "run/results.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MISSING_SHOWN = 8 };

const char *shard_text(const struct shard *s, const struct result_model *m, const char *name, struct error *e)
{
    const char *value = result_attribute(result_main(m), name);

    if (!value)
        fail(e, "%s: %s has no attribute %s (expected a result of reach erf --shard I/N)", s->path, m->name, name);
    return value;
}

int shard_whole(long *out, const struct shard *s, const struct result_model *m, const char *name, long low, long high,
                struct error *e)
{
    const char *value = shard_text(s, m, name, e);
    char *end;

    if (!value)
        return -1;
    *out = strtol(value, &end, 10);
    if (end == value || *end || *out < low || *out > high)
        return fail(e, "%s: the attribute %s of %s is \"%.40s\" (expected a whole number from %ld to %ld)", s->path, name,
                    m->name, value, low, high);
    return 0;
}

/* Which shard of how many, and that it holds the segments which that one has. */
static int read_number(struct shard *s, struct error *e)
{
    for (size_t i = 0; i < s->heads.model_count; i++) {
        const struct result_model *m = &s->heads.models[i];
        const char *text = result_attribute(result_main(m), "shard");
        long first, segments;
        size_t begin;
        char again[64];

        if (!text)
            return fail(e,
                        "%s: is no shard (expected a result of reach erf --shard I/N; a whole one has nothing to be merged with)",
                        s->path);
        if (sscanf(text, "%ld/%ld", &s->number, &s->of) != 2)
            s->of = 0;
        snprintf(again, sizeof again, "%ld/%ld", s->number, s->of);
        if (strcmp(text, again) != 0 || s->number < 1 || s->number > s->of ||
            strcmp(text, result_attribute(result_main(&s->heads.models[0]), "shard")) != 0)
            return fail(e, "%s: the attribute shard of %s is \"%.40s\" (expected I/N, the same for all models)", s->path, m->name,
                        text);
        if (shard_whole(&first, s, m, "shard_first", 0, 1L << 40, e) != 0 ||
            shard_whole(&segments, s, m, "run_segments", 1, 1L << 40, e) != 0)
            return -1;
        if (erf_shard(&begin, (size_t)segments, (size_t)s->number, (size_t)s->of) != m->segments || begin != (size_t)first)
            return fail(e, "%s: holds %zu segments of %s from %ld on, which are not those of shard %ld/%ld of %ld", s->path,
                        m->segments, m->name, first, s->number, s->of, segments);
    }
    return 0;
}

static int open_shard(struct shard *s, struct error *e)
{
    struct stat found;

    if (stat(s->folder, &found) == 0 && !S_ISDIR(found.st_mode))
        s->path = strdup(s->folder);
    else
        s->path = results_path(s->folder, "erf.h5", e);
    if (!s->path)
        return fail(e, "%s: out of memory", s->folder);
    if (results_check_finished(s->folder, e) != 0)
        return -1;
    return result_read_heads(s->path, &s->heads, e) != 0 || read_number(s, e) != 0 ? -1 : 0;
}

/* Attributes in which shards of one run differ. */
static int may_differ(const char *name)
{
    static const char *const names[] = {"path",        "segments",           "excluded",      "shard",
                                        "shard_first", "attention_segments", "attention_used"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

/* 0 if all attributes of x, of the model `model`, are in y with the same values. */
static int compare_attributes(const struct shard *a, const struct shard *b, const char *model, const struct result_field *x,
                              const struct result_field *y, struct error *e)
{
    static const char *const causes[] = {"digest", "tokens_digest"}; /* of most other differences, so they are named first */
    enum { CAUSES = sizeof causes / sizeof *causes };

    for (size_t i = 0; i < CAUSES + x->attribute_count; i++) {
        const char *name = i < CAUSES ? causes[i] : x->attributes[i - CAUSES].name, *here = result_attribute(x, name),
                   *there = result_attribute(y, name);

        if (here && !may_differ(name) && (!there || strcmp(here, there) != 0))
            return fail(e, "%s: %s of %s is %.80s, and in %s %.80s (expected shards of one run)", a->folder, name, model, here,
                        b->folder, there ? there : "nothing");
    }
    return 0;
}

/* The command without models, text and shard: all options that can change a number. Caller frees. */
static char *options_text(const struct shard *s, struct error *e)
{
    struct erf_options o;
    char **words, *text = NULL;
    int count;

    if (command_words(&words, &count, s->heads.command, e) != 0)
        return NULL;
    if (count < 2 || erf_options_parse(&o, count - 2, words + 2, e) != 0)
        fail(e, "%s: its command is not understood: %.200s", s->path, s->heads.command);
    else {
        o.models.count = o.text.count = o.tokens.count = 0;
        o.shards = 0;
        if (!(text = erf_options_command(&o)))
            fail(e, "%s: out of memory", s->path);
    }
    if (count >= 2)
        erf_options_free(&o);
    free(words);
    return text;
}

static int compare_fields(const struct shard *a, const struct shard *b, const struct result_model *m,
                          const struct result_model *n, struct error *e)
{
    int same = m->field_count == n->field_count && m->wide == n->wide && m->attention.layers == n->attention.layers &&
               m->attention.heads == n->attention.heads;

    for (size_t k = 0; k < m->field_count && k < n->field_count; k++) {
        const struct result_field *x = &m->fields[k], *y = &n->fields[k];

        if (compare_attributes(a, b, m->name, x, y, e) != 0 || compare_attributes(b, a, m->name, y, x, e) != 0)
            return -1;
        same &= x->target == y->target && x->layer == y->layer && x->positions == y->positions;
    }
    return same ? 0
                : fail(e, "%s: holds other targets, layers or attention of %s than %s (expected shards of one run)", a->folder,
                       m->name, b->folder);
}

/* 0 if a is a part of the run that b is a part of. */
static int compare(const struct shard *a, const struct shard *b, struct error *e)
{
    const struct result *x = &a->heads, *y = &b->heads;
    char *here, *there;
    int rc;

    if (a->of != b->of)
        return fail(e, "%s: is shard %ld of %ld, and %s shard %ld of %ld (expected shards of one run)", a->folder, a->number,
                    a->of, b->folder, b->number, b->of);
    if (a->number == b->number)
        return fail(e, "%s: is shard %ld of %ld, and so is %s (expected each once)", a->folder, a->number, a->of, b->folder);
    if (strcmp(x->version, y->version) != 0)
        return fail(e, "%s: was written by reach %.40s, and %s by %.40s (expected one version)", a->folder, x->version, b->folder,
                    y->version);
    for (size_t i = 0; i < x->model_count && i < y->model_count; i++) {
        const struct result_model *m = &x->models[i], *n = &y->models[i];

        if (strcmp(m->name, n->name) != 0)
            return fail(e, "%s: has the model %s where %s has %s (expected shards of one run)", a->folder, m->name, b->folder,
                        n->name);
        if (compare_fields(a, b, m, n, e) != 0)
            return -1;
    }
    if (x->model_count != y->model_count)
        return fail(e, "%s: holds %zu models, targets and layers, and %s %zu (expected shards of one run)", a->folder,
                    x->model_count, b->folder, y->model_count);
    here = options_text(a, e);
    there = here ? options_text(b, e) : NULL;
    rc = !there                     ? -1
         : strcmp(here, there) == 0 ? 0
                                    : fail(e, "%s: is of \"%.100s\", and %s of \"%.100s\" (expected shards of one run)",
                                           a->folder, here, b->folder, there);
    free(here);
    free(there);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const struct shard *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Sorted shards, which are all of one run: is each there? */
static int check_all(const struct shard *s, int count, struct error *e)
{
    char missing[MISSING_SHOWN * 24 + 8] = "";
    size_t used = 0;
    int shown = 0;

    if (count == s->of)
        return 0;
    for (long number = 1, i = 0; number <= s->of && shown <= MISSING_SHOWN; number++) {
        if (i < count && s[i].number == number) {
            i++;
            continue;
        }
        if (shown == MISSING_SHOWN)
            used += (size_t)snprintf(missing + used, sizeof missing - used, " ...");
        else
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%ld", shown ? ", " : "", number);
        shown++;
    }
    return fail(e, "of %ld shards these are missing: %s (expected all of them)", s->of, missing);
}

int shards_open(struct shard **out, const struct text_list *folders, struct error *e)
{
    int count = folders->count;
    struct shard *s = *out = calloc((size_t)count, sizeof *s);

    if (!s)
        return fail(e, "out of memory for %d shards", count);
    for (int i = 0; i < count; i++) {
        s[i].folder = folders->item[i];
        if (open_shard(&s[i], e) != 0)
            return -1;
    }
    for (int i = 1; i < count; i++)
        if (compare(&s[i], &s[0], e) != 0)
            return -1;
    qsort(s, (size_t)count, sizeof *s, by_number);
    for (int i = 1; i < count; i++)
        if (s[i].number == s[i - 1].number)
            return fail(e, "%s: is shard %ld of %ld, and so is %s (expected each once)", s[i].folder, s[i].number, s[i].of,
                        s[i - 1].folder);
    return check_all(s, count, e);
}

void shards_free(struct shard *s, int count)
{
    for (int i = 0; s && i < count; i++) {
        free(s[i].path);
        result_free(&s[i].heads);
    }
    free(s);
}
