/* Stands before the C library (LD_PRELOAD): oneDNN gets no memory for code, from request number
 * $NO_CODE_FROM on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* oneDNN 3 maps an anonymous file (memfd_create), oneDNN 2 none; it maps nothing but code itself.
 */
void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    static atomic_int count;
    void *(*real)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    const char *from = getenv("NO_CODE_FROM");
    Dl_info caller;

    if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
        strstr(caller.dli_fname, "dnnl") &&
        atomic_fetch_add(&count, 1) >= (from ? atoi(from) : 0)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(address, length, protection, flags, descriptor, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
    __attribute__((alias("mmap")));
