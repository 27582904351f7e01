/* Attention on tiles in tf32: operands of all products are rounded to 10 bits of mantissa, ties
 * away from 0; sums and softmax in float. Tiles are twice as large in bytes as those of bf16, hence
 * the smaller ones. A form that needs more than 99 KiB of shared memory is followed by a smaller
 * one. */
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_reverse.cuh"

template <int SIZE, int OUT, int GROUPS, int COLUMNS, int WARPS = 4>
using products = matrix_products<type_tf32, SIZE, OUT, GROUPS, COLUMNS, WARPS>;

template <int FEATURE>
static int forward(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest > 64)
        return attention_forward_launch<products<128, 128, 1, 32>, FEATURE, 2, false, 2>(a, stream);
    int lack = attention_forward_launch<products<64, 64, 2, 64>, FEATURE, 2, false, 2>(a, stream);
    if constexpr (FEATURE == FEATURE_GENERAL)
        lack = lack
                   ? attention_forward_launch<products<64, 64, 2, 32>, FEATURE, 2, false, 2>(a,
                                                                                             stream)
                   : 0;
    return lack;
}

static int forward_wide(const attention_arguments *a, cudaStream_t stream)
{
    int lack =
        attention_forward_launch<products<256, 256, 1, 32>, FEATURE_GENERAL, 1, false, 1>(a,
                                                                                          stream);
    return lack ? attention_forward_launch<products<256, 256, 1, 16>, FEATURE_GENERAL, 1, false, 1>(
                      a, stream)
                : 0;
}

static int forward_widest(const attention_arguments *a, cudaStream_t stream)
{
    int lack =
        attention_forward_launch<products<512, 256, 1, 16>, FEATURE_GENERAL, 1, false, 1>(a,
                                                                                          stream);
    return lack ? attention_forward_launch<products<512, 256, 1, 16, 1>, FEATURE_GENERAL, 1, false,
                                           1>(a, stream)
                : 0;
}

template <int FEATURE>
static int reverse_keys(const attention_arguments *a, cudaStream_t stream)
{
    constexpr bool GENERAL = FEATURE == FEATURE_GENERAL;
    if (a->widest > 64)
        return attention_reverse_keys_launch<products<128, 128, 1, 32>, FEATURE, 1, 2>(a, stream);
    int lack = attention_reverse_keys_launch<products<64, 64, GENERAL ? 1 : 2, GENERAL ? 64 : 32>,
                                             FEATURE, 2, 2>(a, stream);
    if constexpr (GENERAL)
        lack = lack ? attention_reverse_keys_launch<products<64, 64, 1, 32>, FEATURE, 2, 2>(a,
                                                                                            stream)
                    : 0;
    return lack;
}

template <int FEATURE>
static int reverse_queries(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest > 64)
        return attention_reverse_queries_launch<products<128, 128, 1, 32>, FEATURE, 1, false, 2>(
            a, stream);
    int lack =
        attention_reverse_queries_launch<products<64, 64, 2, 32>, FEATURE, 2, false, 2>(a, stream);
    if constexpr (FEATURE == FEATURE_GENERAL)
        lack =
            lack ? attention_reverse_queries_launch<products<64, 64, 1, 32>, FEATURE, 2, false, 2>(
                       a, stream)
                 : 0;
    return lack;
}

template <int FEATURE>
static int reverse(const attention_arguments *a, cudaStream_t stream)
{
    int lack = reverse_queries<FEATURE>(a, stream);
    return lack ? lack : reverse_keys<FEATURE>(a, stream);
}

static int reverse_wide(const attention_arguments *a, cudaStream_t stream)
{
    int lack = attention_reverse_queries_launch<products<256, 256, 1, 32, 2>, FEATURE_GENERAL, 1,
                                                false, 1>(a, stream);
    lack = lack ? attention_reverse_queries_launch<products<256, 256, 1, 16, 2>, FEATURE_GENERAL, 1,
                                                   false, 1>(a, stream)
                : 0;
    if (lack)
        return lack;
    lack =
        attention_reverse_keys_launch<products<256, 128, 1, 32, 2>, FEATURE_GENERAL, 1, 1>(a,
                                                                                           stream);
    return lack
               ? attention_reverse_keys_launch<products<256, 128, 1, 16, 2>, FEATURE_GENERAL, 1, 1>(
                     a, stream)
               : 0;
}

static int reverse_widest(const attention_arguments *a, cudaStream_t stream)
{
    int lack = attention_reverse_queries_launch<products<512, 256, 1, 16, 2>, FEATURE_GENERAL, 1,
                                                false, 1>(a, stream);
    lack = lack ? attention_reverse_queries_launch<products<512, 256, 1, 16, 1>, FEATURE_GENERAL, 1,
                                                   false, 1>(a, stream)
                : 0;
    if (lack)
        return lack;
    lack =
        attention_reverse_keys_launch<products<512, 128, 1, 16, 2>, FEATURE_GENERAL, 1, 1>(a,
                                                                                           stream);
    return lack
               ? attention_reverse_keys_launch<products<512, 128, 1, 16, 1>, FEATURE_GENERAL, 1, 1>(
                     a, stream)
               : 0;
}

int attention_forward_tf32(const attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream)
{
    return a->widest > 256            ? forward_widest(a, stream)
           : a->widest > 128          ? forward_wide(a, stream)
           : feature == FEATURE_PLAIN ? forward<FEATURE_PLAIN>(a, stream)
           : feature == FEATURE_BIAS  ? forward<FEATURE_BIAS>(a, stream)
                                      : forward<FEATURE_GENERAL>(a, stream);
}

int attention_reverse_tf32(const attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream)
{
    return a->widest > 256            ? reverse_widest(a, stream)
           : a->widest > 128          ? reverse_wide(a, stream)
           : feature == FEATURE_PLAIN ? reverse<FEATURE_PLAIN>(a, stream)
           : feature == FEATURE_BIAS  ? reverse<FEATURE_BIAS>(a, stream)
                                      : reverse<FEATURE_GENERAL>(a, stream);
}
