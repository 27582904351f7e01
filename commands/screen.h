/* The capabilities of a text screen. */
#ifndef REACH_COMMANDS_SCREEN_H
#define REACH_COMMANDS_SCREEN_H

#include "run/explain/options.h"

enum screen_colors { SCREEN_PLAIN, SCREEN_256, SCREEN_TRUE };

/* Of standard output. `auto`: none if NO_COLOR is set, or it is not a terminal, or a dumb one.
 * 24-bit colours if COLORTERM says so, else 256. */
enum screen_colors screen_colors(enum color_choice choice);
/* 1 if COLORFGBG says that the background is light. */
int screen_is_light(void);
/* Columns of the terminal on standard output, else COLUMNS, else 80. */
int screen_width(void);
/* Columns available to tables: those of the terminal on standard output; 0: unlimited, if it is not
 * a terminal (files and pipes get whole tables), or after screen_widen. */
int screen_table_width(void);
/* --wide. */
void screen_widen(void);
/* The width of a text in columns. */
int screen_columns(const char *text);
/* A name, path or other text from the user or a file, made safe to print: on one line, without
 * anything that a terminal would interpret (io/glyph.h). Everything printed outside tables and
 * errors goes through it. Borrowed, valid until 8 more calls. */
const char *screen_text(const char *text);
/* Prints lines of at most `width` columns; a longer word gets its own line. */
void screen_print(const char *text, int width);

#endif
