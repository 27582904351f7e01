/* Segments of token ids: from text, as bytes or by a tokenizer, or from token files.
 *
 * A source is either a stream of T tokens (text; 1-D arrays; files joined in order), from which
 * segments of `length` tokens are cut, or a table (2-D arrays), one segment a row. Cutting rule:
 * design of the command line, `reach erf --help`. */
#ifndef REACH_IO_TOKENS_TOKENS_H
#define REACH_IO_TOKENS_TOKENS_H

#include "io/error.h"
#include "io/tokens/documents.h"

#include <stddef.h>
#include <stdint.h>

struct tokens {
    int32_t *ids; /* stream [total], or table [rows, columns] */
    size_t total; /* total number of ids */
    size_t rows, columns; /* of a table; 0 for a stream */
    size_t *end; /* [documents] of a stream from records, where each ends; NULL: not divided so */
    size_t documents;
    char *name; /* the files, for messages; NULL: "tokens" */
};

struct tokenizer;

/* Text as stored. */
struct text {
    char *bytes; /* [size] */
    size_t size;
    size_t *end; /* [records] where each of them ends, in bytes; NULL: one text */
    size_t records;
    char *name; /* the files, for messages; NULL: "text" */
};

/* Reads FILES (count of them), joined in order. "-" is standard input; compressed data (by content)
 * are unpacked. Caller frees with text_free. An empty result, a directory, damaged data, and data
 * whose first bytes show that they are not text are errors. */
int text_read(struct text *out, const char *const *files, int count, struct error *e) MUST_USE;

/* The same with files of JSON lines: those whose names end in .jsonl, before the ending of a packed
 * file, or all of them if `field` is given. Each line is a record, whose text is its member `field`
 * (NULL: "text"); empty lines are skipped. A record is a document, and so is a file of plain text
 * among them; with `joined` they are one text, and each record ends with a newline. A line that is
 * not JSON or has no such text is an error that names it. */
struct records_request {
    const char *field;
    int joined;
};
int text_read_records(struct text *out, const char *const *files, int count,
                      const struct records_request *r, struct error *e) MUST_USE;
void text_free(struct text *t);

/* Bytes of it that are not UTF-8. */
size_t text_broken(const struct text *text);

/* The text's tokens: by the tokenizer, or for NULL its bytes as ids 0..255. Caller frees with
 * tokens_free. With a tokenizer, more than 1 % of bytes that are not UTF-8, or zero bytes, are an
 * error. */
int tokens_from_text(struct tokens *out, const struct text *text, struct tokenizer *tokenizer,
                     struct error *e) MUST_USE;

/* Types of the integers of a bare token file. */
enum token_type {
    TOKENS_BY_CONTENT, /* of a file that says so itself */
    TOKENS_UINT8,
    TOKENS_UINT16,
    TOKENS_UINT32,
    TOKENS_UINT64,
    TOKENS_INT16,
    TOKENS_INT32,
    TOKENS_INT64
};
/* Reads FILES of nothing but little-endian integers of that type, joined in order as a stream ("-"
 * and packed files as below). A file that begins as one of a known format is refused. With
 * TOKENS_BY_CONTENT as tokens_read_files. */
int tokens_read_raw(struct tokens *out, const char *const *files, int count, enum token_type type,
                    struct error *e) MUST_USE;

/* Reads token FILES of a type recognized by content: NumPy's .npy and llm.c's files ("-" and gzip
 * as above), the .idx of an indexed data set (MMIDIDX or TNTIDX; its .bin beside it), HDF5 (its
 * dataset `tokens`, or the only one of integers; FILE:/NAME names another). 1-D (joined in order)
 * or 2-D (several: equal columns, rows joined; Fortran order is honoured). Integer types of any
 * width and sign; a value outside 0..2^31-1 is an error that gives its index. Other types, pickled
 * objects, trailing bytes, and links out of a file are refused. */
int tokens_read_files(struct tokens *out, const char *const *files, int count,
                      struct error *e) MUST_USE;

/* Writes a stream to PATH, atomically. HDF5 if the name ends in .h5 or .hdf5 (dataset `tokens`),
 * else .npy; uint16 if all ids fit, else uint32. */
int tokens_write(const char *path, const struct tokens *t, struct error *e) MUST_USE;
int tokens_is_hdf_name(const char *path);

void tokens_free(struct tokens *t);

/* 1 if segments lie within documents. */
int tokens_divided(const struct tokens *t, int boundary);
/* The next document of a stream that begins at or after *at; *at moves past it. It lies within a
 * record, and between the tokens `boundary` (-1: none), which belong to no document; it has at
 * least one token. Returns 0 at the end. */
int document_next(struct document *d, size_t *at, const struct tokens *t, int boundary);
/* The record that position `at` of divided tokens is in. */
size_t tokens_record(const struct tokens *t, size_t at);

struct segments_request {
    size_t length; /* L, the target included; 0: the default (2048, or a table's columns) */
    size_t segments; /* at most this many */
    size_t stride; /* between starts; 0: spread over the stream. For a table: rows */
    size_t offset; /* tokens (rows of a table) skipped first */
};

struct segments {
    int32_t *ids; /* [count, length] */
    uint64_t
        *start; /* [count] index of the segment's first token in the stream (row for a table) */
    size_t count, length, stride;
    int overlapping; /* stride < length on a stream */
    struct documents documents; /* if segments lie within documents */
};

/* Cuts segments: S = min(request.segments, floor(T/L)); stride = floor((T-L)/(S-1)) unless given.
 * With a token before each, L still counts all tokens of a segment, so L-1 come from the stream.
 *
 * By document, segments begin where a document does and follow each other in it, `stride` apart or
 * without a gap; documents shorter than a segment are skipped. S of all such places are taken, the
 * first ones if a stride is given, else spread evenly. Every id must be < vocabulary (error: which
 * id, where, and the vocabulary). Too little text is an error that says how many tokens there are
 * and how many are needed. Caller frees with segments_free. */
int segments_cut(struct segments *out, const struct tokens *t, const struct segments_request *r,
                 const struct segment_bounds *b, size_t vocabulary, struct error *e) MUST_USE;
void segments_free(struct segments *s);

#endif
