#include "plots/density.h"

#include "io/system/atomic.h"
#include "io/system/file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    HEAD = 33, /* the signature and the first chunk, IHDR */
    PHYS = 21, /* length 9, name, dots per metre both ways, unit, checksum */
    PICTURE_MOST = 1 << 28
};

static void put32(unsigned char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(x >> (24 - 8 * i));
}

int density_write(const char *path, double dpi, struct error *e)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char chunk[PHYS] = {0, 0, 0, 9, 'p', 'H', 'Y', 's', [16] = 1};
    struct atomic_file out = {0};
    size_t size, rest = HEAD;
    char *picture = file_read_whole(path, PICTURE_MOST, &size, e);

    if (!picture)
        return -1;
    if (size < HEAD + PHYS || memcmp(picture, signature, sizeof signature) != 0) {
        free(picture);
        return fail(e, "%s: is not a png picture (expected what gnuplot drew)", path);
    }
    if (memcmp(picture + HEAD + 4, "pHYs", 4) == 0)
        rest += PHYS;
    put32(chunk + 8, (uint32_t)lround(dpi / 0.0254));
    put32(chunk + 12, (uint32_t)lround(dpi / 0.0254));
    put32(chunk + 17, (uint32_t)crc32(0, chunk + 4, 13));
    if (atomic_open(&out, path, e) != 0) {
        free(picture);
        return -1;
    }
    fwrite(picture, 1, HEAD, out.stream);
    fwrite(chunk, 1, sizeof chunk, out.stream);
    fwrite(picture + rest, 1, size - rest, out.stream);
    free(picture);
    return atomic_commit(&out, e);
}
