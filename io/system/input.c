#include "io/system/input.h"

#include "io/system/unpack.h"
#include "io/system/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW_BYTES = 1 << 16, OUT_BYTES_MAX = 16 << 20 };

int input_patience = 10000;

struct input {
    char *name;
    int descriptor; /* -1: the data are in memory */
    int is_file; /* a regular file, which must not change until its end is read */
    struct stamp stamp;
    const unsigned char *memory; /* the remaining data */
    size_t memory_left;
    unsigned char ahead[INPUT_PEEK_MAX]; /* already unpacked: ahead[ahead_at..ahead_have) */
    size_t ahead_at, ahead_have;
    struct unpack *unpack; /* NULL: the data are not compressed */
    unsigned char raw[RAW_BYTES];
    size_t at, have; /* raw[at..have) is unread */
    size_t taken, given; /* compressed bytes, and bytes unpacked from them */
};

/* open() would wait forever for a pipe's writer. Opened without waiting, the pipe is empty until
 * someone opens it for writing, which can be distinguished from a writer that has not written
 * yet. */
static int wait_for_writer(struct input *in, struct error *e)
{
    enum { LOOK_EVERY = 50 };
    struct pollfd pipe = {.fd = in->descriptor, .events = POLLIN};
    for (int waited = 0;; waited += LOOK_EVERY) {
        ssize_t n = read(in->descriptor, in->raw, RAW_BYTES);
        if (n > 0)
            in->have = (size_t)n;
        if (n > 0 || (n < 0 && errno == EAGAIN))
            return 0;
        if (n < 0 && errno != EINTR)
            return fail(e, "%s: cannot be read: %s", in->name, strerror(errno));
        if (waited >= input_patience)
            return fail(e,
                        "%s: is a pipe that nobody writes to (waited %d s; expected a file, or a "
                        "writer that is started first)",
                        in->name, input_patience / 1000);
        if (poll(&pipe, 1, LOOK_EVERY) > 0 && pipe.revents & POLLHUP && !(pipe.revents & POLLIN))
            return 0; /* a writer came and went */
    }
}

/* Opens PATH without waiting. */
static int open_descriptor(struct input *in, const char *path, struct stat *st, struct error *e)
{
    in->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int flags = in->descriptor < 0 ? -1 : fcntl(in->descriptor, F_GETFL);
    if (flags < 0 || fstat(in->descriptor, st))
        return fail(e, "%s: cannot be opened: %s", in->name, strerror(errno));
    if (S_ISFIFO(st->st_mode) && wait_for_writer(in, e))
        return -1;
    return fcntl(in->descriptor, F_SETFL, flags & ~O_NONBLOCK)
               ? fail(e, "%s: cannot be opened: %s", in->name, strerror(errno))
               : 0;
}

/* At most `room` bytes of the file or the memory; 0 at the end, -1 with errno. */
static ssize_t read_raw(struct input *in, unsigned char *out, size_t room)
{
    ssize_t n;
    if (in->descriptor < 0) {
        size_t here = in->memory_left < room ? in->memory_left : room;
        if (here) {
            memcpy(out, in->memory, here);
            in->memory += here;
            in->memory_left -= here;
        }
        return (ssize_t)here;
    }
    do
        n = read(in->descriptor, out, room);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Reads more raw bytes after the unread ones; *ended when there are no more. */
static int refill(struct input *in, int *ended, struct error *e)
{
    memmove(in->raw, in->raw + in->at, in->have - in->at);
    in->have -= in->at;
    in->at = 0;
    *ended = 0;
    if (in->have == RAW_BYTES)
        return 0;
    ssize_t n = read_raw(in, in->raw + in->have, RAW_BYTES - in->have);
    if (n < 0)
        return fail(e, "%s: cannot be read: %s", in->name, strerror(errno));
    *ended = n == 0;
    in->have += (size_t)n;
    return *ended && in->is_file ? stamp_check(&in->stamp, in->descriptor, in->name, e) : 0;
}

/* Sets up unpacking if the data begin like compressed ones. */
static int detect_packed(struct input *in, struct error *e)
{
    int memory;

    for (int ended = 0; !ended && in->have < UNPACK_MAGIC;)
        if (refill(in, &ended, e))
            return -1;
    in->unpack = unpack_open(in->raw, in->have, &memory);
    return memory ? fail_memory(e, 1 << 20, "unpacking") : 0;
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
    struct stat st;
    if (!standard) {
        if (open_descriptor(in, path, &st, e))
            goto failed;
    } else if (fstat(in->descriptor, &st)) {
        fail(e, "%s: cannot be opened: %s", in->name, strerror(errno));
        goto failed;
    }
    if (S_ISDIR(st.st_mode)) {
        fail(e, "%s: is a folder (expected a file)", in->name);
        goto failed;
    }
    in->is_file = S_ISREG(st.st_mode);
    if (stamp_take(&in->stamp, in->descriptor, in->name, e) == 0 && detect_packed(in, e) == 0)
        return in;
failed:
    input_close(in);
    return NULL;
}

struct input *input_memory(const void *data, size_t size, const char *name, struct error *e)
{
    struct input *in = calloc(1, sizeof *in);
    if (!in || !(in->name = strdup(name))) {
        free(in);
        fail_memory(e, sizeof *in, name);
        return NULL;
    }
    in->descriptor = -1;
    in->memory = data;
    in->memory_left = size;
    if (detect_packed(in, e) == 0)
        return in;
    input_close(in);
    return NULL;
}

static int read_plain(struct input *in, unsigned char *out, size_t want, size_t *got,
                      struct error *e)
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

static int read_packed(struct input *in, unsigned char *out, size_t want, size_t *got,
                       struct error *e)
{
    struct unpack *u = in->unpack;
    const char *name = unpack_name(u), *ending = unpack_ending(u);

    for (int ended = 0; *got < want;) {
        if (in->at == in->have && refill(in, &ended, e))
            return -1;
        if (ended && !unpack_inside(u))
            break;
        size_t left = in->have - in->at, taken = left,
               room = want - *got < OUT_BYTES_MAX ? want - *got : OUT_BYTES_MAX, given = room;
        enum unpack_status status = unpack_step(u, in->raw + in->at, &left, out + *got, &room,
                                                ended);
        taken -= left;
        given -= room;
        in->at += taken;
        *got += given;
        in->taken += taken;
        in->given += given;
        if (in->given > INPUT_UNPACKED_FREE && in->given / INPUT_RATIO_MAX > in->taken)
            return fail(e,
                        "%s: unpacks to more than %d times its size (expected text or token ids, "
                        "which do not)",
                        in->name, INPUT_RATIO_MAX);
        if (status == UNPACK_MEMORY)
            return fail_memory(e, UNPACK_BYTES_MAX, "unpacking");
        if (status == UNPACK_DAMAGED)
            return fail(e, "%s: the %s data are damaged: %s (expected a whole %s file)", in->name,
                        name, unpack_problem(u), ending);
        if (ended && status == UNPACK_GOING && given == 0)
            return fail(e, "%s: the %s data are cut off (expected a whole %s file)", in->name, name,
                        ending);
    }
    return 0;
}

int input_read(struct input *in, void *out, size_t want, size_t *got, struct error *e)
{
    size_t ahead = in->ahead_have - in->ahead_at;
    *got = ahead < want ? ahead : want;
    if (*got)
        memcpy(out, in->ahead + in->ahead_at, *got);
    in->ahead_at += *got;
    return in->unpack ? read_packed(in, out, want, got, e) : read_plain(in, out, want, got, e);
}

int input_peek(struct input *in, void *out, size_t want, size_t *got, struct error *e)
{
    size_t have = 0;
    if (in->ahead_have == 0 && input_read(in, in->ahead, INPUT_PEEK_MAX, &have, e))
        return -1;
    in->ahead_have += have;
    *got = in->ahead_have - in->ahead_at < want ? in->ahead_have - in->ahead_at : want;
    if (*got)
        memcpy(out, in->ahead + in->ahead_at, *got);
    return 0;
}

const char *input_other(const void *start, size_t size)
{
#define UNPACK(command) \
    " (expected plain text, .gz, .zst, .xz, .bz2, or the output of `" command "` on standard " \
    "input)"
#define AGAIN(name) "compressed twice, the first time by " name " (expected data packed once)"
#define RECODE(name) \
    "text in " name " (expected UTF-8, as `iconv -f " name " -t UTF-8 FILE` makes it)"
    static const struct {
        size_t at; /* its position */
        const char *magic;
        size_t size;
        const char *what;
    } others[] = {
        {0, "\x1F\x8B", 2, AGAIN("gzip")}, /* the outer one is unpacked here */
        {0, "\x28\xB5\x2F\xFD", 4, AGAIN("zstd")},
        {0, "\xFD\x37zXZ\0", 6, AGAIN("xz")},
        {4, "1AY&SY", 6, AGAIN("bzip2")}, /* after BZh, digit */
        {0, "\x5D\0\0", 3, "compressed by lzma" UNPACK("xz -dc FILE")},
        {0, "\x04\x22\x4D\x18", 4, "compressed by lz4" UNPACK("lz4 -dc FILE")},
        {0, "PK\3\4", 4, "a zip archive" UNPACK("unzip -p FILE")},
        {0, "PK\5\6", 4, "a zip archive without files" UNPACK("unzip -p FILE")},
        {0, "7z\xBC\xAF\x27\x1C", 6, "a 7-Zip archive" UNPACK("7z x -so FILE")},
        {0, "Rar!\x1A\7", 6, "a RAR archive" UNPACK("unrar p -inul FILE")},
        {0, "\xFF\xFE\0\0", 4, RECODE("UTF-32")},
        {0, "\0\0\xFE\xFF", 4, RECODE("UTF-32")},
        {0, "\xFF\xFE", 2, RECODE("UTF-16")},
        {0, "\xFE\xFF", 2, RECODE("UTF-16")},
        {0, "%PDF-", 5, "a PDF document (expected text, as `pdftotext FILE -` makes it)"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (size >= others[i].at + others[i].size &&
            memcmp((const char *)start + others[i].at, others[i].magic, others[i].size) == 0)
            return others[i].what;
    return NULL;
}

const char *input_name(const struct input *in)
{
    return in->name;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    unpack_close(in->unpack);
    if (in->descriptor > STDIN_FILENO)
        close(in->descriptor);
    free(in->name);
    free(in);
}
