/* Where a figure goes; its style, and which parts of that each figure can take. */
#ifndef REACH_PLOTS_STYLE_H
#define REACH_PLOTS_STYLE_H

#include "io/error.h"

#include <stddef.h>

#define FIGURE_FONT "DejaVu Sans" /* if no other is asked for */

/* Zero and NULL: the figure's defaults. */
struct figure_style {
    const char *formats; /* comma-separated; see figure_check_formats */
    double width, height; /* mm */
    double dpi; /* of png */
    const char *font;
    double font_size; /* points */
    const char *title; /* over the picture; "": no title, and no headings over the panels */
    const char *panels; /* names with commas: those to draw */
    const char *legend; /* one of legend_places */
    int logarithmic_x, sequential; /* sequential: colours in order, dark to light */
};

/* Where a figure goes: FOLDER/STEM.gp and its pictures, FOLDER/STEM.png and so on. */
struct figure_place {
    const char *folder, *stem;
    const char *const *comments; /* the first lines of the script, ended by NULL; NULL: none */
    const struct figure_style *style;
};

extern const char *const legend_places[]; /* ended by NULL; the first is the default */

/* Refuses what the figure STEM cannot take, naming what it can. */
int figure_check_style(const char *stem, const struct figure_style *s, struct error *e) MUST_USE;
/* 1 if `panels` (NULL: all) holds NAME. */
int figure_has_panel(const char *panels, const char *name);

/* "85mm", "8.5cm", "3.3in", "240pt", "1200px" (96 to the inch) as millimetres; *is_pixels: 1 for
 * px. */
int figure_read_length(const char *text, double *mm, int *is_pixels, struct error *e) MUST_USE;

#endif
