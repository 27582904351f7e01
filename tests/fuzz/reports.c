/* Targets: saved results as figures, pages and explanations are made of them. gnuplot is not
 * started. */
#include "tests/fuzz/fuzz.h"

#include "commands/report.h"
#include "run/explain/explain.h"
#include "run/plot/plot.h"
#include "run/report/run.h"
#include "tests/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct progress quiet = {.say = progress_silent};

/* A file in the folder of inputs, which is made once; without bytes there is none of that name. The
 * path stays valid as scratch_path's does. */
static const char *put(const char *name, struct fuzz_part part)
{
    static char folder[4096];
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/inputs", fuzz_folder());
        if (mkdir(folder, 0700) || setenv("PATH", "", 1))
            abort();
    }
    if (part.size)
        return scratch_write(folder, name, part.data, part.size);
    unlink(scratch_path(folder, name));
    return folder;
}

/* 1 if it succeeded; an error must say what it is. */
static int conclude(int rc, const struct error *e)
{
    if (rc && !e->text[0])
        abort();
    return rc == 0;
}

static int draw(const char *const *paths, int count)
{
    struct error e = {""};
    const struct plot_options o = {.results = {(const char **)paths, count},
                                   .folder = scratch_path(fuzz_folder(), "figures"),
                                   .formats = "svg",
                                   .force = 1};
    struct plot_run r = {.options = &o, .progress = &quiet, .command = "reach plot"};
    int rc = plot_run(&r, &e);
    plot_run_free(&r);
    return conclude(rc, &e);
}

static int report(const char *path)
{
    struct error e = {""};
    const struct report_options o = {.results = {(const char *[]){path}, 1},
                                     .path = scratch_path(fuzz_folder(), "page.html"),
                                     .force = 1};
    struct report_run r = {.options = &o,
                           .progress = &quiet,
                           .command = "reach report",
                           .put = report_page};
    int rc = report_run(&r, &e);
    report_run_free(&r);
    return conclude(rc, &e);
}

/* One table or two, which may be of one kind. */
int fuzz_plot(const uint8_t *data, size_t size)
{
    struct fuzz_part parts[2];
    size_t count = fuzz_split(parts, 2, data, size);
    const char *const paths[] = {put("first.csv", parts[0]), put("second.csv", parts[1])};
    return parts[0].size && (count == 1 || parts[1].size) ? draw(paths, (int)count) : 0;
}

int fuzz_report(const uint8_t *data, size_t size)
{
    return size ? report(put("table.csv", (struct fuzz_part){data, size})) : 0;
}

/* erf.h5 behind the attention.csv that lies beside it. */
int fuzz_report_result(const uint8_t *data, size_t size)
{
    struct fuzz_part parts[2];
    const char *folder = fuzz_split(parts, 2, data, size) == 2 && parts[1].size
                             ? put("", (struct fuzz_part){0})
                             : NULL;
    if (!folder)
        return 0;
    put("attention.csv", parts[0]);
    put("erf.h5", parts[1]);
    int drawn = draw(&folder, 1);
    return report(folder) && drawn;
}

int fuzz_explain_result(const uint8_t *data, size_t size)
{
    struct error e = {""};
    const struct explain_options o = {.source = size ? put("explained.h5",
                                                           (struct fuzz_part){data, size})
                                                     : "",
                                      .folder = scratch_path(fuzz_folder(), "explained"),
                                      .segment = 1,
                                      .force = 1};
    struct explain_run r = {.options = &o, .command = "reach explain", .progress = &quiet};
    int rc = size ? explain_run(&r, &e) : fail(&e, "empty");
    explain_run_free(&r);
    return conclude(rc, &e);
}
