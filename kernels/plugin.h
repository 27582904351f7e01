/* The cuda set is a plug-in, a shared object opened at run time, so that one program runs with and
 * without a GPU. This is the interface of program and plug-in. */
#ifndef REACH_KERNELS_PLUGIN_H
#define REACH_KERNELS_PLUGIN_H

#include "kernels/ops.h"

/* Raised whenever a struct of ops.h or mixers.h or the meaning of an entry changes; not for another
 * operation, which shows in the size of struct kernels. */
#define PLUGIN_VERSION 16

/* The plug-in's description of itself. A program accepts it only if version and sizes are equal. */
struct plugin {
    uint32_t version, bytes; /* PLUGIN_VERSION, sizeof(struct plugin) */
    uint32_t kernels_bytes, shape_bytes, part_bytes,
        error_bytes; /* sizeof struct kernels, attention_shape, weight_part, error */
    /* Its usable devices, at least 1; 0 with *e: no GPU, -1 with *e: a GPU that cannot be used. */
    int (*devices)(struct error *e);
    /* A kernel set on a device (from 0) for "f32", "tf32" or "bf16"; NULL on failure. Freed by
     * k->close. Only the thread that opens it may use it (a thread has one device at a time), and
     * sets of two devices do not alternate in one thread. */
    struct kernels *(*open)(int device, const char *dtype, struct error *e);
    /* "CUDA 13.0, cuBLASLt 13.0.0": the version it was built with, the library it has loaded. */
    void (*versions)(char *text, size_t size);
};

/* The one symbol that the plug-in exports: `const struct plugin *reach_plugin(void)`. */
#define PLUGIN_SYMBOL "reach_plugin"
typedef const struct plugin *plugin_entry(void);

/* The plug-in, opened at the first call: the file named by the environment variable REACH_CUDA,
 * else reach-cuda.so beside the program, else ../lib/reach/reach-cuda.so from there. It needs
 * cuBLASLt, which it looks for beside itself, in the CUDA toolkit of its build, in the system's
 * libraries, and in the nvidia folders that pip makes in Python environments. NULL with *e if there
 * is none or it does not fit this program; *absent (may be NULL) is 1 if there is no file. Not
 * thread-safe. */
const struct plugin *plugin_open(int *absent, struct error *e);
/* 0 without a plug-in, and if CUDA's driver is not installed or counts no device, so that the
 * plug-in and its libraries, some 100 MB, are not loaded needlessly. 1 if REACH_CUDA names a
 * plug-in, whatever the driver says. */
int plugin_is_worth_opening(void);
/* For `reach version`: "PATH: CUDA 13.0, cuBLASLt 13.0.0", or why there is none; "CUDA 13.0", or
 * that there is no driver. */
void plugin_versions(char *text, size_t size);
void plugin_driver_version(char *text, size_t size);
/* Its devices: 0 with *e when there is no plug-in or no usable device. */
int plugin_devices(struct error *e);

#endif
