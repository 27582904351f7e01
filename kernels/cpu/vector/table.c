/* The table of this instruction set. */
#include "kernels/cpu/vector/kernels.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const struct vector_kernels VECTOR_NAME(vector_kernels) = {
    .isa = TEXT(VECTOR_ISA),
    .attention = attention_forward,
    .attention_reverse = attention_reverse_head,
    .attention_mass = attention_mass_head,
    .attention_scratch = attention_scratch_floats,
    .recur = recur_head,
    .recur_reverse = recur_reverse_span,
    .recur_last = recur_last_head,
    .recur_last_begin = recur_last_head_begin,
    .recur_last_reverse = recur_last_reverse_span,
    .recur_pairs = recur_chunk_pairs,
    .recur_pairs_floats = recur_chunk_pairs_floats,
    .recur_floats = recur_head_floats,
    .recur_reverse_floats = recur_reverse_span_floats,
    .recur_last_floats = recur_last_head_floats,
    .recur_last_carried = recur_last_head_carried,
    .scan = scan_channels,
    .scan_reverse = scan_channels_reverse,
    .scan_floats = scan_channels_floats,
    .norm = norm_row,
    .norm_reverse = norm_row_reverse,
    .activate = activate_span,
    .activate_reverse = activate_span_reverse,
    .xielu = xielu_span,
    .xielu_reverse = xielu_span_reverse,
    .convolve = convolve_row,
    .convolve_reverse = convolve_row_reverse,
    .convolve_plain = convolve_plain_row,
    .convolve_plain_reverse = convolve_plain_row_reverse,
    .rotate_half = rotate_half_head,
    .rotate_interleaved = rotate_interleaved_head,
    .add = add_span,
    .add_scaled = add_scaled_span,
    .dot = dot_span,
    .dot_double = dot_span_double,
    .add_scaled_double = add_scaled_span_double,
    .round_bf16 = round_span_bf16,
#ifdef __AVX512BF16__
    .multiply_bf16 = multiply_bf16_tiles,
#endif
    .exp = exp_span,
    .tanh = tanh_span,
};
