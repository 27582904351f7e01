/* The sums of an adapter: a product of two small matrices on a large one. Private to io/. */
#ifndef REACH_IO_ADAPTERS_ADAPTER_PRODUCT_H
#define REACH_IO_ADAPTERS_ADAPTER_PRODUCT_H

#include "io/tensors/store.h"

/* The product left [rows, rank] times right [rank, columns], stored as it is or transposed, which
 * is added to a tensor of the base. left NULL: rank 1, left all ones; or with `index` (borrowed)
 * the rows of `right` take the place of these rows.
 *
 * magnitude (DoRA, Liu et al. 2024, equation 5): afterwards each output's vector of weights has
 * this length. [outputs], which are the rows of the base, or its columns where `transposed`. NULL:
 * the sum as it is. */
struct product {
    struct tensor *onto;
    const struct tensor *left, *right, *magnitude;
    const size_t *index;
    int transposed;
    double scale;
};

/* Bytes of the resulting tensor; -1: the number overflows. */
int product_bytes(size_t *bytes, const struct product *p) MUST_USE;

/* Writes the tensor that replaces the base's to `out`, zeroed memory of the base. Numbers that are
 * not finite are an error that names `file`, the adapter's. */
int product_merge(const struct product *p, struct tensors *base, const struct mapped *file,
                  void *out, struct error *e) MUST_USE;

#endif
