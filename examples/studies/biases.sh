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
say <<'T'
## What was found

Sandwich and the log curve fitted to it have one curve: 80 and 79 % of the gradient within the last 128 tokens, then a long thin tail, and fields of 1813 and 1844 tokens. Both lose little far beyond the training
length, 2.0 and 1.2 % at 2048 bytes, though neither field is covered by it and neither sum converges.

The two forms of KERPLE learn their parameters, and learn to be narrow: fields of 47 and 11 tokens, within the training length, and perplexity the same everywhere. The logarithmic form keeps a tail that falls
as a power of the distance (a straight line on the right of the figure).

T5 fails: its last bucket holds all distances from 113 on, training saw the first 15 of them, and at 2048 bytes most of the text is in that bucket.

Departures. In the paper all of these have the shape of Sandwich, with a tail through the whole text, and T5 works to a few times the training length. Here KERPLE has no such tail, and T5 loses 7 % at twice the
training length already. The paper's Sandwich gains from longer texts, on ArXiv up to four times the training length; this one does not.
T
