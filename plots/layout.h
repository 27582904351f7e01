/* Positions of a figure's panels, headings, axis labels and key: in units (plots/script.h), so that
 * a narrow picture has the panels below each other and text keeps its size. */
#ifndef REACH_PLOTS_LAYOUT_H
#define REACH_PLOTS_LAYOUT_H

#include "plots/script.h"

/* The key of a figure. */
struct key {
    size_t count; /* entries; 0: none */
    double widest; /* units of the longest text */
    size_t characters; /* of the entry with the most */
    size_t group; /* the entries before this one have columns of their own; 0: no groups */
    size_t rows; /* set by layout_make */
};
/* Adds an entry with its label and the text after it. */
void key_add(struct key *k, const struct script *s, const char *label, const char *note);
/* Blank entries after these, so that a group fills its columns. */
void key_fill(const struct key *k, struct script *s, size_t entries);
/* The same for line i, from 0, whose label becomes the variable label<i + 1>. */
void key_line(struct key *k, struct script *s, size_t i, const char *label, const char *note);

struct layout {
    /* requested */
    size_t panels, columns; /* columns: the largest number side by side */
    double least; /* minimum width of a panel: below it, fewer columns are used; 0: 380 */
    double high; /* of a panel */
    int square; /* 1: panels are square, and at most `high` wide */
    int keeps_height; /* 1: `high` also in a narrow picture, for rows of text */
    double left, right, above; /* around a panel: axis labels; headings are above `above` */
    int lines; /* of labels above a panel (struct verticals) */
    int grid; /* 1: panels share their axes, whose labels are at the left and below */
    int same_x; /* 1: panels have one label of their horizontal axes, below (layout_xlabel) */
    double beside; /* to the right of everything, for one colour scale */
    const char *title; /* the figure's own; NULL: none */
    const char *const *headings; /* [panels], NULL: none */
    struct key *key; /* NULL: none */
    /* computed */
    double across, down, heading, top; /* of a panel; width of its heading; above the first one */
    double height; /* of the picture, if it is not asked for */
};

/* The width of a panel, in units, before layout_make; not for a grid. */
double layout_across(const struct layout *l, const struct script *s);
/* Lays the picture out, with its title, and begins the script: settings, terminal, multiplot. A
 * picture without a requested height is at most PAGE mm high if its panels can be made small
 * enough. */
enum { PAGE = 300 };
int layout_make(struct layout *l, struct script *s, struct error *e) MUST_USE;
/* Margins and heading of panel i, with the key in the first one, so its entries are those of the
 * panel's plot; resets what the previous one set. */
void layout_panel(const struct layout *l, struct script *s, size_t i);
/* 1 if panel i is lowest in its column, and if it is at the left, where a grid labels its ticks. */
int layout_is_lowest(const struct layout *l, size_t i);
int layout_has_y(const struct layout *l, size_t i);
/* The label of the horizontal axis, in a grid or with same_x only of the lowest panels. */
void layout_xlabel(const struct layout *l, struct script *s, size_t i, const char *expression);
/* The label of the vertical axis, unless it has none; of a colour scale, with the scale, which
 * takes SCALE units right of its panel. gnuplot expressions. */
enum { SCALE = 150 };
/* The height of a colour scale: of its panel, in a grid of several rows. */
double layout_scale_height(const struct layout *l);
void layout_ylabel(const struct layout *l, struct script *s, size_t i, const char *expression);
void layout_scale(const struct layout *l, struct script *s, size_t i, const char *expression);
/* The plot of $line1 to $line<count>: column y over x, with bars between the next two first, and
 * the entries of the key. */
void layout_lines(struct script *s, size_t count, int x, int y, int has_bars, int has_key);
/* A dashed horizontal line at y. */
void layout_level(struct script *s, double y);
void layout_end(struct script *s);

/* ---- ticks ---- */

/* An axis from low to high that is `size` units long. */
struct axis {
    char name; /* x, y, 2 for y2, or c of colours */
    double low, high, size;
    int logarithmic;
    int of_logarithms; /* 1: gnuplot's axis is linear, of natural logarithms */
    int whole; /* 1: counts: only whole numbers are labelled */
    int bare; /* 1: ticks have no labels */
};
struct axis axis_linear(char name, double low, double high, double size);
struct axis axis_logarithmic(char name, double low, double high, double size);
/* Units from the low end. */
double axis_place(const struct axis *a, double value);
/* Labelled ticks 1 2 5 10 ... or finer, as many as fit; always includes `last` (0: none). Where
 * powers of ten would be longer than six characters, all are written as powers; where there is room
 * for labels of powers alone, ticks without labels are between them. */
void ticks_round(struct script *s, const struct axis *a, double last);
/* Ticks at `values`, ascending; without a label if it does not fit. */
void ticks_at(struct script *s, const struct axis *a, const double *values, size_t count);
/* Ticks at `at`, labelled with other numbers, where they fit. */
void ticks_named(struct script *s, const struct axis *a, const double *at, const double *names,
                 size_t count);

/* ---- vertical lines ---- */

enum { VERTICALS_MAX = 16 };

/* Vertical lines, each with a label above the panel, on two lines of labels where they are close.
 */
struct verticals {
    struct vertical {
        double at; /* on gnuplot's axis */
        double place, half; /* units: from the low end of the axis; half of the label's width */
        char formula[64];
        int line; /* of labels, from 1 */
        int faint;
    } item[VERTICALS_MAX];
    size_t count;
    int lines; /* of labels: for struct layout */
};

/* Adds a line, once, if it is on the axis; the label's text is a gnuplot expression, `seen` a text
 * about as wide. */
void verticals_add(struct verticals *v, const struct axis *x, double at, const char *formula,
                   const char *seen, int faint);
/* A training length; 0: none. */
void verticals_add_length(struct verticals *v, const struct axis *x, double length);
/* Sets them for the next plot; over: white, over a map. */
void verticals_draw(struct script *s, const struct verticals *v, int over);

#endif
