/* `reach version`: how this program was built, and what it computes with. */
#include "commands/commands.h"
#include "commands/screen.h"
#include "commands/verb.h"

#include "kernels/ops.h"
#include "kernels/plugin.h"
#include "version.h"

#include <dnnl.h>
#include <hdf5.h>
#include <jansson.h>
#include <omp.h>
#include <stdio.h>
#include <xxhash.h>
#include <zlib.h>

/* The set that a run with this dtype would use. */
static void print_choice(const char *dtype)
{
    struct error e = {""}, note;
    struct kernels *k = kernels_open_on("auto", dtype, &note, &e);

    if (k) {
        printf("  --dtype %s uses %s\n", dtype, k->name);
        k->close(k);
    } else
        printf("  %s\n", e.text);
}

static int version_call(struct call *c, struct error *e)
{
    const dnnl_version_t *onednn = dnnl_version();
    char line[5000];
    unsigned major, minor, release, xxhash = XXH_versionNumber();

    (void)c;
    (void)e;
    printf("reach %s\ncompiler  %s\nflags     %s\n", REACH_VERSION, REACH_COMPILER, REACH_FLAGS);
    H5get_libversion(&major, &minor, &release);
    printf("libraries\n  HDF5     %u.%u.%u\n  oneDNN   %d.%d.%d\n  zlib     %s\n  Jansson  %s\n  "
           "xxHash   %u.%u.%u\n  OpenMP   "
           "%d, %d threads\n",
           major, minor, release, onednn->major, onednn->minor, onednn->patch, zlibVersion(),
           jansson_version_str(), xxhash / 10000, xxhash / 100 % 100, xxhash % 100, _OPENMP,
           omp_get_max_threads());
    printf("  MPI      %s\n", REACH_MPI);
    printf("CUDA\n");
    plugin_driver_version(line, sizeof line);
    printf("  driver   %s\n", screen_text(line));
    plugin_versions(line, sizeof line);
    printf("  plug-in  %s\n", screen_text(line));
    printf("kernel sets\n");
    for (int i = 0; i < kernel_set_count; i++)
        printf("  %-10s %-4s  %s%s\n", kernel_sets[i].name, kernel_sets[i].dtype,
               kernel_sets[i].summary, kernel_sets[i].usable() ? "" : " (not usable here)");
    print_choice("f32");
    print_choice("f64");
    print_choice("tf32");
    print_choice("bf16");
    return EXIT_DONE;
}

const struct verb version_verb = {
    .name = "version",
    .summary = "version, compiler, libraries, kernel sets",
    .synopsis = "",
    .description = "Prints the version, the compiler and its flags, the libraries with their "
                   "versions, the CUDA driver and "
                   "plug-in or what they lack, and the kernel sets of this build with the one that "
                   "a run would use "
                   "(REACH_KERNELS in the environment forces one).\n",
    .examples = "  reach version\n",
    .run = version_call,
};
