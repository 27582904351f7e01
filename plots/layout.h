/* Where panels, headings, labels of axes and the key of a figure are: in units (plots/script.h), so that a narrow picture has
 * them below each other and the text keeps its size. */
#ifndef REACH_PLOTS_LAYOUT_H
#define REACH_PLOTS_LAYOUT_H

#include "plots/script.h"

/* Units below a panel, for ticks and the label of its axis. */
enum { BELOW = 78 };

/* The key of a figure. */
struct key {
    size_t count; /* entries; 0: none */
    double widest; /* units of the longest text */
    size_t characters; /* of the one that has the most */
    size_t rows; /* set by layout_make */
};
/* Adds an entry with the label, and what is behind it. */
void key_add(struct key *k, const struct script *s, const char *label, const char *note);

struct layout {
    /* asked for */
    size_t panels, columns; /* columns: the most beside each other */
    double least; /* width of a panel: with less, there are fewer columns */
    double high; /* of a panel */
    int square; /* 1: panels are as high as they are wide, and as wide as `high` at most */
    int keeps_height; /* 1: `high` also in a narrow picture, for rows of text */
    double left, right, above, below; /* around a panel: labels of the axes; headings are put on top of `above` */
    double beside; /* on the right of all, for one scale of colours */
    const char *title; /* the figure's own; NULL: none */
    const char *const *headings; /* [panels], NULL: none */
    struct key *key; /* NULL: none */
    /* found */
    double across, down, top; /* of a panel; above the first one */
};

/* Lays the picture out, with its title, and begins it: settings, terminal, multiplot. */
int layout_make(struct layout *l, struct script *s, struct error *e) MUST_USE;
/* Margins and heading of panel i; what was set for the one before is taken back. */
void layout_panel(const struct layout *l, struct script *s, size_t i);
/* The label of the vertical axis; that of a colour scale on the right, with the scale. Both are expressions of gnuplot. */
void layout_ylabel(const struct layout *l, struct script *s, size_t i, const char *expression);
void layout_scale(const struct layout *l, struct script *s, size_t i, const char *expression);
/* A vertical line at a training length, its label so many lines above the panel; `x` as the axis counts; over a map. */
void layout_train_length(struct script *s, double x, size_t length, int line);
void layout_train_length_over(struct script *s, double x, size_t length);
/* The key, once a figure: set before the plot that has its entries. */
void layout_key(const struct layout *l, struct script *s);
void layout_end(struct script *s);

/* ---- ticks ---- */

/* An axis from low to high that is `size` units long. */
struct axis {
    char name; /* x, y, or c of colours */
    double low, high, size;
    int logarithmic;
    int of_logarithms; /* 1: the axis that gnuplot draws is a plain one, of natural logarithms */
};
/* Labelled ticks 1 2 5 10 ... or finer, as many as fit beside each other; `last` (0: none) is one of them whatever else goes. */
void ticks_round(struct script *s, const struct axis *a, double last);
/* Ticks at `values`, ascending; those that have no room have no label. */
void ticks_at(struct script *s, const struct axis *a, const double *values, size_t count);

#endif
