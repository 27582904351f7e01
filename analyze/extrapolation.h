/* Two rules that say, before longer texts are tried, whether a model will keep its loss on them. Their thresholds were written
 * down when eight models had been measured; doc/studies/rules.md says how they did on those measured since, and building it fails
 * where the counts below are others. */
#ifndef REACH_ANALYZE_EXTRAPOLATION_H
#define REACH_ANALYZE_EXTRAPOLATION_H

#include <stddef.h>

/* By the measured field: the loss is kept where ERF(0.5) is at most this share of the training length. */
#define EXTRAPOLATION_FIELD 0.35
#define EXTRAPOLATION_FIELD_RIGHT 22
#define EXTRAPOLATION_FIELD_TESTED 23

/* By the formula: it is kept where at least this share of the mean kernel exp(b), convolved over the layers, lies within it. */
#define EXTRAPOLATION_KERNEL 0.3
#define EXTRAPOLATION_KERNEL_RIGHT 17
#define EXTRAPOLATION_KERNEL_TESTED 20

/* Distances that the kernel is taken over, in training lengths; and the least number of inputs that the field is measured over.
 */
enum { EXTRAPOLATION_DISTANCES = 8, EXTRAPOLATION_INPUTS = 4 };

/* The first rule for ERF(0.5) = `half` tokens of `inputs`. 1: the loss is kept, 0: it is not, -1: no say, as the training length
 * is unknown (0) or the inputs are too few. */
int extrapolation_by_field(size_t half, size_t inputs, size_t train_length);

/* The number that the second rule is about. kernel[k]: [distances] what a layer takes from each distance, not negative, of any
 * sum above zero; layers[k] of them, 1 or more each. Of their convolution over all layers, cut at `distances`, the share of the
 * first `within`. */
double extrapolation_share(const double *const *kernel, const int *layers, int kernels, size_t distances, size_t within);

#endif
