/* Fuzz targets: each gives arbitrary bytes to one reader, as a file or a user would, and uses what
 * it made of them.
 *
 * fuzz_NAME(data, size) returns 1 when the reader took the input and 0 when it refused it; anything
 * else that happens is a finding. Entry for libFuzzer: entry.c. The same targets run on seeds and
 * on kept cases in tests/t-tests-fuzz-cases.c. */
#ifndef REACH_TESTS_FUZZ_H
#define REACH_TESTS_FUZZ_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

struct tensors;

#define TARGET(name, bytes) int fuzz_##name(const uint8_t *data, size_t size);
#include "tests/fuzz/targets.h"
#undef TARGET

/* Some inputs are several texts or files: what stands between them. */
#define FUZZ_BETWEEN "\n%%%%%%\n"

struct fuzz_part {
    const uint8_t *data;
    size_t size;
};
/* Splits an input into at most `most` parts and returns how many there are; those that are not
 * there are empty. */
size_t fuzz_split(struct fuzz_part *parts, size_t most, const uint8_t *data, size_t size);

/* A copy with a NUL behind it; caller frees. */
char *fuzz_text(const uint8_t *data, size_t size);

/* A folder of the program's own, removed when it ends, and a file written there (whose path is
 * valid as scratch_path's is). */
const char *fuzz_folder(void);
const char *fuzz_write(const char *name, const uint8_t *data, size_t size);

/* Reads elements at both ends of every tensor, which must lie where the store says. */
void fuzz_read_tensors(struct tensors *t);

/* Writes valid inputs for every target as FOLDER/TARGET/NAME, most of them made of tests/goldens;
 * FOLDER is made. -1: one of the goldens is missing. */
int fuzz_seeds(const char *folder, struct error *e) MUST_USE;

#endif
