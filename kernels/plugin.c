/* Finding and checking the CUDA plug-in. */
#include "kernels/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opened once: kernel sets of an opened plug-in point into it, so it stays. */
static const struct plugin *opened;

/* `folder of this program` + rest, if that file exists; else 0. */
static int beside_program(char *path, size_t size, const char *rest)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return 0;
    program[length] = 0;
    char *slash = strrchr(program, '/');
    if (!slash)
        return 0;
    slash[1] = 0;
    return (size_t)snprintf(path, size, "%s%s", program, rest) < size && access(path, F_OK) == 0;
}

static int find(char *path, size_t size)
{
    const char *named = getenv("REACH_CUDA");
    if (named && *named)
        return (size_t)snprintf(path, size, "%s", named) < size;
    return beside_program(path, size, "reach-cuda.so") || beside_program(path, size, "../lib/reach/reach-cuda.so");
}

static int fits(const struct plugin *p)
{
    return p && p->version == PLUGIN_VERSION && p->bytes == sizeof *p && p->kernels_bytes == sizeof(struct kernels) &&
           p->shape_bytes == sizeof(struct attention_shape) && p->part_bytes == sizeof(struct weight_part) &&
           p->error_bytes == sizeof(struct error);
}

const struct plugin *plugin_open(int *absent, struct error *e)
{
    char path[4200];
    plugin_entry *entry = NULL;
    const struct plugin *p;
    if (absent)
        *absent = 0;
    if (opened)
        return opened;
    if (!find(path, sizeof path)) {
        if (absent)
            *absent = 1;
        fail(e, "there is no reach-cuda.so beside this program or in ../lib/reach (expected: `make cuda` builds it where CUDA's "
                "nvcc is; REACH_CUDA names another file)");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        fail(e, "%s: cannot be loaded: %s (expected CUDA 13 with cuBLAS to be installed)", path, why ? why : "unknown reason");
        return NULL;
    }
    *(void **)&entry = dlsym(library, PLUGIN_SYMBOL);
    p = entry ? entry() : NULL;
    if (!fits(p)) {
        fail(e, "%s: %s (expected the plug-in of this program's own build; `make` makes both)", path,
             entry ? "belongs to another version of reach" : "is not a plug-in of reach");
        dlclose(library);
        return NULL;
    }
    return opened = p;
}

int plugin_is_worth_opening(void)
{
    enum { CUDA_NO_DEVICE = 100 }; /* CUDA_ERROR_NO_DEVICE */
    const char *named = getenv("REACH_CUDA");
    char path[4200];
    int (*start)(unsigned);
    if (opened || (named && *named))
        return 1;
    /* the driver stays: it is not made for being closed */
    void *driver = find(path, sizeof path) ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver)
        return 0;
    *(void **)&start = dlsym(driver, "cuInit");
    return !start || start(0) != CUDA_NO_DEVICE;
}

int plugin_devices(struct error *e)
{
    const struct plugin *p = plugin_open(NULL, e);
    int count = p ? p->devices(e) : 0;
    return count > 0 ? count : 0;
}
