/* What mixes the rows of a segment in place of attention: recurrences, scans, means by channel,
 * convolutions. Their operations are in ops.h. */
#ifndef REACH_KERNELS_MIXERS_H
#define REACH_KERNELS_MIXERS_H

#include <stddef.h>

struct weight; /* a parameter tensor in the set's own form */

/* A recurrence of one layer. Each head h carries a state S [key_size, value_size], zero before the
 * segment, from row to row:
 *     S_t = e^l_t S_(t-1) + k_t u_t^T     o_t = scale S_t^T q_t + skip v_t
 * with u_t = step_t v_t (Mamba-2: Dao, Gu 2024), or with `delta` the correction u_t = step_t (v_t -
 * e^l_t S_(t-1)^T k_t) (gated delta rule: Yang, Kautz, Hatamizadeh 2024). The log decay l_t <= 0
 * and step_t are numbers of the row and the head, its gates. With `by_channel` l_t has a number for
 * each row of S, a channel of the key (Kimi Team 2025). Query and key are those of key head floor(h
 * key_heads / heads). */
struct recurrence {
    int heads, key_heads; /* key_heads divides heads; by_channel: equals it */
    int key_size, value_size; /* 1..RECURRENCE_SIZE_MOST */
    int delta, by_channel;
    double scale;
    const struct weight *skip; /* [heads] as a vector, or NULL: 0 */
};
enum { RECURRENCE_SIZE_MOST = 256 };
/* Numbers of a row: its queries, then keys, then values; and its output. */
static inline int recurrence_width(const struct recurrence *r)
{
    return 2 * r->key_heads * r->key_size + r->heads * r->value_size;
}
static inline int recurrence_o_width(const struct recurrence *r)
{
    return r->heads * r->value_size;
}
/* Log decays of a head in a row, and numbers of a row of gates: the log decays of all heads, then
 * their steps. */
static inline int recurrence_decays(const struct recurrence *r)
{
    return r->by_channel ? r->key_size : 1;
}
static inline int recurrence_gates_width(const struct recurrence *r)
{
    return r->heads * (recurrence_decays(r) + 1);
}
/* States of a head that are kept: the one after each RECURRENCE_SPAN of its `keys` rows, and after
 * the last row. */
enum { RECURRENCE_SPAN = 256 };
static inline size_t recurrence_states(int keys)
{
    return ((size_t)keys + RECURRENCE_SPAN - 1) / RECURRENCE_SPAN;
}

/* How the gates of a recurrence come from numbers a, and b, of the row and the head. With dt = ln(1
 * + e^(a + bias)), clamped to [low, high] (derivative 0 outside): l = -rate dt, and step is dt, or
 * with `write` > 0 write / (1 + e^-b). By channel (gate_channels), where nothing is clamped, also
 * with `floor` < 0 l = floor / (1 + e^-(rate (a + bias))). */
struct gating {
    const struct weight *rate; /* [heads] as a vector, > 0: e^A_log of checkpoints */
    const struct weight *bias; /* [heads], by channel [heads key_size], or NULL: 0 */
    double low, high; /* 0 and INFINITY: not clamped */
    double write; /* 0: there is no b */
    double floor; /* 0: none */
};

/* A scan of one layer: each channel c carries `size` states h, zero before the segment, each with a
 * decay of its own, from row to row:
 *     h_t[n] = e^(-dt_t[c] rate[n,c]) h_(t-1)[n] + v_t[c] B_t[n]
 *     o_t[c] = the sum over n of C_t[n] h_t[n] + skip[c] x_t[c]
 * Selective (Mamba: Gu, Dao 2023): dt = ln(1 + e^a) of the row's and the channel's step a, and v =
 * dt x. If not, the step is dt >= 0 itself, and v = x. B and C are numbers of the row, or of the
 * row and the channel's group, of `groups` equal ones. */
struct scan {
    int channels, size; /* size: 1..SCAN_SIZE_MOST */
    int groups; /* divides channels; 0: 1 */
    int selective;
    const struct weight *rate; /* [size, channels] as a vector, >= 0, or NULL: 1 */
    const struct weight *skip; /* [channels], or NULL: 0 */
};
enum { SCAN_SIZE_MOST = 256 };
static inline int scan_groups(const struct scan *s)
{
    return s->groups ? s->groups : 1;
}
/* Numbers of a row of B and C: of each group B, then C. */
static inline int scan_factors_width(const struct scan *s)
{
    return scan_groups(s) * 2 * s->size;
}
/* States of a channel that are kept: the one after each SCAN_SPAN of its `keys` rows that has rows
 * behind it. */
enum { SCAN_SPAN = 64 };
static inline size_t scan_states(int keys)
{
    return ((size_t)keys - 1) / SCAN_SPAN;
}

/* The time mixing of one layer by channel (Peng et al. 2023, "RWKV-4"): a mean of the values of
 * a row and of those before it,
 *     o_t = the sum over s <= t of p_s v_s     p_s proportional to e^(b(t - s) + k_s)
 * with b(0) = first and b(t) = -(t - 1) rate: softmax attention of each channel by itself. */
struct wkv {
    int channels;
    const struct weight *rate; /* [channels] as a vector, >= 0 */
    const struct weight *first; /* [channels] as a vector */
};

/* A convolution of each channel by itself over a row and the reach - 1 rows before it, those before
 * the segment being zeros: y_t = bias + the sum over j < reach of taps[j] x_(t - reach + 1 + j), so
 * that the last tap is of the row itself. */
struct convolution {
    int reach; /* 1..CONVOLUTION_MOST */
    int gated; /* 1: by b and c (`convolve`); 0: of x alone */
    const struct weight *taps, *bias; /* [width, reach] as a vector; [width], or NULL: 0 */
};
enum { CONVOLUTION_MOST = 8 };

#endif
