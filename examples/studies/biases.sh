# Sandwich and its neighbours ([A] figure 11, section 6).
. examples/studies/common.sh
study biases "Sandwich, its smoothed form, KERPLE and T5"
say <<'T'
Encodings that are a bias b(t) of the distance alone. *Dissecting Transformer Length Extrapolation* (section 6, figure 11) finds that Sandwich, the log curve fitted to it, KERPLE and T5
have cumulative gradients of one shape: a steep part within the training length, and a long thin tail.
T
erf erf sandwich smoothed-sandwich kerple-log kerple-power t5
ppl ppl sandwich smoothed-sandwich kerple-log kerple-power t5
fields "$work/erf/summary.csv" "$work/ppl/ppl.csv" | table
figure "$work/erf/erf.png" "Cumulative gradients"
figure "$work/ppl/ppl.png" "Perplexity of the last byte against context"
