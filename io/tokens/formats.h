/* Readers of the formats of token files. All except HDF5's read an `input`, so that they work on
 * files, packed ones, standard input and memory alike; memory grows with what is read, never by
 * what a file claims. Private to io/. */
#ifndef REACH_IO_TOKENS_FORMATS_H
#define REACH_IO_TOKENS_FORMATS_H

#include "io/error.h"
#include "io/system/input.h"
#include "io/tokenizer/ids.h"
#include "io/tokens/tokens.h"

#include <stddef.h>

/* An array of integers as it is stored. */
struct stored_tokens {
    size_t element_bytes; /* 1, 2, 4, 8 */
    int is_signed, big_endian;
    int fortran_order; /* of rank 2: column after column */
    int rank; /* 1: a stream, 2: a table */
    size_t shape[2], count;
};

/* An integer of `s->element_bytes` as a token id; if it is not one, -1 with its decimal form in
 * `text`. */
int32_t stored_id(const unsigned char *p, const struct stored_tokens *s, char text[32]);
/* The message for an element that is not a token id. Always -1. */
int stored_fail(const char *file, const struct stored_tokens *s, size_t index, const char *text,
                struct error *e);

/* Appends all elements, rows in order; missing or extra bytes are an error. */
int stored_read(struct ids *a, const struct stored_tokens *s, struct input *in,
                struct error *e) MUST_USE;
/* Reads exactly `size` bytes of a header. */
int stored_header(struct input *in, void *out, size_t size, struct error *e) MUST_USE;

/* Bare integers of s->element_bytes and s->is_signed to the end of the file, a stream. */
int raw_read(struct ids *a, struct stored_tokens *s, struct input *in, struct error *e) MUST_USE;
/* Each reads one file, appends its ids and sets its rank and shape. */
int npy_read(struct ids *a, struct stored_tokens *s, struct input *in, struct error *e) MUST_USE;
/* Token files of llm.c: magic 20240520, version 1 (uint16), and 20240801, version 7 (uint32). */
int llmc_tokens_read(struct ids *a, struct stored_tokens *s, struct input *in,
                     struct error *e) MUST_USE;
/* The indexed data sets of Megatron, GPT-NeoX and fairseq: an index (MMIDIDX or TNTIDX, .idx) and
 * the tokens of all documents
 * (.bin). */
int indexed_read(struct ids *a, struct stored_tokens *s, struct input *index, struct input *data,
                 struct error *e) MUST_USE;
/* A dataset of an HDF5 file: the one at `inside`, or for NULL the one named `tokens`, or the only
 * one of integers in the root group. */
int hdf_read(struct ids *a, struct stored_tokens *s, const char *path, const char *inside,
             struct error *e) MUST_USE;

/* Hands over the ids of FILES (count of them, at least one) as a stream; the array is empty
 * afterwards. */
void ids_to_tokens(struct tokens *out, struct ids *a, const char *const *files, int count);

#endif
