/* A stream of bytes from a file or standard input, gzip unpacked. Private to io/. */
#ifndef REACH_IO_SYSTEM_INPUT_H
#define REACH_IO_SYSTEM_INPUT_H

#include "io/error.h"

#include <stddef.h>

struct input;

/* Opens PATH, or standard input for "-". Data that begin as gzip does (1f 8b) are unpacked, all members of the file one after the
 * other. Caller closes. A folder is an error, and so is a pipe that nobody has open for writing and that nobody opens within
 * input_patience milliseconds. */
extern int input_patience;
struct input *input_open(const char *path, struct error *e) MUST_USE;

/* The same of `size` bytes of memory, borrowed until the input is closed; NAME is for messages. */
struct input *input_memory(const void *data, size_t size, const char *name, struct error *e) MUST_USE;

/* The first bytes that input_read will give, INPUT_PEEK_MAX at most; *got is less than `want` only where the data end. */
enum { INPUT_PEEK_MAX = 16 };
int input_peek(struct input *in, void *out, size_t want, size_t *got, struct error *e) MUST_USE;

/* What begins so and is neither text nor token ids as it is, in words, and what to do with it: "compressed by zstd (expected
 * ...)"; NULL: none of these. */
const char *input_other(const void *start, size_t size);

/* Reads `want` bytes; *got is less only at the end of the data. A gzip stream that is damaged, cut off or followed by other bytes
 * is an error: its checksums are verified before the end is reported. So is one that stands for more than INPUT_UNPACKED_FREE
 * bytes and for more than INPUT_RATIO_MAX times those that were read of it: text and token ids are packed to a third, zeros to a
 * thousandth, and a file of a few MB could keep a run unpacking until memory is full. */
enum { INPUT_UNPACKED_FREE = 64 << 20, INPUT_RATIO_MAX = 256 };
int input_read(struct input *in, void *out, size_t want, size_t *got, struct error *e) MUST_USE;

/* The name for messages: the path, or "standard input". Borrowed. */
const char *input_name(const struct input *in);
void input_close(struct input *in);

#endif
