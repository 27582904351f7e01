/* Finding and checking the CUDA plug-in. */
#include "kernels/plugin.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opened once and never closed, because kernel sets point into it. */
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
    return beside_program(path, size, "reach-cuda.so") ||
           beside_program(path, size, "../lib/reach/reach-cuda.so");
}

static int fits(const struct plugin *p)
{
    return p && p->version == PLUGIN_VERSION && p->bytes == sizeof *p &&
           p->kernels_bytes == sizeof(struct kernels) &&
           p->shape_bytes == sizeof(struct attention_shape) &&
           p->part_bytes == sizeof(struct weight_part) && p->error_bytes == sizeof(struct error);
}

/* Loads the first loadable file that matches the pattern; 1 if there was one. */
static int load_from(const char *pattern)
{
    glob_t found;
    int loaded = 0;
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && !loaded; i++)
        loaded = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL) != NULL;
    globfree(&found);
    return loaded;
}

/* The same in the folders of pip's nvidia packages in the environment `root` (NULL or "": none). */
static int load_from_pip(const char *root, const char *name)
{
    static const char *const python[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                         "lib/python3/dist-packages"};
    static const char *const folders[] = {"cu*", "cublas"};
    for (int i = 0; root && *root && i < 6; i++) {
        char pattern[4400];
        if ((size_t)snprintf(pattern, sizeof pattern, "%s/%s/nvidia/%s/lib/%s", root, python[i / 2],
                             folders[i % 2], name) < sizeof pattern &&
            load_from(pattern))
            return 1;
    }
    return 0;
}

/* The environment of the python3 that a shell would start: where `bin/python3` of PATH is. 0 if
 * there is none. */
static int python_of_path(char *root, size_t size)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char program[4200];
        if (length && *path == '/' && length + sizeof "/python3" <= sizeof program) {
            snprintf(program, sizeof program, "%.*s/python3", (int)length, path);
            if (access(program, X_OK) == 0)
                return (size_t)snprintf(root, size, "%.*s/..", (int)length, path) < size;
        }
        path += length + (path[length] == ':');
    }
    return 0;
}

/* 1 if dlopen's message `why` is that cuBLASLt is missing and it was loaded from elsewhere: it
 * stays loaded, and the plug-in then finds it by its name. 0 with the folders that were
 * searched. */
static int load_cublas(const char *why, char *looked, size_t size)
{
    char name[64] = "", home[4100] = "", here[4200], path[4300], toolkit[100];
    const char *begin = why ? strstr(why, "libcublasLt.so") : NULL;
    if (!begin || sscanf(begin, "%63[^: ]", name) != 1)
        return 0;
    snprintf(toolkit, sizeof toolkit, "/usr/local/cuda*/lib64/%s", name);
    snprintf(home, sizeof home, "%s/.local", getenv("HOME") ? getenv("HOME") : "");
    const char *roots[] = {getenv("VIRTUAL_ENV"),
                           getenv("CONDA_PREFIX"),
                           python_of_path(path, sizeof path) ? path : NULL,
                           beside_program(here, sizeof here, "..") ? here : NULL,
                           home,
                           "/usr/local",
                           "/usr"};
    const char *between = "";
    size_t used = (size_t)snprintf(looked, size,
                                   "/usr/local/cuda*/lib64 and the nvidia packages of ");
    if (load_from(toolkit))
        return 1;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (load_from_pip(roots[i], name))
            return 1;
        if (roots[i] && *roots[i] && used < size) {
            used += (size_t)snprintf(looked + used, size - used, "%s%.80s", between, roots[i]);
            between = ", ";
        }
    }
    return 0;
}

/* The plug-in's file, loaded; NULL with *e. */
static void *load(const char *path, struct error *e)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char why[300] = "unknown reason", looked[700] = "";
    const char *said = library ? NULL : dlerror();
    if (said)
        snprintf(why, sizeof why, "%s", said);
    if (!library && load_cublas(why, looked, sizeof looked))
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && *looked)
        fail(e,
             "%.150s: cannot be loaded: %.100s (expected cuBLAS of CUDA 13 beside it, in CUDA's "
             "toolkit or by `pip install "
             "nvidia-cublas`; looked beside the plug-in, in the system's folders, in %.300s)",
             path, why, looked);
    else if (!library)
        fail(e, "%s: cannot be loaded: %s (expected CUDA 13 with cuBLAS to be installed)", path,
             why);
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
        fail(e, "there is no reach-cuda.so beside this program or in ../lib/reach (expected: `make "
                "cuda` builds it where CUDA's "
                "nvcc is; REACH_CUDA names another file)");
        return NULL;
    }
    void *library = load(path, e);
    if (!library)
        return NULL;
    *(void **)&entry = dlsym(library, PLUGIN_SYMBOL);
    p = entry ? entry() : NULL;
    if (!fits(p)) {
        fail(e, "%s: %s (expected the plug-in of this program's own build; `make` makes both)",
             path, entry ? "belongs to another version of reach" : "is not a plug-in of reach");
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
    void *driver = dlopen("libcuda.so.1",
                          RTLD_NOW | RTLD_LOCAL); /* never closed: it is not made for that */
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
    /* never closed: it is not made for that */
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
