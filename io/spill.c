#include "io/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *spill_map(size_t bytes, const char *what, struct error *e)
{
    const char *folder = getenv("TMPDIR");
    char *path;
    void *memory = MAP_FAILED;
    int descriptor, problem = 0;
    if (!folder || !*folder)
        folder = "/var/tmp";
    if (bytes > INT64_MAX || asprintf(&path, "%s/reach-XXXXXX", folder) < 0) {
        fail_memory(e, (double)bytes, what);
        return NULL;
    }
    descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor < 0) {
        problem = errno;
    } else {
        unlink(path);
        problem = bytes ? posix_fallocate(descriptor, 0, (off_t)bytes) : 0;
        if (!problem && (memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)) == MAP_FAILED)
            problem = errno;
        close(descriptor);
    }
    free(path);
    if (!problem)
        return memory;
    fail(e, "%s: has no place for %zu bytes of %s: %s (expected a folder with room there, or another named by TMPDIR)", folder,
         bytes, what, strerror(problem));
    return NULL;
}
