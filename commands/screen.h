/* The capabilities of a text screen. */
#ifndef REACH_COMMANDS_SCREEN_H
#define REACH_COMMANDS_SCREEN_H

#include "io/error.h"
#include "run/explain/options.h"

#include <stddef.h>
#include <stdio.h>

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
int screen_is_wide(void);
/* The width of a text, and of its first `size` bytes, in columns. */
int screen_columns(const char *text);
int screen_columns_of(const char *text, size_t size);
/* A name, path or other text from the user or a file, made safe to print: on one line, without
 * anything that a terminal would interpret (io/glyph.h). Everything printed outside tables and
 * errors goes through it. Borrowed, valid until 8 more calls. */
const char *screen_text(const char *text);
/* How many bytes of a text fit into `width` columns, up to the end of a word, and at least one
 * word. Quoted texts, and numbers with their units, are not broken. */
size_t screen_fitting(const char *text, int width);
/* Prints lines of at most `width` columns (0: one line); those of an indented text keep to the
 * right of its beginning. */
void screen_fill(FILE *f, const char *text, int width);

/* A line on standard error, without its end: broken likewise if that is a terminal, so that a file
 * or a program gets it whole. */
void screen_complain(const char *format, ...) PRINTF_LIKE(1, 2);
/* Columns of the terminal on standard error; 0: it is none, or does not know. */
int screen_error_width(void);

/* A verb's report, on standard output, is made of tables (commands/table.h) and of lines that
 * screen_say prints: like printf, but broken at words to the width of the screen. */
void screen_say(const char *format, ...) PRINTF_LIKE(1, 2);
/* --table: only tables are printed. */
void screen_silence(void);
int screen_is_silent(void);
/* 1 if something of a report was printed before; from now on it was. */
int screen_begun(void);

#endif
