#include "run/erf/write.h"

#include "plots/figure.h"
#include "plots/result.h"
#include "run/attention/csv.h"
#include "run/erf/csv.h"
#include "run/results.h"
#include "run/validate/write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int always(const struct result *r)
{
    (void)r;
    return 1;
}

static int has_attention(const struct result *r)
{
    return r->models[0].attention.rows != NULL;
}

static int has_validation(const struct result *r)
{
    return r->models[0].validation != NULL;
}

static int has_layers(const struct result *r)
{
    return r->by_layer;
}

static int has_targets(const struct result *r)
{
    const struct result_model *m = &r->models[0];

    return m->fields[m->field_count - 1].target != m->fields[0].target;
}

static int stage_h5(const struct result *r, const char *path, struct atomic_file *out, struct error *e)
{
    return result_stage(path, r, out, e);
}

/* All files that a result may have; the first one is what makes them a result. */
static const struct {
    const char *name;
    int (*is_wanted)(const struct result *r);
    int (*write)(const struct result *r, const char *path, struct atomic_file *out, struct error *e);
} files[] = {{"erf.h5", always, stage_h5},
             {"curve.csv", always, erf_write_curve},
             {"summary.csv", always, erf_write_summary},
             {"attention.csv", has_attention, attention_write},
             {"validation.csv", has_validation, validate_write}};

const struct erf_figure erf_figures[ERF_FIGURES] = {{"erf", always, figure_result},
                                                    {"layers", has_layers, figure_layers},
                                                    {"targets", has_targets, figure_targets},
                                                    {"attention", has_attention, figure_attention},
                                                    {"validation", has_validation, validate_draw}};
enum { FILES = sizeof files / sizeof *files };
_Static_assert((int)FILES <= (int)RESULTS_FILES_MAX, "results_place takes this many");

static int is_there(const char *folder, const char *name, const char *end, struct error *e)
{
    char *path;
    int found;

    if (asprintf(&path, "%s/%s%s", folder, name, end) < 0) {
        fail(e, "%s: out of memory", folder);
        return 1;
    }
    found = access(path, F_OK) == 0;
    if (found)
        fail(e, "%s: exists (expected --force to overwrite results, or another folder with -o)", path);
    free(path);
    return found;
}

int erf_results_exist(const char *folder, struct error *e)
{
    for (int i = 0; i < FILES; i++)
        if (is_there(folder, files[i].name, "", e))
            return 1;
    for (int i = 0; i < ERF_FIGURES; i++)
        if (is_there(folder, erf_figures[i].stem, ".gp", e))
            return 1;
    return 0;
}

/* The scripts are written also where pictures cannot be drawn. */
static int draw(const struct result *r, const char *folder, const char *formats, struct progress *p, struct error *e)
{
    struct error why = {""};
    int missing = 0;

    for (int i = 0; i < ERF_FIGURES; i++) {
        int rc = erf_figures[i].is_wanted(r)
                     ? erf_figures[i].draw(folder, erf_figures[i].stem, r, &(struct figure_style){.formats = formats}, e)
                     : 0;

        if (rc < 0)
            return -1;
        if (rc > missing) {
            missing = rc;
            why = *e;
        }
    }
    return results_drawn(missing, p, &why);
}

/* Choices of experts that rounding decided, of the whole segments. */
static void tell_near_ties(const struct result *r, struct progress *p)
{
    for (size_t i = 0; i < r->model_count; i++) {
        size_t count = result_main(&r->models[i])->near_ties;

        if (count)
            progress_warning(p, "%s: %zu expert %s of a token in a layer within rounding error of a tie (near_ties in erf.h5)",
                             r->models[i].name, count, count == 1 ? "choice" : "choices");
    }
}

int erf_write(struct result *r, const char *folder, const char *formats, struct progress *p, struct error *e)
{
    const char *names[FILES + 1] = {NULL}, *stems[ERF_FIGURES + 1] = {NULL}; /* of this run or an earlier one */
    struct results_files ready = {.count = 0};

    if (result_describe(r, e) != 0)
        return -1;
    tell_near_ties(r, p);
    for (int i = 0; i < FILES; i++) {
        int wanted = files[i].is_wanted(r);
        char *path = results_path(folder, names[i] = files[i].name, e);
        int rc = !path ? -1 : wanted ? files[i].write(r, path, &ready.file[ready.count], e) : 0;

        free(path);
        if (rc != 0) {
            results_abandon(&ready);
            return -1;
        }
        ready.count += wanted;
    }
    for (int i = 0; i < ERF_FIGURES; i++)
        stems[i] = erf_figures[i].stem;
    return results_place(&ready, folder, names, stems, e) != 0 ? -1 : draw(r, folder, formats, p, e);
}
