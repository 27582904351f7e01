/* The options of `reach erf`: plain values, filled from a command line or by merge. */
#ifndef REACH_RUN_ERF_OPTIONS_H
#define REACH_RUN_ERF_OPTIONS_H

#include "io/text_list.h"
#include "io/tokens/tokens.h"
#include "model/attribution.h"
#include "run/shared_options.h"

#include <stddef.h>
#include <stdint.h>

enum { THRESHOLDS_MAX = 64, TARGETS_MAX = 256 };

enum { LAYER_NONE = -1, LAYER_ALL = -2 };

extern const char *const attribution_names[]; /* grad, inputxgrad, ig, smoothgrad; ended by NULL */

struct erf_options {
    struct text_list models, text, tokens; /* arguments, borrowed */
    const char *folder;
    struct text_list adapters; /* DIR or DIR=FACTOR */
    struct reading_options reading;
    struct segments_request cut; /* length 0: 2048, or a table's columns */
    double thresholds[THRESHOLDS_MAX]; /* ascending */
    size_t threshold_count;
    double main_threshold; /* for the table and the figure: 0.99, or the first --threshold */
    long sink, bootstrap, train_length,
        check_precision; /* train_length 0: the checkpoint's; check 0: none */
    uint64_t seed;
    const char *log, *formats;
    struct machine_options machine;
    struct encoding_options encoding;
    int layer; /* LAYER_NONE: embeddings; LAYER_ALL; else also the input of this block, from 0 */
    size_t targets[TARGETS_MAX]; /* other lengths that segments are cut to, ascending */
    size_t target_count;
    int attention, growth; /* growth: included in targets */
    long validate; /* segments for --validate; 0: none */
    enum attribution attribution;
    long shard, shards; /* measure only part `shard` of `shards` of the segments; shards 0: all */
    int strict, verify, resume, force;
    struct shown_options shown;
};

#endif
