/* The common part of all verbs. */
#include "commands/verb.h"

#include "commands/screen.h"
#include "commands/table.h"
#include "run/interrupt.h"
#include "run/ranks.h"
#include "run/results.h"
#include "run/threads.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

static int print_failure(const struct call *c, const struct error *e)
{
    if (ranks_here()->rank > 0) /* reported by rank 0 */
        return EXIT_FAILED;
    fflush(stdout);
    screen_complain("reach %s: %s", c->verb->name, e->text);
    return EXIT_FAILED;
}

static int print_usage_error(const struct call *c, const struct error *e)
{
    if (ranks_here()->rank > 0) /* and here, if it has found the same */
        return EXIT_USAGE;
    fflush(stdout);
    screen_complain("reach %s: %s; see `reach %s --help`", c->verb->name, e->text, c->verb->name);
    return EXIT_USAGE;
}

/* Options that mean the same in every verb that has them: a flag, or the number of a choice. */
static int flag_of(const struct call *c, const char *name)
{
    const struct option_row *row = option_find(c->verb, name);

    return row ? OPTION_FIELD(int, c->options, row) : 0;
}

static const char *text_of(const struct call *c, const char *name)
{
    const struct option_row *row = option_find(c->verb, name);

    return row ? OPTION_FIELD(const char *, c->options, row) : NULL;
}

static int start_threads(const struct call *c, struct error *e)
{
    const struct option_row *row = option_find(c->verb, "threads");

    if (c->verb->computes)
        interrupt_apart();
    interrupt_end(); /* until the work can be stopped */
    return !c->verb->computes ? 0 : threads_open(row ? OPTION_FIELD(long, c->options, row) : 0, e);
}

/* ---- --json: the document is kept until the run has succeeded ---- */

struct kept {
    struct json_writer document;
    char *text;
    size_t size;
};

static int keep_document(struct kept *k, struct call *c, struct error *e)
{
    const struct option_row *folder = option_find(c->verb, "o");
    struct json_writer *d = &k->document;

    if (!flag_of(c, "json") || ranks_here()->rank > 0)
        return 0;
    if (!(d->stream = open_memstream(&k->text, &k->size)))
        return fail_memory(e, 1024, "a document");
    json_write_open(d, NULL, '{');
    json_write_text(d, "reach", REACH_VERSION);
    json_write_whole(d, "schema", DOCUMENT_SCHEMA);
    json_write_text(d, "verb", c->verb->name);
    json_write_text(d, "command", c->command);
    if (c->settings.count)
        json_write_open(d, "settings", '{');
    for (size_t i = 0; i < c->settings.count; i++)
        json_write_text(d, c->settings.item[i].name,
                        *c->settings.item[i].value ? c->settings.item[i].value : NULL);
    if (c->settings.count)
        json_write_close(d, '}');
    if (folder)
        json_write_text(d, "folder", text_of(c, "o"));
    c->json = d;
    return 0;
}

/* Prints it if `rc` is 0. */
static int print_document(struct kept *k, int rc, struct error *e)
{
    FILE *f = k->document.stream;

    if (!f)
        return rc;
    json_write_close(&k->document, '}');
    if ((ferror(f) | fclose(f)) && rc == 0)
        rc = fail_memory(e, (double)k->size, "a document");
    if (rc == 0)
        fwrite(k->text, 1, k->size, stdout); /* commands_main reports failures */
    free(k->text);
    return rc;
}

int verb_document(struct call *c, const void *shown, const void *found, struct error *e)
{
    const struct verb *v = c->verb;

    return (v->shown && results_document(c->json, v->shown, shown, e) != 0) ||
                   (v->files && results_document(c->json, v->files, found, e) != 0)
               ? -1
               : 0;
}

static int run(struct call *c, struct error *e)
{
    const struct verb *v = c->verb;
    struct kept kept = {.text = NULL};
    int rc;

    if (!(c->command = options_command(c->options, v))) {
        fail(e, "out of memory for the command");
        return print_failure(c, e);
    }
    if (flag_of(c, "wide"))
        screen_widen();
    if (flag_of(c, "table")) {
        table_choose((enum table_format)flag_of(c, "table"), c->command);
        screen_silence();
    }
    if (ranks_here()->rank > 0)
        terminal_silent(&c->terminal, v->name);
    if (options_settings(&c->settings, c->options, v, e) != 0 || start_threads(c, e) != 0 ||
        (ranks_here()->rank == 0 && terminal_open(&c->terminal, v->name, flag_of(c, "quiet"),
                                                  text_of(c, "log"), c->command, e) != 0))
        return print_failure(c, e);
    rc = keep_document(&kept, c, e) == 0 ? v->run(c, e) : -1;
    progress_repeat(&c->terminal.progress);
    if (rc == 0 && *c->terminal.not_drawn.text)
        rc = fail(e, "%s", c->terminal.not_drawn.text);
    terminal_close(&c->terminal, rc == 0 ? NULL : e->text);
    if (rc == 0 && *c->terminal.log.failed.text) /* results are complete, the log is not */
        rc = fail(e, "%s", c->terminal.log.failed.text);
    rc = print_document(&kept, rc, e);
    return rc == 0 ? EXIT_DONE : rc == EXIT_USAGE ? print_usage_error(c, e) : print_failure(c, e);
}

/* From arguments to exit status, as one rank or alone. */
static int parse_and_run(const struct verb *v, int argc, char **argv)
{
    struct call c = {.verb = v, .options = calloc(1, v->options_size + 1)};
    struct error e = {""};
    int status = EXIT_DONE, parsed;

    if (!c.options) {
        fail_memory(&e, (double)v->options_size, "options");
        return print_failure(&c, &e);
    }
    parsed = options_parse(c.options, v, argc, argv, &e);
    if (parsed > 0 && ranks_here()->rank == 0)
        help_print(stdout, v, parsed == PARSED_HELP_ALL);
    if (parsed <= 0)
        status = parsed == 0 ? run(&c, &e) : print_usage_error(&c, &e);
    options_free(c.options, v);
    free(c.options);
    settings_free(&c.settings);
    free(c.command);
    return status;
}

int verb_run(const struct verb *v, int argc, char **argv)
{
    struct error e;
    int status;

    interrupt_name(v->name);
    if (!v->divided)
        return parse_and_run(v, argc, argv);
    if (v->computes)
        interrupt_apart(); /* before a library for several ranks starts threads */
    if (ranks_open(&e) != 0) {
        screen_complain("reach %s: %s", v->name, e.text);
        return EXIT_FAILED;
    }
    status = parse_and_run(v, argc, argv);
    fflush(stdout);
    ranks_close(status);
    return status;
}
