/* The parts of `reach erf`: options, run, output. Private to commands/erf*.c. */
#ifndef REACH_COMMANDS_ERF_H
#define REACH_COMMANDS_ERF_H

#include "analyze/curve.h"
#include "commands/model_text.h"
#include "commands/models.h"
#include "commands/options.h"
#include "commands/progress.h"
#include "io/tokens.h"
#include "kernels/ops.h"
#include "model/decoder.h"

#include <stddef.h>
#include <stdint.h>

enum { THRESHOLDS_MAX = 64 };

extern const struct verb_help erf_help;

struct erf_options {
    struct text_list models, text, tokens; /* arguments, borrowed */
    const char *folder;
    struct segments_request cut; /* length 0: 2048, or a table's columns */
    double thresholds[THRESHOLDS_MAX]; /* ascending */
    size_t threshold_count;
    double main_threshold; /* of the table and the figure: 0.99, or the first --threshold */
    long sink, bootstrap, train_length, check_precision, threads; /* train_length 0: as the checkpoint says; threads 0: all; check 0: none */
    uint64_t seed;
    const char *device, *dtype, *bias, *log, *formats;
    int positions_none, window; /* window -1: as the checkpoint says */
    size_t memory; /* bytes; 0: most of what is free */
    int resume, force, quiet;
};

/* Parses; 0, ARGUMENT_HELP, or -1 with a message (wrong usage). */
int erf_options_parse(struct erf_options *o, int argc, char **argv, struct error *e);
/* 0, or -1 when a device or type that was asked for is not here. */
int erf_options_available(const struct erf_options *o, struct error *e) MUST_USE;
void erf_options_free(struct erf_options *o);
/* The command as it is recorded in results: models, text and all options that can change a number, in one order, defaults left out; so a run and its
 * --resume, or two runs into different folders, record the same. Caller frees; NULL when memory runs out. */
char *erf_options_command(const struct erf_options *o);

/* One model of a run. Arrays are owned. */
struct erf_model {
    struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text; /* until the segments are cut */
    struct segments segments;
    int bos, bos_id;   /* 1: that token stands before each segment */
    char digest[33], tokens_digest[33];
    int train_length;  /* 0: unknown */
    double *norm;      /* [segments, positions] */
    double *logprob;   /* [segments] */
    uint8_t *status;   /* [segments] 0: not measured, else enum segment_status */
    struct erf_summary summary;
};

/* A whole run. */
struct erf_run {
    const struct erf_options *options;
    struct progress *progress;
    struct model_argument *arguments;
    struct erf_model *models;
    size_t count;
    size_t positions; /* L-1 */
    char *command;
    struct kernels *kernels;
    size_t main_row;  /* index of the main threshold in a summary's rows */
};

/* Opens models and text and cuts the segments; everything that can be refused before the work is refused here. */
int erf_prepare(struct erf_run *r, struct error *e) MUST_USE;
/* Measures all segments that `journal` (a path) does not hold, and reduces them. 0, or -1. */
int erf_measure(struct erf_run *r, const char *journal, struct error *e) MUST_USE;
void erf_run_free(struct erf_run *r);

/* 1 and a message if FOLDER holds results. */
int erf_results_exist(const char *folder, struct error *e);
/* Writes erf.h5, curve.csv, summary.csv, erf.gp and the pictures. 0; 1 when only the pictures are missing (message); -1. */
int erf_write(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
/* The table, the paired differences and notes, to standard output. */
int erf_print(const struct erf_run *r, struct error *e) MUST_USE;
/* Reruns the first segments of each model in the float64 reference set and prints the largest deviations. */
int erf_check_precision(const struct erf_run *r, struct error *e) MUST_USE;

/* FOLDER/NAME; NULL with *e when memory runs out. Caller frees. */
char *erf_path(const char *folder, const char *name, struct error *e);

#endif
