/* Tiny random checkpoints, texts and token files for tests of whole programs, and small helpers on
 * files. */
#ifndef REACH_TESTS_TINY_H
#define REACH_TESTS_TINY_H

#include <stddef.h>
#include <stdint.h>

/* A checkpoint in the layout of doc/checkpoint.md, f32, with random weights. Zeros stand for the
 * values in brackets. */
struct tiny {
    int vocabulary; /* [256] */
    int hidden; /* [16] */
    int layers; /* [2] */
    int heads; /* [2] */
    const char
        *settings; /* more members of config.json, each with a comma behind it: "\"window\": 4," */
    int learned; /* rows of position.weight; 0: no such tensor */
    int untied; /* 1: a head.weight of its own */
    const char *missing; /* a tensor to leave out */
    const char *spoiled; /* a tensor whose first element is NaN */
    uint64_t seed;
};

/* All of these return 0 or -1 with errno set. */
int tiny_checkpoint(const char *folder, const struct tiny *t); /* makes the folder */
int tiny_text(const char *path, size_t bytes, uint64_t seed); /* lower-case letters and blanks */
int tiny_npy(const char *path, const int32_t *ids, size_t rows,
             size_t columns); /* rows 0: 1-D of `columns` */

/* The bytes of a file with a NUL behind them, or NULL; caller frees. `size` may be NULL. */
char *slurp(const char *path, size_t *size);

#endif
