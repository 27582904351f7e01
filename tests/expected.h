/* Stores of tensors against what an oracle says is in them. Failures end the test (cmocka's fail).
 */
#ifndef REACH_TESTS_EXPECTED_H
#define REACH_TESTS_EXPECTED_H

#include "io/tensors/tensors.h"

/* Names, types, shapes and bytes of all tensors against the file PATH: {name: [type, shape, bytes
 * in hex, row after row]}. */
void expect_tensors(struct tensors *t, const char *path);

/* Both stores hold the same names, types, shapes and bytes. */
void expect_same_tensors(struct tensors *a, struct tensors *b);

#endif
