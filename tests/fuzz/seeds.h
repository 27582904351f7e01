/* How seeds of the fuzz targets are written. Private to tests/fuzz/seeds*.c. */
#ifndef REACH_TESTS_FUZZ_SEEDS_H
#define REACH_TESTS_FUZZ_SEEDS_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>

#define GOLDENS "tests/goldens/"

enum { PATH_BYTES = 4096, SEED_BYTES_MAX = 1 << 20 };

/* Where seeds go, and the one that is being made. The first failure is kept, and nothing is done
 * from then on. */
struct sower {
    const char *folder;
    uint8_t *bytes; /* [SEED_BYTES_MAX] */
    size_t size;
    int failed;
    struct error *e;
};

void sower_add(struct sower *w, const void *bytes, size_t size);
void sower_text(struct sower *w, const char *text);
void sower_part(struct sower *w);
/* Adds the first `most` bytes of a file. */
void sower_file(struct sower *w, const char *path, size_t most);
void sower_path(char path[PATH_BYTES], struct sower *w, const char *target, const char *name);
/* Writes what was added. */
void sow(struct sower *w, const char *target, const char *name);
/* Files that their reader refuses, named so. */
void sow_refused(struct sower *w, const char *target, const char *const *paths, size_t count);
void sow_text(struct sower *w, const char *target, const char *name, const char *text);
/* Every file that the pattern names, by itself. */
void sow_files(struct sower *w, const char *target, const char *pattern);

/* seeds_text.c: of texts, tokens, results and formulas. */
void sow_tokenizers(struct sower *w);
void sow_pieces(struct sower *w);
void sow_tokens(struct sower *w);
void sow_result(struct sower *w);
void sow_journal(struct sower *w);
void sow_tables(struct sower *w);
void sow_reports(struct sower *w);
void sow_formulas(struct sower *w);

#endif
