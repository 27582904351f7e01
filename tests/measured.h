/* A model against the norms and log p of a folder of goldens. Failures end the test (cmocka's
 * fail). */
#ifndef REACH_TESTS_MEASURED_H
#define REACH_TESTS_MEASURED_H

/* Measures the checkpoint `file` on tokens.npy of the folder `expected`, with resident weights and
 * with those of one layer at a time; with REACH_CUDA on that device, where f64 is passed over.
 * Norms may differ from norm.npy by a share of the largest of their segment, log p from logprob.npy
 * absolutely. */
void measure_golden(const char *file, const char *expected, const char *dtype,
                    double norm_tolerance, double logprob_tolerance);

#endif
