/* How formulas and checkpoints are turned into biases: options shared by `reach trf`, `bias` and
 * `fit`. */
#ifndef REACH_RUN_FORMULA_OPTIONS_H
#define REACH_RUN_FORMULA_OPTIONS_H

#include "io/text_list.h"

#include <stddef.h>
#include <stdint.h>

enum { HEADS_DEFAULT = 8, HEADS_MAX = 4096, HEAD_SIZE_DEFAULT = 64 };

/* --heads, --set and --slopes. */
struct formula_options {
    long heads; /* for formulas; a checkpoint has its own */
    struct text_list sets; /* NAME=VALUE each, borrowed */
    int press; /* 1: slopes of released code */
    int strict; /* for checkpoints: see model_open */
};

#endif
