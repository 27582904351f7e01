#include "run/merge/merge.h"

#include "run/erf/write.h"
#include "run/merge/shards.h"
#include "run/results.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The result must not replace a shard. */
static int check_places(const struct merge_request *q, struct error *e)
{
    struct stat to, from;

    if (stat(q->folder, &to) != 0)
        return 0;
    for (int i = 0; i < q->folders.count; i++)
        if (stat(q->folders.item[i], &from) == 0 && from.st_dev == to.st_dev &&
            from.st_ino == to.st_ino)
            return fail(e, "%s: is one of the shards (expected another folder with -o)", q->folder);
    return 0;
}

/* Nothing in the folder may be lost unless --force is given; a journal left by an unfinished run
 * would be resumed over these results. */
static int clear_place(const struct merge_request *q, struct error *e)
{
    static const char *const parts[] = {"erf.part",
                                        "erf.part.attention"}; /* the latter from reach 0.1.0 */

    if (!q->force && erf_results_exist(q->folder, e))
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *path = results_path(q->folder, parts[i], e);
        int there = path && access(path, F_OK) == 0;

        if (there && q->force)
            unlink(path);
        else if (there)
            fail(e,
                 "%s: an unfinished run is kept here (expected another folder with -o, or --force)",
                 path);
        free(path);
        if (!path || (there && !q->force))
            return -1;
    }
    return 0;
}

static int merge_in_folder(struct result *out, const struct merge_request *q, struct shard *shards,
                           struct error *e)
{
    if ((!q->force && clear_place(q, e) != 0) ||
        shards_join(out, shards, q->folders.count, e) != 0 || clear_place(q, e) != 0 ||
        erf_write(out, q->folder, q->formats, q->progress, e) != 0)
        return -1;
    progress_message(q->progress, "results are in %s", q->folder);
    return 0;
}

int merge_run(struct result *out, const struct merge_request *q, struct error *e)
{
    struct results place = {.lock = -1};
    struct shard *shards = NULL;
    int rc = -1;

    *out = (struct result){0};
    if (check_places(q, e) == 0 && shards_open(&shards, &q->folders, e) == 0 &&
        results_open(&place, q->folder, NULL, 1, e) == 0)
        rc = merge_in_folder(out, q, shards, e);
    results_close(&place);
    shards_free(shards, q->folders.count);
    return rc;
}
