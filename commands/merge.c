/* `reach merge`: shards of one run of `reach erf` -> one result. */
#include "commands/commands.h"
#include "commands/erf.h"
#include "commands/rows.h"
#include "run/merge/merge.h"

static int merge_call(struct call *c, struct error *e)
{
    struct merge_request *o = c->options;
    struct result result;
    int rc;

    o->progress = &c->terminal.progress;
    rc = merge_run(&result, o, e);
    if (rc == 0)
        rc = c->json ? verb_document(c, &(struct erf_shown){.result = &result}, &result, e)
                     : erf_print(&result, e);
    result_free(&result);
    return rc;
}

#define OPTIONS struct merge_request

static const struct option_row rows[] = {
    FOLDER_ROW("folder for the result", "reach-erf"),
    FORCE_ROW("overwrite results"),
    FORMAT_ROW,
    WIDE_ROW,
    TABLE_ROW,
    JSON_ROW,
    QUIET_ROW,
};

static const struct operand_row operands[] = {{.name = "DIR",
                                               .expected = "the folders of all shards",
                                               .at = AT(folders),
                                               .flags = OPERAND_LIST}};

const struct verb merge_verb = {
    .name = "merge",
    .summary = "join the shards of one run of erf into one result",
    .synopsis = "DIR... [-o DIR] [options]",
    .description = "Joins the results of `reach erf --shard 1/N` to `--shard N/N`, in any order, "
                   "into one result: the same "
                   "files, byte for byte, as a run without --shard writes, including its command. "
                   "Means, intervals and "
                   "differences are computed again from the norms of all segments; neither models "
                   "nor text are needed. If shards "
                   "name a model or a text by different paths, those of shard 1 are taken.\n"
                   "\n"
                   "Shards of different models, text, options, types of number, devices or kernels "
                   "are refused, and so are "
                   "missing or duplicate shards; the message names them.\n",
    .examples = "  reach erf runs/8 --tokens valid.npy --shard 1/2 -o part-1     # on one machine\n"
                "  reach erf runs/8 --tokens valid.npy --shard 2/2 -o part-2     # on another\n"
                "  reach merge part-1 part-2 -o whole\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .computes = 1,
    .shown = erf_shown,
    .files = erf_files,
    .run = merge_call,
};
