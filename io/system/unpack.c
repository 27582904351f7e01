#include "io/system/unpack.h"

#include <bzlib.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

struct format {
    const char *name, *ending;
    int (*open)(struct unpack *u); /* 0, or -1: no memory */
    enum unpack_status (*step)(struct unpack *u, const unsigned char *in, size_t *size,
                               unsigned char *out, size_t *room, int last);
    void (*close)(struct unpack *u);
};

struct unpack {
    const struct format *format;
    const char *problem;
    int inside; /* in a part, not between two */
    union {
        z_stream gzip;
        lzma_stream xz;
        bz_stream bzip2;
        ZSTD_DStream *zstd;
    };
};

/* What a library's counters can hold. */
static unsigned int at_most(size_t size)
{
    return size < UINT_MAX ? (unsigned int)size : UINT_MAX;
}

/* ---- gzip ---- */

static int gzip_open(struct unpack *u)
{
    return inflateInit2(&u->gzip, 16 + MAX_WBITS) == Z_OK ? 0 : -1; /* 16: only gzip */
}

/* Not zlib's gzread, which treats a damaged header of a later member as the end of the data. */
static enum unpack_status gzip_step(struct unpack *u, const unsigned char *in, size_t *size,
                                    unsigned char *out, size_t *room, int last)
{
    unsigned int given = at_most(*size), asked = at_most(*room);
    int status;

    (void)last;
    if (!u->inside)
        inflateReset(&u->gzip);
    u->gzip.next_in = (unsigned char *)in;
    u->gzip.avail_in = given;
    u->gzip.next_out = out;
    u->gzip.avail_out = asked;
    status = inflate(&u->gzip, Z_NO_FLUSH);
    *size -= given - u->gzip.avail_in;
    *room -= asked - u->gzip.avail_out;
    u->problem = u->gzip.msg ? u->gzip.msg : "not gzip";
    return status == Z_STREAM_END                    ? UNPACK_ENDED
           : status == Z_OK || status == Z_BUF_ERROR ? UNPACK_GOING
           : status == Z_MEM_ERROR                   ? UNPACK_MEMORY
                                                     : UNPACK_DAMAGED;
}

static void gzip_close(struct unpack *u)
{
    inflateEnd(&u->gzip);
}

/* ---- zstd ---- */

static int zstd_open(struct unpack *u)
{
    u->zstd = ZSTD_createDStream();
    return u->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax,
                                                           27)) /* UNPACK_BYTES_MAX */
               ? 0
               : -1;
}

static enum unpack_status zstd_step(struct unpack *u, const unsigned char *in, size_t *size,
                                    unsigned char *out, size_t *room, int last)
{
    ZSTD_inBuffer from = {in, *size, 0};
    ZSTD_outBuffer to = {out, *room, 0};
    size_t rest = ZSTD_decompressStream(u->zstd, &to, &from);

    (void)last;
    *size -= from.pos;
    *room -= to.pos;
    if (!ZSTD_isError(rest))
        return rest ? UNPACK_GOING : UNPACK_ENDED;
    u->problem = ZSTD_getErrorName(rest);
    return UNPACK_DAMAGED;
}

static void zstd_close(struct unpack *u)
{
    ZSTD_freeDStream(u->zstd);
}

/* ---- xz ---- */

static int xz_open(struct unpack *u)
{
    u->xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&u->xz, UNPACK_BYTES_MAX, LZMA_CONCATENATED) == LZMA_OK ? 0 : -1;
}

/* The library joins the parts itself, since zeros may stand between them. */
static enum unpack_status xz_step(struct unpack *u, const unsigned char *in, size_t *size,
                                  unsigned char *out, size_t *room, int last)
{
    lzma_ret status;

    u->xz.next_in = in;
    u->xz.avail_in = *size;
    u->xz.next_out = out;
    u->xz.avail_out = *room;
    status = lzma_code(&u->xz, last ? LZMA_FINISH : LZMA_RUN);
    *size = u->xz.avail_in;
    *room = u->xz.avail_out;
    u->problem = status == LZMA_MEMLIMIT_ERROR  ? "it takes more than 134 MB to unpack"
                 : status == LZMA_OPTIONS_ERROR ? "it has a filter that is not known"
                                                : "a checksum or a code is wrong";
    return status == LZMA_STREAM_END                       ? UNPACK_ENDED
           : status == LZMA_OK || status == LZMA_BUF_ERROR ? UNPACK_GOING
           : status == LZMA_MEM_ERROR                      ? UNPACK_MEMORY
                                                           : UNPACK_DAMAGED;
}

static void xz_close(struct unpack *u)
{
    lzma_end(&u->xz);
}

/* ---- bzip2 ---- */

static int bzip2_open(struct unpack *u)
{
    return BZ2_bzDecompressInit(&u->bzip2, 0, 0) == BZ_OK ? 0 : -1;
}

static enum unpack_status bzip2_step(struct unpack *u, const unsigned char *in, size_t *size,
                                     unsigned char *out, size_t *room, int last)
{
    unsigned int given = at_most(*size), asked = at_most(*room);
    int status;

    (void)last;
    if (!u->inside) {
        BZ2_bzDecompressEnd(&u->bzip2);
        memset(&u->bzip2, 0, sizeof u->bzip2);
        if (bzip2_open(u) != 0)
            return UNPACK_MEMORY;
    }
    u->bzip2.next_in = (char *)in;
    u->bzip2.avail_in = given;
    u->bzip2.next_out = (char *)out;
    u->bzip2.avail_out = asked;
    status = BZ2_bzDecompress(&u->bzip2);
    *size -= given - u->bzip2.avail_in;
    *room -= asked - u->bzip2.avail_out;
    u->problem = status == BZ_DATA_ERROR_MAGIC ? "not bzip2" : "a checksum or a code is wrong";
    return status == BZ_STREAM_END  ? UNPACK_ENDED
           : status == BZ_OK        ? UNPACK_GOING
           : status == BZ_MEM_ERROR ? UNPACK_MEMORY
                                    : UNPACK_DAMAGED;
}

static void bzip2_close(struct unpack *u)
{
    BZ2_bzDecompressEnd(&u->bzip2);
}

/* ---- all ---- */

static const struct format gzip = {"gzip", ".gz", gzip_open, gzip_step, gzip_close},
                           zstd = {"zstd", ".zst", zstd_open, zstd_step, zstd_close},
                           xz = {"xz", ".xz", xz_open, xz_step, xz_close},
                           bzip2 = {"bzip2", ".bz2", bzip2_open, bzip2_step, bzip2_close};

static const struct format *find(const char *start, size_t size)
{
    static const struct {
        const struct format *format;
        size_t at, size;
        const char *bytes;
    } magics[] = {
        {&gzip, 0, 2, "\x1F\x8B"},         {&zstd, 0, 4, "\x28\xB5\x2F\xFD"},
        {&zstd, 0, 4, "\x50\x2A\x4D\x18"}, /* a frame to skip, as pzstd writes first */
        {&xz, 0, 6, "\xFD\x37zXZ\0"},      {&bzip2, 4, 6, "1AY&SY"}, /* after BZh and a digit */
        {&bzip2, 4, 6, "\x17rE8P\x90"}, /* nothing is packed */
    };

    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (size >= magics[i].at + magics[i].size &&
            memcmp(start + magics[i].at, magics[i].bytes, magics[i].size) == 0 &&
            (magics[i].format != &bzip2 || memcmp(start, "BZh", 3) == 0))
            return magics[i].format;
    return NULL;
}

struct unpack *unpack_open(const void *start, size_t size, int *memory)
{
    const struct format *format = find(start, size);
    struct unpack *u = format ? calloc(1, sizeof *u) : NULL;

    *memory = 0;
    if (!format)
        return NULL;
    if (u && format->open(u) == 0) {
        u->format = format;
        u->inside = 1;
        return u;
    }
    free(u);
    *memory = 1;
    return NULL;
}

void unpack_close(struct unpack *u)
{
    if (!u)
        return;
    u->format->close(u);
    free(u);
}

enum unpack_status unpack_step(struct unpack *u, const unsigned char *in, size_t *size,
                               unsigned char *out, size_t *room, int last)
{
    enum unpack_status status = u->format->step(u, in, size, out, room, last);

    u->inside = status != UNPACK_ENDED;
    return status;
}

int unpack_inside(const struct unpack *u)
{
    return u->inside;
}

const char *unpack_name(const struct unpack *u)
{
    return u->format->name;
}

const char *unpack_ending(const struct unpack *u)
{
    return u->format->ending;
}

const char *unpack_problem(const struct unpack *u)
{
    return u->problem;
}
