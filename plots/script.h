/* Shared by the gnuplot scripts of all figures: their parts, colours, and safe texts. */
#ifndef REACH_PLOTS_SCRIPT_H
#define REACH_PLOTS_SCRIPT_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>
#include <stdio.h>

enum { SCRIPT_LABEL_CHARACTERS = 48 };

/* Lengths in figures are in units: text is TEXT units high. A single picture is WIDTH wide. */
enum { TEXT = 18, WIDTH = 1600 };

/* The parts of a script, in order. In strings of `plot`, m("...") is a formula, minus a minus sign,
 * negative("2") is -2, power(3) is 10^3, times(3) is x3, and user texts are variables of
 * `settings`. */
struct script {
    FILE *settings, *data, *plot;
    const struct figure_style *style;
    const char *stem;
    double width, height; /* units; height is set by the layout */
    size_t limit; /* characters of a label in the key */
    int adding; /* 1: a `plot` command has begun */
};

/* ---- texts ---- */

/* TEXT for a '...' string of gnuplot: quotes by concatenation with the operator `.`, control
 * characters blanked, invalid UTF-8 replaced by U+FFFD, cut after `limit` characters (not bytes)
 * with an ellipsis. Single quotes keep backslashes, backquotes and `@` as they are. Returns the
 * characters written. */
size_t script_quoted(FILE *f, const char *text, size_t limit);
/* Sets the variable NAMEnumber to TEXT, cut like a label; script_text_long: to 200 characters. A
 * plot uses it as t(NAMEnumber), which is safe in every format, or tick(NAMEnumber), for tick
 * labels, which are formats. */
void script_text(struct script *s, const char *name, size_t number, const char *text);
void script_text_long(struct script *s, const char *name, size_t number, const char *text);
/* Characters (not bytes) of a cut label, and their width in units in the standard font. */
size_t script_characters(const struct script *s, const char *label);
double script_width(const struct script *s, const char *label);
/* The same for a whole text, for its first `limit` characters, and for those before `end`. */
double text_width(const char *text);
double text_width_of(const char *text, size_t limit);
double text_width_to(const char *text, const char *end);

/* ---- colours ---- */

/* Line styles 1 to `count`, for `ls`: of eight that follow each other each has its own dash and
 * point type. */
void script_lines(struct script *s, size_t count);
/* Line styles from `first` on in one scale of colours, dark to light. */
void script_lines_in_order(struct script *s, size_t first, size_t count);
/* For `set palette @map_palette` of heat maps, dark to light with uniform lightness steps;
 * @line_palette for lines and points on white. */
void script_palettes(struct script *s);

/* ---- a script ---- */

/* The frame and grid of the axes in all figures; multiplot of several panels. */
void script_frame(struct script *s, int grid);

/* Ticks of a vertical axis of rows: label1 at the top, at `count`, down to 1. */
void script_row_ticks(struct script *s, size_t count);

/* What one `plot` command draws, item by item; the first one follows the command's name, so it
 * begins with a blank. */
void script_add(struct script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void script_add_end(struct script *s);

/* Writes FOLDER/STEM.gp: the comment lines, then the output of `write` (0, or -1 with *e); then
 * draws the pictures. Returns as figure_draw. */
int script_make(const struct figure_place *to,
                int (*write)(struct script *s, const void *figure, struct error *e),
                const void *figure, struct error *e) MUST_USE;

#endif
