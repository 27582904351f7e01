#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RAW_BYTES = 1 << 16, OUT_BYTES_MAX = 1 << 30 };

struct input {
    char *name;
    int descriptor;
    int gzip;   /* the data are packed; `unpack` is set up */
    int member; /* inside a member of a gzip file */
    z_stream unpack;
    unsigned char raw[RAW_BYTES];
    size_t at, have; /* raw[at..have) is not used yet */
};

/* zlib's own gzread is not used because it takes a damaged header of a later member for the end of the data. */

/* Reads more raw bytes behind those that are left; *ended when there are no more. */
static int refill(struct input *in, int *ended, struct error *e)
{
    memmove(in->raw, in->raw + in->at, in->have - in->at);
    in->have -= in->at;
    in->at = 0;
    *ended = 0;
    if (in->have == RAW_BYTES)
        return 0;
    ssize_t n;
    do
        n = read(in->descriptor, in->raw + in->have, RAW_BYTES - in->have);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fail(e, "%s: cannot be read: %s", in->name, strerror(errno));
    *ended = n == 0;
    in->have += (size_t)n;
    return 0;
}

struct input *input_open(const char *path, struct error *e)
{
    int standard = strcmp(path, "-") == 0;
    struct input *in = calloc(1, sizeof *in);
    if (!in || !(in->name = strdup(standard ? "standard input" : path))) {
        free(in);
        fail_memory(e, sizeof *in, path);
        return NULL;
    }
    in->descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (in->descriptor < 0 || fstat(in->descriptor, &st)) {
        fail(e, "%s: cannot be opened: %s", in->name, strerror(errno));
        goto failed;
    }
    if (S_ISDIR(st.st_mode)) {
        fail(e, "%s: is a folder (expected a file)", in->name);
        goto failed;
    }
    for (int ended = 0; !ended && in->have < 2;)
        if (refill(in, &ended, e))
            goto failed;
    if (in->have >= 2 && in->raw[0] == 0x1F && in->raw[1] == 0x8B) {
        if (inflateInit2(&in->unpack, 16 + MAX_WBITS) != Z_OK) { /* 16: gzip and nothing else */
            fail_memory(e, 1 << MAX_WBITS, "unpacking");
            goto failed;
        }
        in->gzip = in->member = 1;
    }
    return in;
failed:
    input_close(in);
    return NULL;
}

static int read_plain(struct input *in, unsigned char *out, size_t want, size_t *got, struct error *e)
{
    for (int ended = 0; *got < want;) {
        if (in->at == in->have && refill(in, &ended, e))
            return -1;
        if (ended)
            break;
        size_t n = in->have - in->at < want - *got ? in->have - in->at : want - *got;
        memcpy(out + *got, in->raw + in->at, n);
        in->at += n;
        *got += n;
    }
    return 0;
}

static int read_packed(struct input *in, unsigned char *out, size_t want, size_t *got, struct error *e)
{
    for (int ended = 0; *got < want;) {
        if (in->at == in->have && refill(in, &ended, e))
            return -1;
        if (ended && in->member)
            return fail(e, "%s: the gzip data are cut off (expected a whole .gz file)", in->name);
        if (ended)
            break;
        if (!in->member) {
            inflateReset(&in->unpack);
            in->member = 1;
        }
        in->unpack.next_in = in->raw + in->at;
        in->unpack.avail_in = (uInt)(in->have - in->at);
        in->unpack.next_out = out + *got;
        in->unpack.avail_out = (uInt)(want - *got < OUT_BYTES_MAX ? want - *got : OUT_BYTES_MAX);
        int status = inflate(&in->unpack, Z_NO_FLUSH);
        in->at = (size_t)(in->unpack.next_in - in->raw);
        *got = (size_t)(in->unpack.next_out - out);
        if (status == Z_STREAM_END)
            in->member = 0;
        else if (status == Z_MEM_ERROR)
            return fail_memory(e, 1 << MAX_WBITS, "unpacking");
        else if (status != Z_OK && status != Z_BUF_ERROR)
            return fail(e, "%s: the gzip data are damaged: %s (expected a whole .gz file)", in->name, in->unpack.msg ? in->unpack.msg : "not gzip");
    }
    return 0;
}

int input_read(struct input *in, void *out, size_t want, size_t *got, struct error *e)
{
    *got = 0;
    return in->gzip ? read_packed(in, out, want, got, e) : read_plain(in, out, want, got, e);
}

const char *input_name(const struct input *in)
{
    return in->name;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    if (in->gzip)
        inflateEnd(&in->unpack);
    if (in->descriptor > STDIN_FILENO)
        close(in->descriptor);
    free(in->name);
    free(in);
}
