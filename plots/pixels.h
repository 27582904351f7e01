/* What the gnuplot scripts of figures that are laid out in pixels share: their head, colours, and texts made safe. */
#ifndef REACH_PLOTS_PIXELS_H
#define REACH_PLOTS_PIXELS_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>
#include <stdio.h>

enum { PIXELS_LABEL_CHARACTERS = 48 };

/* TEXT for a '...' string of gnuplot: quotes by concatenation with the operator `.`, control characters blanked, what is no UTF-8
 * replaced by U+FFFD, cut after `limit` characters (not bytes) with an ellipsis. Single quotes keep backslashes, backquotes and
 * `@` as they are. Returns the characters written. */
size_t pixels_quoted(FILE *f, const char *text, size_t limit);
/* The same for the label of a tick, which is a format: `%` doubled. */
size_t pixels_quoted_tick(FILE *f, const char *text, size_t limit);

/* Terminal, output and font of a picture 1600 wide and `height` high (png pixels; other formats in proportion), for SCRIPT =
 * STEM.gp. `format` and `output` may be set from outside. Defines title_font and mark (a point size). */
void pixels_head(FILE *f, const char *stem, double height);

/* "#0072B2" and so on; colour i of a palette that colour-blind readers can tell apart. */
const char *pixels_colour(size_t i);
/* Line i: `lw 2.6 dt ... lc rgb ...`; the first 24 differ, also in black and white. */
void pixels_line(FILE *f, size_t i);
/* Point type i: beyond the eighth, another one for the same colour. */
int pixels_point(size_t i);

/* `set palette` of the heat maps, dark to light and even in lightness. */
void pixels_palette(FILE *f);

/* Ticks 1 2 5 10 ... n of a logarithmic x axis; powers of ten alone where there are many. */
void pixels_log_ticks(FILE *f, double n);

/* A key of `count` entries, the longest `widest` characters, centred at the foot of the picture, in as many columns as fit. */
struct pixels_key {
    size_t widest, count;
    size_t rows; /* set by pixels_key_lay */
};
/* Lays the key out and returns the pixels it takes at the foot of a picture 1600 wide. */
double pixels_key_lay(struct pixels_key *k);
/* `set key` for it in a picture `height` high. */
void pixels_key_place(FILE *f, const struct pixels_key *k, double height);
/* Characters (not bytes) of a label as pixels_quoted cuts it. */
size_t pixels_characters(const char *label);

/* Writes FOLDER/STEM.gp: the comment lines, then what `write` writes (0, or -1 with *e); then draws the pictures. Returns as
 * figure_draw does. */
int pixels_make(const char *folder, const char *stem, const char *const *comments, const struct figure_style *style,
                int (*write)(FILE *f, const char *stem, const void *figure, struct error *e), const void *figure,
                struct error *e) MUST_USE;

#endif
