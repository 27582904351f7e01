/* Attention on tiles in bf16 (sums and softmax in float; P and dS are rounded to bf16 for the
 * second product): the tile sizes for each head size.
 *
 * Rows of a warp decide how busy shared memory is: a fragment of the other operand is read once for
 * each 16 or 32 of them. 32 rows need registers for 32 x head size / 32 sums a thread, so dK and dV
 * together at head size 128 leave 16, and at 256 two blocks share the columns. Above 256
 * blocks of half of the columns, or for dK and dV of a quarter, compute the scores each. Sizes are
 * such that no register spills. A form that needs more than 99 KiB of shared memory is followed by
 * a smaller one. */
#include "kernels/cuda/attention_forward.cuh"
#include "kernels/cuda/attention_reverse.cuh"

template <int SIZE, int OUT, int GROUPS, int COLUMNS, int WARPS = 4>
using products = matrix_products<type_bf16, SIZE, OUT, GROUPS, COLUMNS, WARPS>;

template <int FEATURE>
static int forward(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest <= 64)
        return attention_forward_launch<products<64, 64, 2, 64>, FEATURE, 2, true, 2>(a, stream);
    int lack = attention_forward_launch<products<128, 128, 2, 64>, FEATURE, 2, false, 2>(a, stream);
    if constexpr (FEATURE == FEATURE_GENERAL)
        lack =
            lack ? attention_forward_launch<products<128, 128, 2, 32>, FEATURE, 2, false, 2>(a,
                                                                                             stream)
                 : 0;
    return lack;
}

static int forward_wide(const attention_arguments *a, cudaStream_t stream)
{
    return attention_forward_launch<products<256, 256, 1, 32>, FEATURE_GENERAL, 2, false, 2>(
        a, stream);
}

static int forward_widest(const attention_arguments *a, cudaStream_t stream)
{
    int lack =
        attention_forward_launch<products<512, 256, 1, 32>, FEATURE_GENERAL, 2, false, 1>(a,
                                                                                          stream);
    return lack ? attention_forward_launch<products<512, 256, 1, 16>, FEATURE_GENERAL, 1, false, 1>(
                      a, stream)
                : 0;
}

template <int FEATURE>
static int reverse_keys(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest <= 64)
        return attention_reverse_keys_launch<products<64, 64, 2, 32>, FEATURE, 2, 2>(a, stream);
    return attention_reverse_keys_launch<
        products<128, 128, 1, FEATURE == FEATURE_GENERAL ? 32 : 64>, FEATURE, 2, 2>(a, stream);
}

template <int FEATURE>
static int reverse_queries(const attention_arguments *a, cudaStream_t stream)
{
    if (a->widest <= 64)
        return attention_reverse_queries_launch<products<64, 64, 2, 32>, FEATURE, 2, true, 2>(
            a, stream);
    int lack =
        attention_reverse_queries_launch<products<128, 128, 2, 32>, FEATURE, 2, false, 2>(a,
                                                                                          stream);
    if constexpr (FEATURE == FEATURE_GENERAL)
        lack =
            lack
                ? attention_reverse_queries_launch<products<128, 128, 1, 32>, FEATURE, 2, false, 2>(
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
    int lack =
        attention_reverse_queries_launch<products<256, 256, 1, 32>, FEATURE_GENERAL, 2, false, 1>(
            a, stream);
    lack = lack ? attention_reverse_queries_launch<products<256, 256, 1, 32>, FEATURE_GENERAL, 1,
                                                   false, 1>(a, stream)
                : 0;
    if (lack)
        return lack;
    lack = attention_reverse_keys_launch<products<256, 128, 1, 32>, FEATURE_GENERAL, 2, 1>(a,
                                                                                           stream);
    return lack ? attention_reverse_keys_launch<products<256, 128, 1, 32>, FEATURE_GENERAL, 1, 1>(
                      a, stream)
                : 0;
}

static int reverse_widest(const attention_arguments *a, cudaStream_t stream)
{
    int lack =
        attention_reverse_queries_launch<products<512, 256, 1, 32>, FEATURE_GENERAL, 1, false, 1>(
            a, stream);
    lack = lack ? attention_reverse_queries_launch<products<512, 256, 1, 16, 2>, FEATURE_GENERAL, 1,
                                                   false, 1>(a, stream)
                : 0;
    if (lack)
        return lack;
    lack = attention_reverse_keys_launch<products<512, 128, 1, 32>, FEATURE_GENERAL, 1, 1>(a,
                                                                                           stream);
    return lack
               ? attention_reverse_keys_launch<products<512, 128, 1, 16, 2>, FEATURE_GENERAL, 1, 1>(
                     a, stream)
               : 0;
}

int attention_forward_bf16(const attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream)
{
    return a->widest > 256            ? forward_widest(a, stream)
           : a->widest > 128          ? forward_wide(a, stream)
           : feature == FEATURE_PLAIN ? forward<FEATURE_PLAIN>(a, stream)
           : feature == FEATURE_BIAS  ? forward<FEATURE_BIAS>(a, stream)
                                      : forward<FEATURE_GENERAL>(a, stream);
}

int attention_reverse_bf16(const attention_arguments *a, enum attention_feature feature,
                           cudaStream_t stream)
{
    return a->widest > 256            ? reverse_widest(a, stream)
           : a->widest > 128          ? reverse_wide(a, stream)
           : feature == FEATURE_PLAIN ? reverse<FEATURE_PLAIN>(a, stream)
           : feature == FEATURE_BIAS  ? reverse<FEATURE_BIAS>(a, stream)
                                      : reverse<FEATURE_GENERAL>(a, stream);
}
