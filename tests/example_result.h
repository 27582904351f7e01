/* A result for tests of erf.h5, with every kind of number and attribute. */
#ifndef REACH_TESTS_EXAMPLE_RESULT_H
#define REACH_TESTS_EXAMPLE_RESULT_H

#include "io/results/result.h"

enum { SEGMENTS = 3, POSITIONS = 7, MODELS = 12 };

/* Twelve models (more than HDF5 keeps in a group's compact form), in an order that is not that of
 * their names. */
extern struct example {
    double norm[SEGMENTS * POSITIONS], vector[POSITIONS], logprob[SEGMENTS];
    uint8_t status[SEGMENTS];
    uint64_t start[SEGMENTS];
    struct result_attribute attributes[12];
    struct result_field fields[MODELS];
    struct result_model models[MODELS];
    struct result result;
} example;

/* Fills it as it was, whatever a test has changed, and returns its result. */
const struct result *fill_example(void);
/* Writes a result to PATH, whole or not at all. 0, or -1 with the message in *e. */
int write_result(const char *path, const struct result *r, struct error *e);

#endif
