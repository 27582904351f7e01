/* The fast set in float for ordinary processors: oneDNN for matrix products, own vectorised kernels for the rest, OpenMP over
 * fixed tiles. */
#ifndef REACH_KERNELS_CPU_H
#define REACH_KERNELS_CPU_H

#include "kernels/ops.h"

/* Opens the set with the best instruction set of this machine, or the one that the environment variable REACH_ISA names (generic,
 * avx2, avx512; in bf16 avx512_bf16 too, the best on AMD's processors that have it). NULL on failure. Freed by k->close. */
struct kernels *cpu_open(struct error *e) MUST_USE;
/* The same in bf16: a layer's matrix products round both operands to bf16, to nearest, and sum in float; with avx512_bf16 so do
 * those of attention. All else is as in float, the head too. */
struct kernels *cpu_open_bf16(struct error *e) MUST_USE;
/* 1: the generic variant runs anywhere. */
int cpu_usable(void);

#endif
