/* Two rules that predict whether a model keeps its loss on longer texts. Their thresholds were set
 * when eight models had been measured; doc/studies/rules.md says how they did on later ones, and
 * building it fails if the counts below are wrong. */
#ifndef REACH_ANALYZE_EXTRAPOLATION_H
#define REACH_ANALYZE_EXTRAPOLATION_H

#include <stddef.h>

/* By the measured field: loss is kept if ERF(0.5) is at most this share of the training length. */
#define EXTRAPOLATION_FIELD 0.35
#define EXTRAPOLATION_FIELD_RIGHT 22
#define EXTRAPOLATION_FIELD_TESTED 23

/* By the formula: the loss is kept if at least this share of the mean kernel exp(b), convolved over
 * the layers, is within the training length. */
#define EXTRAPOLATION_KERNEL 0.3
#define EXTRAPOLATION_KERNEL_RIGHT 17
#define EXTRAPOLATION_KERNEL_TESTED 20

/* Distances over which the kernel is taken, in training lengths; and the smallest number of inputs
 * for a measured field. */
enum { EXTRAPOLATION_DISTANCES = 8, EXTRAPOLATION_INPUTS = 4 };

/* The first rule for ERF(0.5) = `half` tokens of `inputs`. 1: the loss is kept, 0: it is not, -1:
 * undecided, since the training length is unknown (0) or there are too few inputs. */
int extrapolation_by_field(size_t half, size_t inputs, size_t train_length);

/* The quantity of the second rule. kernel[k]: [distances] weights of each distance in a layer, not
 * negative, with any sum above zero; layers[k] such layers, 1 or more each. Returns the share of
 * the first `within` distances of their convolution over all layers, cut at `distances`. */
double extrapolation_share(const double *const *kernel, const int *layers, int kernels,
                           size_t distances, size_t within);

#endif
