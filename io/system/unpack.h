/* Compressed streams: gzip, zstd, xz and bzip2, told by their first bytes. Private to io/system. */
#ifndef REACH_IO_SYSTEM_UNPACK_H
#define REACH_IO_SYSTEM_UNPACK_H

#include <stddef.h>

struct unpack;

/* The first bytes that tell a format. */
enum { UNPACK_MAGIC = 10 };

/* The state for data that begin so, of all formats; NULL: they are not compressed in any. *memory:
 * 1 if memory ran out, else 0. */
struct unpack *unpack_open(const void *start, size_t size, int *memory);
void unpack_close(struct unpack *u);

enum unpack_status {
    UNPACK_GOING, /* also where nothing can be done without more data or room */
    UNPACK_ENDED, /* a part that may be the last; another may follow, as in files joined by cat */
    UNPACK_DAMAGED, /* also other bytes after the last part */
    UNPACK_MEMORY
};
/* Unpacks from in[*size], of which *size bytes remain, to out[*room], of which *room bytes remain.
 * `last`: no more follows. A stream that needs more than UNPACK_BYTES_MAX of memory is refused. */
enum unpack_status unpack_step(struct unpack *u, const unsigned char *in, size_t *size,
                               unsigned char *out, size_t *room, int last);
enum { UNPACK_BYTES_MAX = 1 << 27 }; /* 134 MB */

/* 1 in a part, 0 after one. */
int unpack_inside(const struct unpack *u);
/* "gzip", its ending ".gz", and what was wrong after UNPACK_DAMAGED. Constants. */
const char *unpack_name(const struct unpack *u);
const char *unpack_ending(const struct unpack *u);
const char *unpack_problem(const struct unpack *u);

#endif
