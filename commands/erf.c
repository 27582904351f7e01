/* `reach erf`: the empirical receptive field ([A] section 5.1). */
#include "commands/commands.h"
#include "commands/erf.h"
#include "commands/terminal.h"
#include "run/threads.h"

#include "io/atomic.h"
#include "plots/figure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Measures and writes in a folder that exists and is locked. */
static int run_in_folder(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    char *journal = erf_path(o->folder, "erf.part", e);
    struct error why; /* there are no pictures */
    int rc = -1, drawn;

    if (!journal)
        goto end;
    /* an unfinished run may have been killed between two of its results */
    if (!o->force && !(o->resume && access(journal, F_OK) == 0) && erf_results_exist(o->folder, e))
        goto end;
    if (erf_measure(r, journal, e) != 0 || erf_unchanged(r, e) != 0)
        goto end;
    drawn = erf_write(r, o->folder, e);
    if (drawn < 0)
        goto end;
    why = *e;
    if (drawn == FIGURE_NO_GNUPLOT) {
        progress_end(r->progress);
        fprintf(stderr, "reach erf: %s\n", why.text);
    }
    erf_journal_remove(journal);
    progress_message(r->progress, "results are in %s", o->folder);
    rc = erf_print(r, e);
    if (rc == 0 && o->check_precision) {
        fflush(stdout);
        rc = erf_check_precision(r, e);
    }
    if (rc == 0 && drawn == FIGURE_NOT_DRAWN)
        rc = fail(e, "%s", why.text);
end:
    free(journal);
    return rc;
}

static int run(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    struct stat found;
    int is_new = stat(o->folder, &found) != 0, lock, rc;

    if (erf_prepare(r, e) != 0 || folder_make(o->folder, e) != 0)
        return -1;
    lock = folder_lock(o->folder, e);
    if (lock < 0)
        return -1;
    rc = run_in_folder(r, e);
    folder_unlock(lock, o->folder);
    if (rc != 0 && is_new)
        rmdir(o->folder); /* only where nothing was left in it */
    return rc;
}

int main_erf(int argc, char **argv)
{
    struct erf_options options;
    struct terminal terminal = {0};
    struct erf_run r = {.options = &options, .progress = &terminal.progress};
    struct error e = {""};
    int status = EXIT_DONE, parsed = erf_options_parse(&options, argc, argv, &e);

    if (parsed == ARGUMENT_HELP) {
        verb_help_print(stdout, &erf_help);
        goto end;
    }
    if (parsed != 0 || model_arguments(&r.arguments, &options.models, &e) != 0) {
        status = print_usage_error("erf", &e);
        goto end;
    }
    r.count = (size_t)options.models.count;
    if (threads_open(options.machine.threads, &e) != 0 || run_available(&options.machine, &e) != 0 ||
        terminal_open(&terminal, "erf", options.quiet, options.log, &e) != 0) {
        status = print_failure("erf", &e);
        goto end;
    }
    if (run(&r, &e) != 0) {
        progress_log(&terminal.progress, "failed: %s", e.text);
        terminal_clear(&terminal);
        status = print_failure("erf", &e);
    }
    terminal_close(&terminal);
end:
    erf_run_free(&r);
    free(r.arguments);
    erf_options_free(&options);
    return status;
}
