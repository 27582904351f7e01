#include "io/system/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A file in the folder without a name, or with its name removed. -1 with errno. */
static int open_nameless(const char *folder)
{
    char *path;
    int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600), problem;
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return descriptor;
    /* a file system without unnamed files */
    if (asprintf(&path, "%s/reach-XXXXXX", folder) < 0) {
        errno = ENOMEM;
        return -1;
    }
    descriptor = mkostemp(path, O_CLOEXEC);
    problem = errno;
    if (descriptor >= 0)
        unlink(path);
    free(path);
    errno = problem;
    return descriptor;
}

/* Allocates the room. 0 or an error number. If it does not fit it is not tried, since the disk
 * would be full for others meanwhile. */
static int take_room(int descriptor, size_t bytes)
{
    struct statvfs disk;
    if (bytes == 0)
        return 0;
    if (bytes > INT64_MAX)
        return EFBIG;
    if (fstatvfs(descriptor, &disk) == 0 &&
        (double)disk.f_bavail * (double)disk.f_frsize < (double)bytes)
        return ENOSPC;
    return posix_fallocate(descriptor, 0, (off_t)bytes);
}

void *spill_map(size_t bytes, const char *what, struct error *e)
{
    const char *folder = getenv("TMPDIR");
    void *memory = MAP_FAILED;
    int descriptor, problem;
    if (!folder || !*folder)
        folder = "/var/tmp";
    descriptor = open_nameless(folder);
    problem = descriptor < 0 ? errno : take_room(descriptor, bytes);
    if (!problem && (memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED,
                                   descriptor, 0)) == MAP_FAILED)
        problem = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (!problem)
        return memory;
    fail(e,
         "%s: has no place for %zu bytes of %s: %s (expected a folder with room there, or another "
         "named by TMPDIR)",
         folder, bytes, what, strerror(problem));
    return NULL;
}

struct spill {
    const char *folder, *what;
    int descriptor;
};

struct spill *spill_open(const char *folder, size_t bytes, const char *what, struct error *e)
{
    struct spill *s = malloc(sizeof *s);
    int problem;
    if (!s) {
        fail_memory(e, sizeof *s, what);
        return NULL;
    }
    *s = (struct spill){folder, what, open_nameless(folder)};
    problem = s->descriptor < 0 ? errno : take_room(s->descriptor, bytes);
    if (!problem)
        return s;
    fail(e, "%s: cannot hold %s (%zu bytes): %s (expected a writable folder with room)", folder,
         what, bytes, strerror(problem));
    spill_close(s);
    return NULL;
}

int spill_write(struct spill *s, size_t at, const void *data, size_t bytes, struct error *e)
{
    for (size_t done = 0; done < bytes;) {
        errno = ENOSPC; /* of a write of 0 bytes */
        ssize_t wrote = pwrite(s->descriptor, (const char *)data + done, bytes - done,
                               (off_t)(at + done));
        if (wrote <= 0 && errno != EINTR)
            return fail(e, "%s: cannot write %zu bytes of %s: %s", s->folder, bytes, s->what,
                        strerror(errno));
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

int spill_read(struct spill *s, size_t at, void *data, size_t bytes, struct error *e)
{
    for (size_t done = 0; done < bytes;) {
        errno = EIO; /* of a file that is too short */
        ssize_t got = pread(s->descriptor, (char *)data + done, bytes - done, (off_t)(at + done));
        if (got <= 0 && errno != EINTR)
            return fail(e, "%s: cannot read %zu bytes of %s back: %s", s->folder, bytes, s->what,
                        strerror(errno));
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

void spill_close(struct spill *s)
{
    if (!s)
        return;
    if (s->descriptor >= 0)
        close(s->descriptor);
    free(s);
}
