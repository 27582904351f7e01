/* The comparison of numbers that all tests share. Each function returns 0 when all is well, or
 * prints the first offence and returns -1. */
#ifndef REACH_TESTS_COMPARE_H
#define REACH_TESTS_COMPARE_H

#include <stddef.h>

/* |got - want| <= absolute + relative |want| for every element. A non-finite `got` fails first,
 * unless `want` is the same infinity; so does a NaN anywhere. */
int compare_values(const char *what, const double *got, const double *want, size_t count,
                   double absolute, double relative);

/* |got - want| <= factor * bound[i] for every element: for tolerances that follow the size of each
 * element's sum. Non-finite values as above. */
int compare_bounded(const char *what, const double *got, const double *want, const double *bound,
                    size_t count, double factor);

/* The same bits, apart from NaN, which fails. */
int compare_exact(const char *what, const double *got, const double *want, size_t count);

#endif
