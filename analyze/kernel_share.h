/* How much of the weight that the biases of all layers give to distances is near: a kernel exp(b)
 * for each kind of layer, convolved over the layers. */
#ifndef REACH_ANALYZE_KERNEL_SHARE_H
#define REACH_ANALYZE_KERNEL_SHARE_H

#include <stddef.h>

/* kernel[k]: [distances] weights of each distance in a layer, not negative, with any sum above
 * zero; layers[k] such layers, 1 or more each. Returns the share of the first `within` distances of
 * their convolution over all layers, cut at `distances`. */
double kernel_share(const double *const *kernel, const int *layers, int kernels, size_t distances,
                    size_t within);

#endif
