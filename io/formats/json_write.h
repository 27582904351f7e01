/* A JSON document (RFC 8259, UTF-8) as it is written, without a tree in memory. Write errors are
 * the stream's. */
#ifndef REACH_IO_FORMATS_JSON_WRITE_H
#define REACH_IO_FORMATS_JSON_WRITE_H

#include <stdio.h>

/* Zeroed but for the stream and `is_line`: nothing is written yet. */
struct json_writer {
    FILE *stream; /* borrowed */
    int depth; /* open objects and lists */
    int any; /* 1: something precedes in the innermost of them */
    int is_line; /* 1: the document is one line, as in a file of JSON lines */
};

/* Begins an object ('{') or list ('['). `name` is for a member of an object, here and below; NULL:
 * an item of a list, or the whole document. Members of the document, and items of its lists, have
 * lines of their own. */
void json_write_open(struct json_writer *d, const char *name, char bracket);
/* Ends it ('}' or ']'); the whole document with a newline. */
void json_write_close(struct json_writer *d, char bracket);

/* NULL: null. Bytes that are not UTF-8 become U+FFFD. */
void json_write_text(struct json_writer *d, const char *name, const char *text);
void json_write_whole(struct json_writer *d, const char *name, long long value);
/* As csv_format_real; what is not finite as the text "inf", "-inf" or "nan". */
void json_write_real(struct json_writer *d, const char *name, double value);

/* Only a text, in quotes. */
void json_write_quoted(FILE *f, const char *text);

#endif
