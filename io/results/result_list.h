/* Shared by the two halves of the reader of erf.h5: the datasets, and what the listing process
 * reports about each group. Private to this folder. */
#ifndef REACH_IO_RESULTS_RESULT_LIST_H
#define REACH_IO_RESULTS_RESULT_LIST_H

#include "io/formats/hdf.h"
#include "io/results/result.h"

#include <stdio.h>

/* The datasets of a group: their dimensions, in this order; the optional ones, and those of the
 * main group alone. */
enum {
    NORM,
    LOGPROB,
    STATUS,
    START,
    S,
    C,
    C_LO,
    C_HI,
    COMPLETENESS,
    ATTENTION_HIGH,
    ATTENTION_LOW,
    LOG_DECAY,
    LOG_DECAY_HIGH,
    LOG_DECAY_LOW,
    TOKENS,
    PIECE_ID,
    PIECE_END,
    PIECE_BYTES,
    DATASETS
};
enum {
    BY_HEAD = 1 /* layers, heads */,
    BY_SEGMENT = 2,
    BY_POSITION = 4,
    PAIRS = 8,
    OPTIONAL = 16,
    OF_MODEL = 32,
    BY_TOKEN = 64,
    BY_PIECE = 128,
    BY_BYTE = 256,
    BY_RECURRENCE = 512 /* layers, heads of recurrences */
};
struct result_dataset {
    const char *name;
    int dimensions;
    size_t element_bytes; /* in memory */
};
extern const struct result_dataset result_datasets[DATASETS];

/* What the listing process reports about a group. Its attributes follow, names and values, ended by
 * an empty name. All texts are their size (uint64_t) and the bytes. Format, version and command
 * come before the groups. */
struct result_row {
    char name[sizeof((struct result_model *)0)->name];
    uint64_t target, layer; /* 0, 0: the main group */
    uint64_t segments, positions, layers, heads, recurrence_heads, wide, pieces, bytes;
    uint64_t address[DATASETS]; /* in the file; 0: absent */
};

/* One group of the file. */
struct result_group {
    size_t model, field; /* indices of where it is read to */
    uint64_t address[DATASETS];
};

struct result_data {
    const struct hdf_file *file;
    struct result *out;
    struct result_group *groups;
    size_t group_count;
};

/* result_heads.c: starts the listing process and reads its report: the result without its data, and
 * its groups. */
int result_read_heads_of(struct result_data *d, struct error *e) MUST_USE;

/* result_list.c, for confine(): lists `context`, a struct hdf_file. */
int result_list(FILE *out, void *context, struct error *e);

#endif
