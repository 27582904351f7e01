/* Which font a picture gets. */
#ifndef REACH_PLOTS_FONT_H
#define REACH_PLOTS_FONT_H

#include <stddef.h>

/* 1 if FONT is not installed and a picture has another in its place, whose name is `instead`
 * [size]. 0 if it is, if it is a generic name such as serif, or if there is no fc-match to ask
 * (fontconfig, which gnuplot's png and pdf also ask); none is run that lies in FOLDER. */
int font_is_replaced(char *instead, size_t size, const char *font, const char *folder);

#endif
