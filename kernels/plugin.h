/* The cuda set is a plug-in, a shared object opened at run time, so that one program runs with and without a GPU. This is what
 * program and plug-in agree on. */
#ifndef REACH_KERNELS_PLUGIN_H
#define REACH_KERNELS_PLUGIN_H

#include "kernels/ops.h"

/* Raised whenever a struct of ops.h or the meaning of an entry changes. */
#define PLUGIN_VERSION 13

/* What the plug-in says of itself. A program takes it only when version and sizes are its own. */
struct plugin {
    uint32_t version, bytes; /* PLUGIN_VERSION, sizeof(struct plugin) */
    uint32_t kernels_bytes, shape_bytes, part_bytes, error_bytes; /* sizeof struct kernels, attention_shape, weight_part, error */
    /* Devices that it can use, at least 1; 0 with *e where there is no GPU, -1 with *e where there is one that cannot be used. */
    int (*devices)(struct error *e);
    /* A kernel set on a device (from 0) for "f32", "tf32" or "bf16"; NULL on failure. Freed by k->close. The thread that opens it
     * uses it (a thread has one device at a time), and sets of two devices do not take turns in one thread. */
    struct kernels *(*open)(int device, const char *dtype, struct error *e);
    /* "CUDA 13.0, cuBLASLt 13.0.0": what it was built with, what it has loaded. */
    void (*versions)(char *text, size_t size);
};

/* The one symbol that the plug-in exports: `const struct plugin *reach_plugin(void)`. */
#define PLUGIN_SYMBOL "reach_plugin"
typedef const struct plugin *plugin_entry(void);

/* The plug-in, opened at the first call: the file that the environment variable REACH_CUDA names, else reach-cuda.so beside the
 * program, else ../lib/reach/reach-cuda.so from there. It needs cuBLASLt, which is looked for beside it, where CUDA's toolkit was
 * when it was built, where the system has libraries, and in the nvidia folders that pip makes in Python's environments. NULL with
 * *e when there is none or it does not fit this program; *absent (may be NULL) is 1 when there is no file. Not for several
 * threads at once. */
const struct plugin *plugin_open(int *absent, struct error *e);
/* 0 without a plug-in, and where CUDA's driver is not installed or counts no device: the plug-in and its libraries, some 100 MB,
 * are not loaded for nothing. 1 where REACH_CUDA names a plug-in, whatever the driver says. */
int plugin_is_worth_opening(void);
/* For `reach version`: "PATH: CUDA 13.0, cuBLASLt 13.0.0", or why there is none; "CUDA 13.0", or that there is no driver. */
void plugin_versions(char *text, size_t size);
void plugin_driver_version(char *text, size_t size);
/* Its devices: 0 with *e when there is no plug-in or no device that it can use. */
int plugin_devices(struct error *e);

#endif
