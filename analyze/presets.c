/* The position biases of the papers, written in the formula language. Slopes are [A]'s 2^(-8h/H)
 * unless the name says otherwise.
 */
#include "analyze/formula.h"

#include <string.h>

/* t5: distance t < 16 has its own bucket, else the bucket is min(31, 16 + floor(16 ln(t/16) / ln
 * 8)): bucket 16 + k begins at the first integer t with t^16 >= 16^16 8^k. Those integers are
 * written out: exact at every border, and clear to an evaluator that must prove its result. */
#define T5_PARAMETERS \
    "w0,w1,w2,w3,w4,w5,w6,w7,w8,w9,w10,w11,w12,w13,w14,w15,w16,w17,w18,w19,w20,w21,w22,w23,w24," \
    "w25,w26,w27,w28,w29,w30,w31"
#define T5_BODY \
    "t<1?w0:t<2?w1:t<3?w2:t<4?w3:t<5?w4:t<6?w5:t<7?w6:t<8?w7:t<9?w8:t<10?w9:t<11?w10:t<12?w11:t<" \
    "13?w12:t<14?w13:t<15?w14:t<16?" \
    "w15:" \
    "t<19?w16:t<21?w17:t<24?w18:t<27?w19:t<31?w20:t<35?w21:t<40?w22:t<46?w23:t<52?w24:t<59?w25:t<" \
    "67?w26:" \
    "t<77?w27:t<87?w28:t<99?w29:t<113?w30:w31"

/* alibi_press: c is the nearest power of two not above H, found by comparisons, which are exact.
 * Heads past c take the odd places of the series for 2c. */
const struct formula_preset formula_presets[] = {
    {"alibi", "delta=0", "-2^-(8*h/H+delta)*t", "ALiBi, slope 2^-(8h/H + delta) [A]"},
    {"alibi_press", "delta=0,c=2^sum(i,1,30,2^i<=H)", "-2^-((h<=c?8*h/c:4*(2*(h-c)-1)/c)+delta)*t",
     "ALiBi with the slopes of released code, which differ when H is not a power of two"},
    {"alibi_equal", "s", "-2^-s*t", "ALiBi, slope 2^-s for all heads [A]"},
    {"window", "w", "t<w?0:-inf", "the last w tokens only"},
    {"kerple_log", "p,a", "-p*ln(1+a*t)", "KERPLE-log, p and a per head; converges if p > 1"},
    {"kerple_power", "p,a", "-a*t^p", "KERPLE-power, 0 < p <= 2"},
    {"sandwich", "dbar=128,first=0",
     "(sum(i,first,first+dbar/2-1,cos(t/10000^(2*i/dbar)))-dbar/2)/(8*h/H)",
     "Sandwich [A]; first=1 is the paper's printed index, first=0 its code's"},
    {"smoothed_sandwich", "", "(-0.825*ln(1+t)-0.8)*8/(8*h/H)",
     "Sandwich's log curve [A, section 6]"},
    {"t5", T5_PARAMETERS, T5_BODY,
     "T5, one value a bucket: 16 of one distance each, then logarithmic up to 128"},
    {"type1", "k=2^(-8*h/H)", "-ln(1+(k*t)^2)",
     "Type 1 [B]; k is the head's ALiBi slope unless set"},
    {"type2", "k=2^(-8*h/H)", "-ln(3+k*t)^2", "Type 2 [B]"},
    {"divergent_a", "k=2^(-8*h/H)", "-ln(1+k*t)", "does not converge [B]"},
    {"divergent_b", "k=2^(-8*h/H)", "-(ln(3+k*t)+ln(ln(3+k*t)))",
     "does not converge, by one logarithm less [B]"},
    {"retention", "", "ln(1-2^-(4+h))*t",
     "RetNet: its heads keep 1 - 2^-(4+h) of what they hold, each token [C]"},
    {"lightning", "factor=1.00001", "-factor*2^-(8*h/H)*t",
     "lightning attention: log decays are ALiBi's slopes times the layer's factor [D]"},
    {"none", "", "0", "no bias"},
};
const int formula_preset_count = sizeof formula_presets / sizeof formula_presets[0];

const struct formula_preset *formula_preset_find(const char *name)
{
    for (int i = 0; i < formula_preset_count; i++)
        if (strcmp(formula_presets[i].name, name) == 0)
            return &formula_presets[i];
    return NULL;
}
