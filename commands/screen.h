/* What a text screen can show. */
#ifndef REACH_COMMANDS_SCREEN_H
#define REACH_COMMANDS_SCREEN_H

#include "run/explain/options.h"

enum screen_colors { SCREEN_PLAIN, SCREEN_256, SCREEN_TRUE };

/* Of standard output. `auto`: none where NO_COLOR is set, or it is not a terminal, or a dumb one. Colours of 24 bits where
 * COLORTERM says so, else 256. */
enum screen_colors screen_colors(enum color_choice choice);
/* 1 where COLORFGBG says that the background is light. */
int screen_is_light(void);
/* Columns: of the terminal that standard output is, else COLUMNS, else 80. */
int screen_width(void);
/* Columns that tables may take: of the terminal that standard output is; 0: all they need, where it is none, so that files and
 * pipes get whole tables, and behind screen_widen. */
int screen_table_width(void);
/* --wide. */
void screen_widen(void);
/* Columns that a text takes. */
int screen_columns(const char *text);
/* A name, path or other text of the user's or a file's as it may be printed: on one line, with nothing in it that a terminal
 * would obey (io/glyph.h). Whatever is printed without a table or an error goes through it. Borrowed, until 8 more were asked
 * for. */
const char *screen_text(const char *text);
/* Lines of at most so many columns; a word that is longer has one of its own. */
void screen_print(const char *text, int width);

#endif
