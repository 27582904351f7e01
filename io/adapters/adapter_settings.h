/* adapter_config.json: the factor with which each pair of matrices is added. Private to io/. */
#ifndef REACH_IO_ADAPTERS_ADAPTER_SETTINGS_H
#define REACH_IO_ADAPTERS_ADAPTER_SETTINGS_H

#include "io/formats/json.h"

#include <stddef.h>

/* Values for modules whose names match a pattern, in the order of the file. */
struct adapter_rule {
    void *pattern;
    double value;
};
struct adapter_rules {
    struct adapter_rule *rule;
    size_t count;
};

struct adapter_settings {
    double alpha;
    long rank;
    int root; /* 1: alpha is divided by the square root of the rank (rsLoRA) */
    int has_bias; /* 1: the adapter also adds a bias */
    int has_magnitudes; /* 1: DoRA */
    int has_tokens; /* 1: trainable_token_indices is on */
    struct adapter_rules ranks, alphas;
    struct config *config; /* borrowed */
};

/* Reads LoRA's settings. Refuses, by name, every other kind of adapter and every active key that
 * might change a number. The caller frees the settings, also after a failure. */
int adapter_settings_read(struct adapter_settings *out, struct config *c, struct error *e) MUST_USE;
void adapter_settings_free(struct adapter_settings *s);

/* The rank of a module's matrices, and the factor on their product. MODULE is its name in the base
 * model. */
int adapter_settings_of(long *rank, double *scale, const struct adapter_settings *s,
                        const char *module, struct error *e) MUST_USE;

/* The token ids [count] whose rows the adapter has for a table of this name
 * (trainable_token_indices: a list, or an object by names of tables). The caller frees *index. */
int adapter_settings_tokens(size_t **index, size_t *count, const struct adapter_settings *s,
                            const char *module, struct error *e) MUST_USE;

#endif
