/* Finding and checking the CUDA plug-in. */
#include "kernels/plugin.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opened once: kernel sets of an opened plug-in point into it, so it stays. */
static const struct plugin *opened;
static char opened_path[4200];

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

/* Loads the library of this name from the first folder of `root` (NULL: none) below which pip's nvidia packages have it. */
static int load_from_pip(const char *root, const char *python, const char *name)
{
    static const char *const folders[] = {"cu*", "cublas"};
    for (int i = 0; root && *root && i < 2; i++) {
        char pattern[4400];
        glob_t found;
        int loaded = 0;
        if ((size_t)snprintf(pattern, sizeof pattern, "%s/%s/nvidia/%s/lib/%s", root, python, folders[i], name) >= sizeof pattern)
            continue;
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc && !loaded; j++)
                loaded = dlopen(found.gl_pathv[j], RTLD_NOW | RTLD_LOCAL) != NULL;
            globfree(&found);
        }
        if (loaded)
            return 1;
    }
    return 0;
}

/* 1 if dlopen's message `why` is that cuBLASLt is missing and it could be loaded from elsewhere: it stays, and the plug-in then
 * finds it by its name. */
static int load_cublas(const char *why)
{
    static const char *const python[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages"};
    char name[64] = "", home[4100] = "", here[4200];
    const char *begin = why ? strstr(why, "libcublasLt.so") : NULL;
    if (!begin || sscanf(begin, "%63[^: ]", name) != 1)
        return 0;
    snprintf(home, sizeof home, "%s/.local", getenv("HOME") ? getenv("HOME") : "");
    const char *roots[] = {getenv("VIRTUAL_ENV"),
                           getenv("CONDA_PREFIX"),
                           beside_program(here, sizeof here, "..") ? here : NULL,
                           home,
                           "/usr/local",
                           "/usr"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        for (size_t j = 0; j < sizeof python / sizeof *python; j++)
            if (load_from_pip(roots[i], python[j], name))
                return 1;
    return 0;
}

/* The plug-in's file, loaded; NULL with *e. */
static void *load(const char *path, struct error *e)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char why[512] = "unknown reason";
    const char *said = library ? NULL : dlerror();
    if (said)
        snprintf(why, sizeof why, "%s", said);
    if (!library && load_cublas(why))
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(e, "%s: cannot be loaded: %s (expected %s)", path, why,
             strstr(why, "libcublasLt.so") ? "cuBLAS of CUDA 13: that file beside the plug-in, CUDA's toolkit, or `pip install "
                                             "nvidia-cublas` in the active Python environment"
                                           : "CUDA 13 with cuBLAS to be installed");
    return library;
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
    void *library = load(path, e);
    if (!library)
        return NULL;
    *(void **)&entry = dlsym(library, PLUGIN_SYMBOL);
    p = entry ? entry() : NULL;
    if (!fits(p)) {
        fail(e, "%s: %s (expected the plug-in of this program's own build; `make` makes both)", path,
             entry ? "belongs to another version of reach" : "is not a plug-in of reach");
        dlclose(library);
        return NULL;
    }
    memcpy(opened_path, path, sizeof path);
    return opened = p;
}

void plugin_versions(char *text, size_t size)
{
    struct error e;
    int absent;
    char versions[100];
    const struct plugin *p = plugin_open(&absent, &e);
    if (!p) {
        snprintf(text, size, "%s", absent ? "none" : e.text);
        return;
    }
    p->versions(versions, sizeof versions);
    snprintf(text, size, "%s: %s", opened_path, versions);
}

void plugin_driver_version(char *text, size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* it stays: it is not made for being closed */
    int (*ask)(int *) = NULL, version = 0;
    if (driver)
        *(void **)&ask = dlsym(driver, "cuDriverGetVersion");
    if (!driver)
        snprintf(text, size, "none (NVIDIA's driver, libcuda.so.1, is not installed)");
    else if (!ask || ask(&version) != 0)
        snprintf(text, size, "of an unknown version");
    else
        snprintf(text, size, "CUDA %d.%d", version / 1000, version % 1000 / 10);
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
