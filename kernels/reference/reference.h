/* Internals of the reference set, compiled twice, and how other sets start from its entries. */
#ifndef REACH_KERNELS_REFERENCE_H
#define REACH_KERNELS_REFERENCE_H

#include "kernels/shared.h"

#include <math.h>

/* Fill every entry of a table from kernels_allocate. A faster set in ordinary memory starts from
 * the first and overrides. */
void reference_fill_f32(struct kernels *k);
void reference_fill_f64(struct kernels *k);

/* -- the files of the reference set, compiled once with float and once with double as `real` -- */
#if defined(REFERENCE_F32)
typedef float real;
#define REFERENCE_DTYPE "f32"
#define REFERENCE_ELEMENT ELEMENT_F32
#define weight_parts_read weight_parts_read_f32
#define reference_fill reference_fill_f32
#define fill_memory fill_memory_f32
#define fill_weight fill_weight_f32
#define fill_rows fill_rows_f32
#define fill_move fill_move_f32
#define fill_linear fill_linear_f32
#define fill_norm fill_norm_f32
#define fill_activation fill_activation_f32
#define fill_experts fill_experts_f32
#define fill_convolution fill_convolution_f32
#define fill_attention fill_attention_f32
#define fill_recurrence fill_recurrence_f32
#define fill_scan fill_scan_f32
#define fill_lru fill_lru_f32
#define fill_wkv fill_wkv_f32
#define fill_head fill_head_f32
#elif defined(REFERENCE_F64)
typedef double real;
#define REFERENCE_DTYPE "f64"
#define REFERENCE_ELEMENT ELEMENT_F64
#define weight_parts_read weight_parts_read_f64
#define reference_fill reference_fill_f64
#define fill_memory fill_memory_f64
#define fill_weight fill_weight_f64
#define fill_rows fill_rows_f64
#define fill_move fill_move_f64
#define fill_linear fill_linear_f64
#define fill_norm fill_norm_f64
#define fill_activation fill_activation_f64
#define fill_experts fill_experts_f64
#define fill_convolution fill_convolution_f64
#define fill_attention fill_attention_f64
#define fill_recurrence fill_recurrence_f64
#define fill_scan fill_scan_f64
#define fill_lru fill_lru_f64
#define fill_wkv fill_wkv_f64
#define fill_head fill_head_f64
#endif

#if defined(REFERENCE_F32) || defined(REFERENCE_F64)
static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Each fills the entries of struct kernels that its file defines. */
void fill_memory(struct kernels *k); /* create .. scratch_bytes */
void fill_weight(struct kernels *k); /* weight_load, weight_free, weight_bytes */
void fill_rows(
    struct kernels *k); /* embed, rotate, scale_queries, scale, clip, clip_reverse, row_norms */
void fill_move(struct kernels *k); /* copy, add, tail, tail_reverse, join */
void fill_linear(struct kernels *k); /* linear, linear_reverse, linear_runs, linear_runs_reverse */
void fill_norm(struct kernels *k); /* norm, norm_reverse, norm_heads, norm_heads_reverse */
void fill_activation(struct kernels *k); /* activate, xielu, and their reverse */
void fill_experts(struct kernels *k); /* route, gather, combine, and their reverse; weigh_reverse */
void fill_convolution(struct kernels *k); /* convolve, convolve_reverse */
void fill_attention(struct kernels *k); /* attention_create, attention_free, attention,
                                           attention_reverse, attention_mass */
void fill_recurrence(struct kernels *k); /* gate, recur, and their reverse */
void fill_scan(struct kernels *k); /* scan, scan_reverse */
void fill_lru(struct kernels *k); /* lru, lru_reverse */
void fill_wkv(struct kernels *k); /* wkv, wkv_reverse */
void fill_head(struct kernels *k); /* head, head_rows */
#endif

#endif
