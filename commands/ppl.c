/* `reach ppl`: perplexity by four protocols ([A] section 3.4 and appendix B; [B] "Sliding window attention"). */
#include "commands/commands.h"
#include "commands/ppl.h"

#include "run/results.h"
#include "commands/run_options.h"
#include "commands/terminal.h"
#include "run/threads.h"
#include "plots/figure.h"

#include <stdlib.h>

/* Measures and writes; the folder is checked before the work. */
static int run(struct ppl_run *r, struct error *e)
{
    static const char *const names[] = {"ppl.csv", "ppl.gp", NULL};
    const struct ppl_options *o = r->options;
    struct results results = {.lock = -1};
    int rc, drawn = 0;

    if (ppl_prepare(r, e) != 0 || ppl_tokens_open(r, e) != 0)
        return -1;
    rc = o->folder ? results_open(&results, o->folder, names, o->force, e) : 0;
    if (rc == 0)
        rc = ppl_measure(r, e);
    if (ppl_tokens_close(r, rc == 0, e) != 0)
        rc = -1;
    if (rc == 0 && o->folder) {
        drawn = ppl_write(r, o->folder, e);
        rc = drawn < 0 ? -1 : 0;
        if (drawn == FIGURE_NO_GNUPLOT)
            fprintf(stderr, "reach ppl: %s\n", e->text);
        if (rc == 0)
            progress_message(r->progress, "results are in %s", o->folder);
    }
    results_close(&results);
    if (rc != 0 || ppl_print(r, e) != 0)
        return -1;
    return drawn == FIGURE_NOT_DRAWN ? -1 : 0; /* its message is there still */
}

int main_ppl(int argc, char **argv)
{
    struct ppl_options options;
    struct terminal terminal = {0};
    struct ppl_run r = {.options = &options, .progress = &terminal.progress};
    struct error e = {""};
    int status = EXIT_DONE, parsed = ppl_options_parse(&options, argc, argv, &e);

    if (parsed == ARGUMENT_HELP) {
        verb_help_print(stdout, &ppl_help);
        goto end;
    }
    if (parsed != 0 || model_arguments(&r.arguments, &options.models, &e) != 0) {
        status = print_usage_error("ppl", &e);
        goto end;
    }
    r.count = (size_t)options.models.count;
    if (threads_open(options.machine.threads, &e) != 0 || run_available(&options.machine, &e) != 0 ||
        terminal_open(&terminal, "ppl", options.quiet, NULL, &e) != 0) {
        status = print_failure("ppl", &e);
        goto end;
    }
    if (run(&r, &e) != 0) {
        terminal_clear(&terminal);
        status = print_failure("ppl", &e);
    }
    terminal_close(&terminal);
end:
    ppl_run_free(&r);
    free(r.arguments);
    ppl_options_free(&options);
    return status;
}
