#include "io/system/file.h"

#include "io/system/stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open_regular(const char *path, size_t *size, struct error *e)
{
    /* without O_NONBLOCK, opening a pipe would wait for a writer before we could refuse it */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat st;
    if (fstat(descriptor, &st)) {
        fail(e, "%s: %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        fail(e, "%s: is a folder (expected a file)", path);
    } else if (!S_ISREG(st.st_mode)) {
        fail(e, "%s: is a pipe or device (expected a regular file)", path);
    } else if ((uintmax_t)st.st_size > SIZE_MAX) {
        fail(e, "%s: is too large for this machine", path);
    } else {
        *size = (size_t)st.st_size;
        return descriptor;
    }
    close(descriptor);
    return -1;
}

int file_read_at(int descriptor, const char *path, void *out, size_t size, size_t offset,
                 struct error *e)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(descriptor, (char *)out + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(e, "%s: cannot be read: %s", path, strerror(errno));
        if (n == 0)
            return fail(
                e, "%s: ends after %zu bytes (expected %zu: the file changed while it was read)",
                path, offset + done, offset + size);
        done += (size_t)n;
    }
    return 0;
}

char *file_read_whole(const char *path, size_t limit, size_t *size, struct error *e)
{
    char *text = NULL;
    struct stamp stamp;
    int descriptor = file_open_regular(path, size, e);
    if (descriptor < 0)
        return NULL;
    if (*size > limit) {
        fail(e, "%s: has %zu bytes (expected at most %zu)", path, *size, limit);
    } else if (!(text = malloc(*size + 1))) {
        fail_memory(e, (double)*size + 1, path);
    } else if (stamp_take(&stamp, descriptor, path, e) ||
               file_read_at(descriptor, path, text, *size, 0, e) ||
               stamp_check(&stamp, descriptor, path, e)) {
        free(text);
        text = NULL;
    } else {
        text[*size] = '\0';
    }
    close(descriptor);
    return text;
}

int file_write_all(int descriptor, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(descriptor, (const char *)data + done, size - done);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            done += (size_t)n;
    }
    return 0;
}

char *path_join(const char *folder, const char *name, struct error *e)
{
    char *path;
    size_t length = strlen(folder);
    if (asprintf(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name) >=
        0)
        return path;
    fail_memory(e, (double)length, "a path");
    return NULL;
}

int path_exists(const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return 0;
    int there = access(path, F_OK) == 0;
    free(path);
    return there;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
