#include "run/erf/write.h"

#include "plots/figure.h"
#include "plots/result.h"
#include "run/erf/measurements.h"

#include <stdlib.h>

static int always(const void *result)
{
    (void)result;
    return 1;
}

static int has_layers(const void *result)
{
    const struct result *r = result;

    return r->by_layer;
}

static int has_targets(const void *result)
{
    const struct result *r = result;
    const struct result_model *m = &r->models[0];

    return m->fields[m->field_count - 1].target != m->fields[0].target;
}

static const struct result_figure figures[] = {{"erf", always, figure_result},
                                               {"layers", has_layers, figure_layers},
                                               {"targets", has_targets, figure_targets}};
enum { FIGURES = sizeof figures / sizeof *figures };

const struct result_figure *erf_figure(size_t i)
{
    return i < FIGURES                     ? &figures[i]
           : measurements[i - FIGURES].how ? &measurements[i - FIGURES].how->figure
                                           : NULL;
}

/* All that a result may have. */
struct layout {
    const char *stems[FIGURES + MEASUREMENTS_MAX + 1];
    struct results_layout all;
};

static const struct results_layout *lay_out(struct layout *l)
{
    *l = (struct layout){.all = {erf_files, l->stems}};
    for (size_t i = 0; erf_figure(i); i++)
        l->stems[i] = erf_figure(i)->stem;
    return &l->all;
}

int erf_results_exist(const char *folder, struct error *e)
{
    struct layout l;

    return results_exist(folder, lay_out(&l), e);
}

int erf_draw(const struct result_figure *one, const char *folder, const char *formats,
             const struct result *r, struct error *e)
{
    const struct figure_style style = {.formats = formats};
    char *version, *command = command_comment(r->command);
    int rc;

    if (asprintf(&version, "reach %s", r->version) < 0)
        version = NULL;
    rc = version && command
             ? one->draw(&(struct figure_place){folder, one->stem,
                                                (const char *const[]){version, command, NULL},
                                                &style},
                         r, e)
             : fail(e, "%s: out of memory for the figure", folder);
    free(version);
    free(command);
    return rc;
}

/* The scripts are written even if pictures cannot be drawn. */
static int draw(const struct result *r, const char *folder, const char *formats, struct progress *p,
                struct error *e)
{
    struct error why = {""};
    int missing = 0;

    for (size_t i = 0; erf_figure(i); i++) {
        const struct result_figure *one = erf_figure(i);
        int rc = one->is_wanted(r) ? erf_draw(one, folder, formats, r, e) : 0;

        if (rc < 0)
            return -1;
        if (rc > missing) {
            missing = rc;
            why = *e;
        }
    }
    return results_drawn(missing, folder, formats, NULL, p, &why);
}

/* Expert choices decided by rounding, in whole segments. */
static void tell_near_ties(const struct result *r, struct progress *p)
{
    for (size_t i = 0; i < r->model_count; i++) {
        size_t count = result_main(&r->models[i])->near_ties;

        if (count)
            progress_warning(p,
                             "%s: %zu expert %s of a token in a layer within rounding error of a "
                             "tie (near_ties in erf.h5)",
                             r->models[i].name, count, count == 1 ? "choice" : "choices");
    }
}

int erf_write(struct result *r, const char *folder, const char *formats, struct progress *p,
              struct error *e)
{
    struct layout l;

    if (result_describe(r, e) != 0)
        return -1;
    tell_near_ties(r, p);
    return results_write(folder, lay_out(&l), r, r->command, e) != 0
               ? -1
               : draw(r, folder, formats, p, e);
}
