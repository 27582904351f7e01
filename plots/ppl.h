/* The figure of `reach ppl`: perplexity over the context. */
#ifndef REACH_PLOTS_PPL_H
#define REACH_PLOTS_PPL_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

struct ppl_point {
    double context; /* inputs, or keys that every layer attends to: what the horizontal axis counts */
    double nll, std_error; /* nats; std_error NaN: unknown, drawn without a bar */
    double change, change_error; /* nll minus that at the line's reference, paired over the same targets; NaN: not known */
};

/* One model. */
struct ppl_line {
    const char *label;
    const struct ppl_point *points; /* [count], contexts ascending */
    size_t count;
    int train_length; /* 0: unmarked */
    double reference; /* the context that changes are from; 0: none are known */
};

/* The context of a line that its changes are from: L_tr or the longest one below it, the shortest where none is; 0: no points. */
double ppl_reference(const struct ppl_line *l);

/* exp(NLL) over the context, on a logarithmic axis with the name `axis`; bars of 1.96 standard errors, the models' L_tr marked.
 * Where any line knows
 * its changes, a panel of exp(change), the perplexity over that at the reference, with intervals of pairs. Points are set a
 * little beside each other. The perplexity's axis is logarithmic where its values span more than a factor of 4, as when a model
 * fails beyond its L_tr. Returns as figure_draw (plots/figure.h) does. */
int figure_ppl(const char *folder, const char *stem, const struct ppl_line *lines, size_t count, const char *title,
               const char *axis, const char *const *comments, const struct figure_style *style, struct error *e) MUST_USE;

#endif
