/* The options of `reach trf`. */
#ifndef REACH_RUN_TRF_OPTIONS_H
#define REACH_RUN_TRF_OPTIONS_H

#include "run/formula_options.h"
#include "run/shared_options.h"

#include <stddef.h>
#include <stdint.h>

enum { EPSILONS_MAX = 1000, SWEPT_PLACES = 15, LENGTHS_MAX = 32, LAYERS_MAX = 10000 };

struct trf_options {
    struct formula_options formulas;
    struct text_list arguments;
    const char *epsilons[EPSILONS_MAX]; /* exact decimals, borrowed, or from `swept` */
    int epsilon_count;
    char swept[EPSILONS_MAX][SWEPT_PLACES + 3];
    uint64_t lengths[LENGTHS_MAX];
    int length_count;
    const char *coherence; /* of rotary positions, an exact decimal; NULL: none */
    double
        effort; /* processor seconds for each head and each of its numbers; 0: count work instead */
    long layers; /* depth; 1: only one layer */
    long train_length; /* for models that do not state it; 0: unknown */
    int explain, force;
    struct shown_options shown;
    const char *certificate; /* NULL: none */
    const char *folder, *formats; /* folder NULL: nothing is written */
};

#endif
