/* What `reach trf` is asked for. */
#ifndef REACH_RUN_TRF_OPTIONS_H
#define REACH_RUN_TRF_OPTIONS_H

#include "run/formula_options.h"

#include <stddef.h>
#include <stdint.h>

enum { EPSILONS_MAX = 1000, SWEPT_PLACES = 15, LENGTHS_MAX = 32, LAYERS_MAX = 10000 };

struct trf_options {
    struct formula_options formulas;
    struct text_list arguments;
    const char *epsilons[EPSILONS_MAX]; /* exact decimals, borrowed, or of `swept` */
    int epsilon_count;
    char swept[EPSILONS_MAX][SWEPT_PLACES + 3];
    uint64_t lengths[LENGTHS_MAX];
    int length_count;
    const char *coherence; /* of rotary positions, an exact decimal; NULL: none */
    double effort; /* seconds of processor time for a head and each number of it; 0: work is counted instead */
    long layers; /* depth; 1: of one layer only */
    long train_length; /* of models that do not say it; 0: unknown */
    int explain, force, wide; /* wide: of whoever prints */
    const char *certificate; /* NULL: none */
    const char *folder, *formats; /* folder NULL: nothing is written */
};

#endif
