/* A stream of bytes from a file or standard input; gzip, zstd, xz and bzip2 are unpacked. Private
 * to io/. */
#ifndef REACH_IO_SYSTEM_INPUT_H
#define REACH_IO_SYSTEM_INPUT_H

#include "io/error.h"

#include <stddef.h>

struct input;

/* Opens PATH, or standard input for "-". Data that begin like compressed ones are unpacked, all
 * parts of the file in order. Caller closes. A folder is an error, and so is a pipe that nobody
 * opens for writing within input_patience milliseconds. */
extern int input_patience;
struct input *input_open(const char *path, struct error *e) MUST_USE;

/* The same from `size` bytes of memory, borrowed until the input is closed; NAME is for
 * messages. */
struct input *input_memory(const void *data, size_t size, const char *name,
                           struct error *e) MUST_USE;

/* The next bytes that input_read will give, at most INPUT_PEEK_MAX; *got is less than `want` only
 * at the end of the data. */
enum { INPUT_PEEK_MAX = 16 };
int input_peek(struct input *in, void *out, size_t want, size_t *got, struct error *e) MUST_USE;

/* If the data begin like a known format that is neither text nor token ids, its name and what to
 * do: "compressed by zstd (expected ...)"; else NULL. */
const char *input_other(const void *start, size_t size);

/* Reads `want` bytes; *got is less only at the end of the data. A compressed stream that is
 * damaged, cut off or followed by other bytes is an error: its checksums are verified before the
 * end is reported. So is a stream that unpacks to more than INPUT_UNPACKED_FREE bytes and to more
 * than INPUT_RATIO_MAX times the bytes read: text and token ids are packed to a third, zeros to a
 * thousandth, and a file of a few MB could keep a run unpacking until memory is full. */
enum { INPUT_UNPACKED_FREE = 64000000, INPUT_RATIO_MAX = 256 };
int input_read(struct input *in, void *out, size_t want, size_t *got, struct error *e) MUST_USE;

/* The name for messages: the path, or "standard input". Borrowed. */
const char *input_name(const struct input *in);
void input_close(struct input *in);

#endif
