/* Golden cases of tests/goldens/cases.csv, for tests. Failures end the test (cmocka's fail). */
#ifndef REACH_TESTS_GOLDEN_H
#define REACH_TESTS_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

struct golden {
    char name[64], checkpoint[256];
    size_t segments, length;
    int32_t *ids; /* [segments, length] */
    double *norm; /* [segments, length - 1] */
    double *logprob; /* [segments] */
};

/* All cases whose checkpoint exists; *count of them. Free with goldens_free. */
struct golden *goldens_open(size_t *count);
void goldens_free(struct golden *cases, size_t count);

/* A float64 .npy of exactly `count` values. The caller frees. */
double *golden_read_f64(const char *path, size_t count);

#endif
