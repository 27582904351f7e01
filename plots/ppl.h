/* The figure of `reach ppl`: perplexity over the context. */
#ifndef REACH_PLOTS_PPL_H
#define REACH_PLOTS_PPL_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

struct ppl_point {
    double context; /* inputs, or keys that every layer attends to: the horizontal axis */
    double nll, std_error; /* nats; std_error NaN: unknown, drawn without a bar */
    double change, change_error; /* nll minus that at the reference, paired; NaN: unknown */
};

/* One model. */
struct ppl_line {
    const char *label;
    const struct ppl_point *points; /* [count], contexts ascending */
    size_t count;
    int train_length; /* 0: unmarked */
    double reference; /* the reference context of changes; 0: no changes */
};

/* Reference context of a line's changes: L_tr or the next below, else the shortest; 0: no
 * points. */
double ppl_reference(const struct ppl_line *l);

struct ppl_lines {
    const struct ppl_line *lines; /* [count] */
    size_t count;
    const char *title, *axis; /* axis: the name of the horizontal one */
};

/* exp(NLL) over the context, on a logarithmic axis; bars of 1.96 standard errors, the
 * models' L_tr marked. If any line has changes, a panel of exp(change), the perplexity relative to
 * the reference, with paired intervals. Points are slightly offset from each other. The
 * perplexity's axis is logarithmic if its values span more than a factor of 4, as when a model
 * fails beyond its L_tr. Returns as figure_draw (plots/figure.h). */
int figure_ppl(const struct figure_place *to, const struct ppl_lines *u, struct error *e) MUST_USE;

#endif
