/* Opening shards, and checking that all exist. */
#include "run/merge/shards.h"

#include "run/erf/shard.h"
#include "run/results.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MISSING_SHOWN = 8 };

/* Checks that it is a shard, with the right segments. */
static int check_number(const struct shard *s, struct error *e)
{
    const struct result *r = &s->heads;

    if (!r->shards)
        return fail(e,
                    "%s: is not a shard (expected a result of reach erf --shard I/N; this one is "
                    "whole already)",
                    s->path);
    if (result_check_attributes(r, s->path, e) != 0)
        return -1;
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];
        size_t begin;

        if (erf_shard(&begin, m->run_segments, r->shard, r->shards) != m->segments ||
            begin != m->first)
            return fail(e,
                        "%s: holds %zu segments of %s from %zu on, which are not those of shard "
                        "%zu/%zu of %zu",
                        s->path, m->segments, m->name, m->first, r->shard, r->shards,
                        m->run_segments);
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
    return result_read_heads(s->path, &s->heads, e) != 0 || check_number(s, e) != 0 ? -1 : 0;
}

static int by_number(const void *a, const void *b)
{
    const struct shard *x = a, *y = b;

    return (x->heads.shard > y->heads.shard) - (x->heads.shard < y->heads.shard);
}

/* Checks sorted shards of one run for gaps. */
static int check_all(const struct shard *s, int count, struct error *e)
{
    char missing[MISSING_SHOWN * 24 + 8] = "";
    size_t used = 0, shards = s->heads.shards;
    int shown = 0;

    if ((size_t)count == shards)
        return 0;
    for (size_t number = 1, i = 0; number <= shards && shown <= MISSING_SHOWN; number++) {
        if (i < (size_t)count && s[i].heads.shard == number) {
            i++;
            continue;
        }
        if (shown == MISSING_SHOWN)
            used += (size_t)snprintf(missing + used, sizeof missing - used, " ...");
        else
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%zu",
                                     shown ? ", " : "", number);
        shown++;
    }
    return fail(e, "of %zu shards these are missing: %s (expected all of them)", shards, missing);
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
        if (shards_compare(&s[i], &s[0], e) != 0)
            return -1;
    qsort(s, (size_t)count, sizeof *s, by_number);
    for (int i = 1; i < count; i++)
        if (s[i].heads.shard == s[i - 1].heads.shard)
            return fail(e, "%s: is shard %zu of %zu, and so is %s (expected each once)",
                        s[i].folder, s[i].heads.shard, s[i].heads.shards, s[i - 1].folder);
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
