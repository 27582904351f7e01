/* The fast set in float for ordinary processors: oneDNN for matrix products, our own vectorised
 * kernels for the rest, OpenMP over fixed tiles. */
#ifndef REACH_KERNELS_CPU_H
#define REACH_KERNELS_CPU_H

#include "kernels/ops.h"

/* Opens the set with the best instruction set of this machine, or the one named by the environment
 * variable REACH_ISA (generic, avx2, avx512; in bf16 and bf16x3 also avx512_bf16, the best on AMD
 * processors that have it, and amx). NULL on failure. Freed by k->close. */
struct kernels *cpu_open(struct error *e) MUST_USE;
/* The same in bf16: a layer's matrix products round both operands to bf16, to nearest, and sum in
 * float; with avx512_bf16 and amx so does attention. Everything else, including the head, is in
 * float. */
struct kernels *cpu_open_bf16(struct error *e) MUST_USE;
/* The same with operands as sums of two numbers of bf16, high + low (io/element.h): a product is
 * high high + high low + low high, summed in float. Everything else, attention too, is in float. */
struct kernels *cpu_open_bf16x3(struct error *e) MUST_USE;
/* Always 1: the generic variant runs anywhere. */
int cpu_usable(void);

#endif
