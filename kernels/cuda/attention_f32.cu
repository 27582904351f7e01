/* Attention on tiles in float throughout: fused multiply-add, no matrix units. One form serves all
 * features, as the products take most of the time. Above 256 two blocks share the columns and
 * compute the scores each. A form that needs more than 99 KiB of shared
 * memory is followed by a smaller one. */
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_reverse.cuh"

template <int SIZE, int COLUMNS, int WARPS>
using products = fused_products < type_f32,
      SIZE, SIZE<256 ? SIZE : 256, COLUMNS, WARPS>;

template <int SIZE, int COLUMNS, int WARPS, int STAGES, int BLOCKS>
static int forward(const attention_arguments *a, cudaStream_t stream)
{
    return attention_forward_launch<products<SIZE, COLUMNS, WARPS>, FEATURE_GENERAL, STAGES, false,
                                    BLOCKS>(a, stream);
}

template <int SIZE, int COLUMNS, int WARPS, int BLOCKS>
static int reverse_keys(const attention_arguments *a, cudaStream_t stream)
{
    return attention_reverse_keys_launch<products<SIZE, COLUMNS, WARPS>, FEATURE_GENERAL, 1,
                                         BLOCKS>(a, stream);
}

template <int SIZE, int COLUMNS, int WARPS, int BLOCKS>
static int reverse_queries(const attention_arguments *a, cudaStream_t stream)
{
    return attention_reverse_queries_launch<products<SIZE, COLUMNS, WARPS>, FEATURE_GENERAL, 1,
                                            false, BLOCKS>(a, stream);
}

int attention_forward_f32(const attention_arguments *a, enum attention_feature, cudaStream_t stream)
{
    if (a->widest <= 64)
        return forward<64, 64, 8, 2, 2>(a, stream) ? forward<64, 64, 8, 1, 1>(a, stream) : 0;
    if (a->widest <= 128)
        return forward<128, 64, 8, 1, 2>(a, stream) ? forward<128, 32, 8, 1, 1>(a, stream) : 0;
    if (a->widest > 256)
        return forward<512, 16, 8, 1, 1>(a, stream) ? forward<512, 16, 2, 1, 1>(a, stream) : 0;
    return forward<256, 32, 8, 1, 1>(a, stream) ? forward<256, 16, 4, 1, 1>(a, stream) : 0;
}

static int keys_part(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest <= 64)
        return reverse_keys<64, 32, 8, 2>(a, stream);
    if (a->widest <= 128)
        return reverse_keys<128, 32, 8, 2>(a, stream) ? reverse_keys<128, 32, 4, 1>(a, stream) : 0;
    if (a->widest > 256)
        return reverse_keys<512, 16, 4, 1>(a, stream) ? reverse_keys<512, 16, 1, 1>(a, stream) : 0;
    return reverse_keys<256, 32, 4, 1>(a, stream) ? reverse_keys<256, 16, 2, 1>(a, stream) : 0;
}

static int queries_part(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest <= 64)
        return reverse_queries<64, 64, 8, 2>(a, stream);
    if (a->widest <= 128)
        return reverse_queries<128, 32, 8, 2>(a, stream) ? reverse_queries<128, 32, 4, 1>(a, stream)
                                                         : 0;
    if (a->widest > 256)
        return reverse_queries<512, 16, 4, 1>(a, stream) ? reverse_queries<512, 16, 1, 1>(a, stream)
                                                         : 0;
    return reverse_queries<256, 32, 4, 1>(a, stream) ? reverse_queries<256, 16, 2, 1>(a, stream)
                                                     : 0;
}

int attention_reverse_f32(const attention_arguments *a, enum attention_feature, cudaStream_t stream)
{
    int lack = queries_part(a, stream);
    return lack ? lack : keys_part(a, stream);
}
