/* Segments of token ids: from text read as bytes, or from .npy files.
 *
 * A source is either a stream of T tokens (text; 1-D .npy; files joined in order), from which segments of `length` tokens are cut, or a table
 * (2-D .npy), one segment a row. Cutting rule: design of the command line, `reach erf --help`. */
#ifndef REACH_IO_TOKENS_H
#define REACH_IO_TOKENS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct tokens {
    int32_t *ids;   /* stream [total], or table [rows, columns] */
    size_t total;   /* ids in all */
    size_t rows, columns; /* of a table; 0 for a stream */
    char *name;     /* the files, for messages; NULL: "tokens" */
};

/* Reads FILES (count of them) as bytes, joined in order: ids 0..255. "-" is standard input; gzip (by content) is unpacked. Caller frees with
 * tokens_free. An empty result, a directory or a damaged .gz is an error. */
int tokens_read_text(struct tokens *out, const char *const *files, int count, struct error *e) MUST_USE;

/* Reads .npy FILES ("-" and gzip as above), 1-D (joined in order) or 2-D (several: equal columns, rows joined; Fortran order is honoured). Integer
 * types of any width and sign; a value outside 0..2^31-1 is an error that gives its index. Other types, pickled objects and trailing bytes are refused. */
int tokens_read_npy(struct tokens *out, const char *const *files, int count, struct error *e) MUST_USE;

void tokens_free(struct tokens *t);

struct segments_request {
    size_t length;   /* L, the target included; 0: the default (2048, or a table's columns) */
    size_t segments; /* at most this many */
    size_t stride;   /* between starts; 0: spread over the stream. Rows for a table */
    size_t offset;   /* tokens (rows of a table) skipped first */
    int bos;         /* 1: `bos_id` is put before each segment and counts as position 1 */
    int32_t bos_id;
};

struct segments {
    int32_t *ids;     /* [count, length] */
    uint64_t *start;  /* [count] index of the segment's first token in the stream (row for a table) */
    size_t count, length, stride;
    int overlapping;  /* stride < length on a stream */
};

/* Cuts segments: S = min(request.segments, floor(T/L)); stride = floor((T-L)/(S-1)) unless given. With bos, L still counts all tokens of a
 * segment, so L-1 come from the stream. Every id must be < vocabulary (error: which id, where, and the vocabulary). Too little text is an error that says
 * how many tokens there are, how many are needed. Caller frees with segments_free. */
int segments_cut(struct segments *out, const struct tokens *t, const struct segments_request *r, size_t vocabulary, struct error *e) MUST_USE;
void segments_free(struct segments *s);

#endif
