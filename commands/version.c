/* `reach version`: how this program was built, and what it computes with. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/screen.h"
#include "commands/verb.h"

#include "kernels/ops.h"
#include "kernels/plugin.h"
#include "run/results.h"
#include "version.h"

#include <bzlib.h>
#include <dnnl.h>
#include <hdf5.h>
#include <jansson.h>
#include <lzma.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

static const char *const dtypes[] = {"f32", "f64", "tf32", "bf16", "bf16x3"};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* ---- --json ---- */

struct build_row {
    const char *compiler, *flags, *mpi, *cuda_driver, *cuda_plugin;
    long long threads;
};

static const struct csv_column build_columns[] = {
    CSV_COLUMN(build_row, compiler, "", "that built the program"),
    CSV_COLUMN(build_row, flags, "", "the compiler's"),
    CSV_COLUMN(build_row, mpi, "", "of reach-mpi, or why there is none"),
    CSV_COLUMN(build_row, cuda_driver, "", "its version, or what is missing"),
    CSV_COLUMN(build_row, cuda_plugin, "", "its versions, or what is missing"),
    CSV_COLUMN(build_row, threads, "", "that a run uses unless told otherwise"),
};

static const struct csv_layout build_layout = {
    .file = "build",
    .origin = "`reach version --json`",
    .row = "the program",
    .columns = build_columns,
    .count = sizeof build_columns / sizeof *build_columns,
};

struct library_row {
    const char *name, *version;
};

static const struct csv_column library_columns[] = {
    CSV_COLUMN(library_row, name, "", "of the library"),
    CSV_COLUMN(library_row, version, "", "that is loaded; of OpenMP the date of the standard"),
};

static const struct csv_layout library_layout = {
    .file = "libraries",
    .origin = "`reach version --json`",
    .row = "a library",
    .columns = library_columns,
    .count = sizeof library_columns / sizeof *library_columns,
};

struct set_row {
    const char *name, *dtype, *summary;
    long long usable;
};

static const struct csv_column set_columns[] = {
    CSV_COLUMN(set_row, name, "", "of the kernel set"),
    CSV_COLUMN(set_row, dtype, "", "its type"),
    CSV_COLUMN(set_row, summary, "", "what it is"),
    CSV_COLUMN(set_row, usable, "", "1: on this machine; else 0"),
};

static const struct csv_layout set_layout = {
    .file = "kernel_sets",
    .origin = "`reach version --json`",
    .row = "a kernel set of this build",
    .columns = set_columns,
    .count = sizeof set_columns / sizeof *set_columns,
};

struct choice_row {
    const char *dtype, *kernels, *reason;
};

static const struct csv_column choice_columns[] = {
    CSV_COLUMN(choice_row, dtype, "", "a value of --dtype"),
    CSV_OPTIONAL(choice_row, kernels, "", "the kernel set that a run with it uses; empty: none"),
    CSV_OPTIONAL(choice_row, reason, "", "why there is none"),
};

static const struct csv_layout choice_layout = {
    .file = "choices",
    .origin = "`reach version --json`",
    .row = "a type",
    .columns = choice_columns,
    .count = sizeof choice_columns / sizeof *choice_columns,
};

/* What is found out, for both outputs. */
struct facts {
    char driver[5000], plugin[5000];
    char library[9][32]; /* versions */
    char kernels[DTYPES][sizeof((struct kernels *)0)->name]; /* empty: none */
    struct error reason[DTYPES];
};
static const char *const library_names[] = {"HDF5",  "oneDNN",  "zlib",   "zstd",  "xz",
                                            "bzip2", "Jansson", "xxHash", "OpenMP"};

static void find_facts(struct facts *f)
{
    const dnnl_version_t *onednn = dnnl_version();
    unsigned major, minor, release, xxhash = XXH_versionNumber();

    *f = (struct facts){.driver = ""};
    H5get_libversion(&major, &minor, &release);
    snprintf(f->library[0], sizeof *f->library, "%u.%u.%u", major, minor, release);
    snprintf(f->library[1], sizeof *f->library, "%d.%d.%d", onednn->major, onednn->minor,
             onednn->patch);
    snprintf(f->library[2], sizeof *f->library, "%s", zlibVersion());
    snprintf(f->library[3], sizeof *f->library, "%s", ZSTD_versionString());
    snprintf(f->library[4], sizeof *f->library, "%s", lzma_version_string());
    snprintf(f->library[5], sizeof *f->library, "%.*s", (int)strcspn(BZ2_bzlibVersion(), ","),
             BZ2_bzlibVersion());
    snprintf(f->library[6], sizeof *f->library, "%s", jansson_version_str());
    snprintf(f->library[7], sizeof *f->library, "%u.%u.%u", xxhash / 10000, xxhash / 100 % 100,
             xxhash % 100);
    snprintf(f->library[8], sizeof *f->library, "%d", _OPENMP);
    plugin_driver_version(f->driver, sizeof f->driver);
    plugin_versions(f->plugin, sizeof f->plugin);
    for (int i = 0; i < DTYPES; i++) { /* the set that a run with this dtype would use */
        struct error note;
        struct kernels *k = kernels_open_on("auto", dtypes[i], &note, &f->reason[i]);

        if (!k)
            continue;
        snprintf(f->kernels[i], sizeof *f->kernels, "%s", k->name);
        k->close(k);
    }
}

static int build_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct facts *f = found;

    (void)e;
    csv_row(csv, &(struct build_row){REACH_COMPILER, REACH_FLAGS, REACH_MPI, f->driver, f->plugin,
                                     omp_get_max_threads()});
    return 0;
}

static int library_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct facts *f = found;

    (void)e;
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++)
        csv_row(csv, &(struct library_row){library_names[i], f->library[i]});
    return 0;
}

static int set_rows(const void *found, struct csv *csv, struct error *e)
{
    (void)found;
    (void)e;
    for (int i = 0; i < kernel_set_count; i++)
        csv_row(csv, &(struct set_row){kernel_sets[i].name, kernel_sets[i].dtype,
                                       kernel_sets[i].summary, kernel_sets[i].usable()});
    return 0;
}

static int choice_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct facts *f = found;

    (void)e;
    for (int i = 0; i < DTYPES; i++)
        csv_row(csv, &(struct choice_row){dtypes[i], f->kernels[i],
                                          *f->kernels[i] ? NULL : f->reason[i].text});
    return 0;
}

static const struct results_file *const shown[] = {
    &(const struct results_file){.layout = &build_layout, .rows = build_rows, .single = 1},
    &(const struct results_file){.layout = &library_layout, .rows = library_rows},
    &(const struct results_file){.layout = &set_layout, .rows = set_rows},
    &(const struct results_file){.layout = &choice_layout, .rows = choice_rows}, NULL};

/* ---- text ---- */

static void print_facts(const struct facts *f)
{
    printf("reach %s\ncompiler  %s\nflags     %s\nlibraries\n", REACH_VERSION, REACH_COMPILER,
           REACH_FLAGS);
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++)
        printf("%s  %-7s  %s", i ? "\n" : "", library_names[i], f->library[i]);
    printf(", %d threads\n  MPI      %s\nCUDA\n  driver   %s\n", omp_get_max_threads(), REACH_MPI,
           screen_text(f->driver));
    printf("  plug-in  %s\nkernel sets\n", screen_text(f->plugin));
    for (int i = 0; i < kernel_set_count; i++)
        printf("  %-10s %-6s  %s%s\n", kernel_sets[i].name, kernel_sets[i].dtype,
               kernel_sets[i].summary, kernel_sets[i].usable() ? "" : " (not usable here)");
    for (int i = 0; i < DTYPES; i++)
        if (*f->kernels[i])
            printf("  --dtype %s uses %s\n", dtypes[i], f->kernels[i]);
        else
            printf("  %s\n", f->reason[i].text);
}

static int version_call(struct call *c, struct error *e)
{
    struct facts f;

    find_facts(&f);
    if (c->json)
        return verb_document(c, &f, NULL, e);
    print_facts(&f);
    return EXIT_DONE;
}

struct version_options {
    struct shown_options shown;
};

#define OPTIONS struct version_options

static const struct option_row rows[] = {JSON_ROW, QUIET_ROW};

const struct verb version_verb = {
    .name = "version",
    .summary = "version, compiler, libraries, kernel sets",
    .synopsis = "[options]",
    .description = "Prints the version, the compiler and its flags, the libraries with their "
                   "versions, the CUDA driver and "
                   "plug-in or what they lack, and the kernel sets of this build with the one that "
                   "a run would use "
                   "(REACH_KERNELS in the environment forces one).\n",
    .examples = "  reach version\n",
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .shown = shown,
    .run = version_call,
};
