/* Attention on tiles in float throughout: fused multiply-add, no matrix units. One form serves all features, as the products take
 * most of the time. */
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_reverse.cuh"

template <int SIZE, int COLUMNS, int WARPS>
using products = fused_products<type_f32, SIZE, SIZE, COLUMNS, WARPS>;

void attention_forward_f32(const attention_arguments *a, enum attention_feature, cudaStream_t stream)
{
    if (a->head_size <= 64)
        attention_forward_launch<products<64, 64, 8>, FEATURE_GENERAL, 2, false, 2>(a, stream);
    else if (a->head_size <= 128)
        attention_forward_launch<products<128, 64, 8>, FEATURE_GENERAL, 1, false, 2>(a, stream);
    else
        attention_forward_launch<products<256, 32, 8>, FEATURE_GENERAL, 1, false, 1>(a, stream);
}

void attention_reverse_f32(const attention_arguments *a, enum attention_feature, cudaStream_t stream)
{
    if (a->head_size <= 64) {
        attention_reverse_keys_launch<products<64, 32, 8>, FEATURE_GENERAL, 1, 2>(a, stream);
        attention_reverse_queries_launch<products<64, 64, 8>, FEATURE_GENERAL, 1, false, 2>(a, stream);
    } else if (a->head_size <= 128) {
        attention_reverse_keys_launch<products<128, 32, 8>, FEATURE_GENERAL, 1, 2>(a, stream);
        attention_reverse_queries_launch<products<128, 32, 8>, FEATURE_GENERAL, 1, false, 2>(a, stream);
    } else {
        attention_reverse_keys_launch<products<256, 32, 4>, FEATURE_GENERAL, 1, 1>(a, stream);
        attention_reverse_queries_launch<products<256, 32, 4>, FEATURE_GENERAL, 1, false, 1>(a, stream);
    }
}
