/* Attention on tiles in tf32: operands of all products are rounded to 10 bits of mantissa, ties away from 0; sums and softmax in
 * float. Tiles are twice as large in bytes as those of bf16, hence the smaller ones. */
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_reverse.cuh"

template <int SIZE, int OUT, int GROUPS, int COLUMNS, int WARPS = 4>
using products = matrix_products<type_tf32, SIZE, OUT, GROUPS, COLUMNS, WARPS>;

template <int FEATURE>
static void forward(const attention_arguments *a, cudaStream_t stream)
{
    if (a->head_size <= 64)
        attention_forward_launch<products<64, 64, 2, 64>, FEATURE, 2, false, 2>(a, stream);
    else
        attention_forward_launch<products<128, 128, 1, 32>, FEATURE, 2, false, 2>(a, stream);
}

template <int FEATURE>
static void reverse(const attention_arguments *a, cudaStream_t stream)
{
    if (a->head_size <= 64) {
        attention_reverse_keys_launch<products<64, 64, FEATURE == FEATURE_GENERAL ? 1 : 2, FEATURE == FEATURE_GENERAL ? 64 : 32>,
                                      FEATURE, 2, 2>(a, stream);
        attention_reverse_queries_launch<products<64, 64, 2, 32>, FEATURE, 2, false, 2>(a, stream);
    } else {
        attention_reverse_keys_launch<products<128, 128, 1, 32>, FEATURE, 1, 2>(a, stream);
        attention_reverse_queries_launch<products<128, 128, 1, 32>, FEATURE, 1, false, 2>(a, stream);
    }
}

void attention_forward_tf32(const attention_arguments *a, enum attention_feature feature, cudaStream_t stream)
{
    if (a->head_size > 128)
        attention_forward_launch<products<256, 256, 1, 32>, FEATURE_GENERAL, 1, false, 1>(a, stream);
    else if (feature == FEATURE_PLAIN)
        forward<FEATURE_PLAIN>(a, stream);
    else if (feature == FEATURE_BIAS)
        forward<FEATURE_BIAS>(a, stream);
    else
        forward<FEATURE_GENERAL>(a, stream);
}

void attention_reverse_tf32(const attention_arguments *a, enum attention_feature feature, cudaStream_t stream)
{
    if (a->head_size > 128) {
        attention_reverse_keys_launch<products<256, 128, 1, 32, 2>, FEATURE_GENERAL, 1, 1>(a, stream);
        attention_reverse_queries_launch<products<256, 256, 1, 32, 2>, FEATURE_GENERAL, 1, false, 1>(a, stream);
    } else if (feature == FEATURE_PLAIN)
        reverse<FEATURE_PLAIN>(a, stream);
    else if (feature == FEATURE_BIAS)
        reverse<FEATURE_BIAS>(a, stream);
    else
        reverse<FEATURE_GENERAL>(a, stream);
}
