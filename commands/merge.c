/* `reach merge`: shards of one run of `reach erf` -> one result. */
#include "commands/commands.h"
#include "commands/erf.h"
#include "run/erf/write.h"
#include "run/merge/shards.h"
#include "commands/rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct merge_options {
    struct text_list folders;
    const char *folder, *formats;
    int force, quiet;
};

/* The result must not take the place of a shard. */
static int check_places(const struct merge_options *o, struct error *e)
{
    struct stat to, from;

    if (stat(o->folder, &to) != 0)
        return 0;
    for (int i = 0; i < o->folders.count; i++)
        if (stat(o->folders.item[i], &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
            return fail(e, "%s: is one of the shards (expected another folder with -o)", o->folder);
    return 0;
}

/* Nothing that is in the folder may be lost unless --force says so; what an unfinished run left there would be gone on with over
 * these results. */
static int clear_place(const struct merge_options *o, struct error *e)
{
    static const char *const parts[] = {"erf.part", "erf.part.attention"};

    if (!o->force && erf_results_exist(o->folder, e))
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *path = results_path(o->folder, parts[i], e);
        int there = path && access(path, F_OK) == 0;

        if (there && o->force)
            unlink(path);
        else if (there)
            fail(e, "%s: an unfinished run is kept here (expected another folder with -o, or --force)", path);
        free(path);
        if (!path || (there && !o->force))
            return -1;
    }
    return 0;
}

static int merge_in_folder(struct call *c, struct erf_run *r, const struct shard *shards, struct error *e)
{
    const struct merge_options *o = c->options;

    if ((!o->force && clear_place(o, e) != 0) || merge_fill(r, shards, o->folders.count, e) != 0 || clear_place(o, e) != 0 ||
        erf_write(&r->result, o->folder, o->formats, r->progress, &c->not_drawn, e) != 0)
        return -1;
    progress_message(r->progress, "results are in %s", o->folder);
    return erf_print(&r->result, e);
}

static int merge_call(struct call *c, struct error *e)
{
    const struct merge_options *o = c->options;
    struct erf_options options = {0};
    struct erf_run r = {.options = &options, .progress = &c->terminal.progress};
    struct shard *shards = NULL;
    char **words = NULL;
    int rc = -1;

    if (check_places(o, e) == 0 && shards_open(&shards, &o->folders, e) == 0 &&
        merge_open(&r, &options, &words, &shards[0], e) == 0 && call_lock(c, e) == 0) {
        options.formats = o->formats;
        rc = merge_in_folder(c, &r, shards, e);
    }
    erf_run_free(&r);
    erf_options_free(&options);
    free((char *)r.command);
    free((void *)r.arguments);
    free(words);
    shards_free(shards, o->folders.count);
    return rc;
}

#define OPTIONS struct merge_options

static const struct option_row rows[] = {
    FOLDER_ROW("folder for the result", "reach-erf"),
    FORCE_ROW("overwrite results"),
    FORMAT_ROW,
    QUIET_ROW("no messages but errors"),
};

static const struct operand_row operands[] = {
    {.name = "DIR", .expected = "the folders of all shards", .at = AT(folders), .flags = OPERAND_LIST}};

const struct verb merge_verb = {
    .name = "merge",
    .summary = "shards of one run of erf as one result",
    .synopsis = "DIR... [-o DIR] [options]",
    .description = "Makes one result of the results of `reach erf --shard 1/N` to `--shard N/N`, in any order: the same files, "
                   "byte for byte, as one run without --shard writes, its command included. Means, intervals and differences are "
                   "computed anew from the norms of all segments; neither models nor text are needed. Where shards name a model "
                   "or a text by different paths, those of shard 1 are taken.\n"
                   "\n"
                   "Shards of different models, text, options, types of number, devices or kernels, and shards that are missing "
                   "or there twice, are refused by name.\n",
    .examples = "  reach erf runs/8 --tokens valid.npy --shard 1/2 -o part-1     # on one machine\n"
                "  reach erf runs/8 --tokens valid.npy --shard 2/2 -o part-2     # on another\n"
                "  reach merge part-1 part-2 -o whole\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .computes = 1,
    .run = merge_call,
};
