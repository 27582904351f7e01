/* `reach merge`: shards of one run of `reach erf` -> one result. */
#include "commands/commands.h"
#include "commands/merge.h"
#include "commands/terminal.h"
#include "run/results.h"
#include "run/threads.h"

#include "plots/figure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum option { OPTION_FOLDER, OPTION_FORCE, OPTION_FORMAT, OPTION_QUIET, OPTION_COUNT };

static const struct argument_row rows[OPTION_COUNT] = {
    [OPTION_FOLDER] = {"o", "DIR", "folder for the result (default reach-erf)"},
    [OPTION_FORCE] = {"force", NULL, "overwrite results"},
    [OPTION_FORMAT] = {"format", "LIST", "pictures to draw: png, svg, pdf, several with commas (default png)"},
    [OPTION_QUIET] = {"quiet", NULL, "no messages but errors"},
};

static const struct verb_help help = {
    .verb = "merge",
    .synopsis = "DIR... [-o DIR] [options]",
    .description = "Makes one result of the results of `reach erf --shard 1/N` to `--shard N/N`, in any order: the same files, "
                   "byte for byte, as one run without --shard writes, its command included. Means, intervals and differences are "
                   "computed anew from the norms of all segments; neither models nor text are needed. Where shards name a model "
                   "or a text by different paths, those of shard 1 are taken.\n"
                   "\n"
                   "Shards of different models, text, options, types of number, devices or kernels, and shards that are missing "
                   "or there twice, are refused by name.\n",
    .options = rows,
    .option_count = OPTION_COUNT,
    .examples = "  reach erf runs/8 --tokens valid.npy --shard 1/2 -o part-1     # on one machine\n"
                "  reach erf runs/8 --tokens valid.npy --shard 2/2 -o part-2     # on another\n"
                "  reach merge part-1 part-2 -o whole\n",
};

struct merge_options {
    struct text_list folders;
    const char *folder, *formats;
    int force, quiet;
};

static int parse(struct merge_options *o, int argc, char **argv, struct error *e)
{
    struct arguments a = {.count = argc, .text = argv};
    const char *value;
    int option;

    *o = (struct merge_options){.folder = "reach-erf", .formats = "png"};
    while ((option = arguments_next(&a, &help, &value, e)) != ARGUMENT_END)
        switch (option) {
        case ARGUMENT_HELP: return ARGUMENT_HELP;
        case ARGUMENT_OPERAND:
            if (text_list_add(&o->folders, value, e) != 0)
                return -1;
            break;
        case OPTION_FOLDER:
            o->folder = value;
            if (!*value)
                return fail(e, "-o: is empty (expected a folder)");
            break;
        case OPTION_FORCE: o->force = 1; break;
        case OPTION_FORMAT:
            o->formats = value;
            if (figure_check_formats(value, e) != 0)
                return -1;
            break;
        case OPTION_QUIET: o->quiet = 1; break;
        default: return -1;
        }
    return o->folders.count ? 0 : fail(e, "no DIR is given (expected the folders of all shards)");
}

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

static int merge_in_folder(struct erf_run *r, const struct merge_options *o, const struct shard *shards, struct error *e)
{
    struct error why; /* there are no pictures */
    int drawn;

    if ((!o->force && clear_place(o, e) != 0) || merge_fill(r, shards, o->folders.count, e) != 0 || clear_place(o, e) != 0)
        return -1;
    drawn = erf_write(r, o->folder, e);
    if (drawn < 0)
        return -1;
    why = *e;
    if (drawn == FIGURE_NO_GNUPLOT)
        fprintf(stderr, "reach merge: %s\n", why.text);
    progress_message(r->progress, "results are in %s", o->folder);
    if (erf_print(r, e) != 0)
        return -1;
    return drawn == FIGURE_NOT_DRAWN ? fail(e, "%s", why.text) : 0;
}

static int merge(const struct merge_options *o, struct error *e)
{
    static const char *const none[] = {NULL};
    struct terminal terminal;
    struct erf_options options = {0};
    struct erf_run r = {.options = &options, .progress = &terminal.progress};
    struct results place = {.lock = -1};
    struct shard *shards = NULL;
    char **words = NULL;
    int rc = -1;

    terminal_plain(&terminal, "merge", o->quiet);
    if (check_places(o, e) == 0 && shards_open(&shards, &o->folders, e) == 0 &&
        merge_open(&r, &options, &words, &shards[0], e) == 0 && results_open(&place, o->folder, none, 1, e) == 0) {
        options.formats = o->formats;
        rc = merge_in_folder(&r, o, shards, e);
    }
    results_close(&place);
    erf_run_free(&r);
    erf_options_free(&options);
    free(r.arguments);
    free(words);
    shards_free(shards, o->folders.count);
    return rc;
}

int main_merge(int argc, char **argv)
{
    struct merge_options o;
    struct error e = {""};
    int status = EXIT_DONE, parsed = parse(&o, argc, argv, &e);

    if (parsed == ARGUMENT_HELP)
        verb_help_print(stdout, &help);
    else if (parsed != 0)
        status = print_usage_error("merge", &e);
    else if (threads_open(0, &e) != 0 || merge(&o, &e) != 0)
        status = print_failure("merge", &e);
    text_list_free(&o.folders);
    return status;
}
