# Windows: the ladder of fields ([A] figure 4, table 1).
. examples/studies/common.sh
study windows "How the field grows with the attention window"
say <<'T'
The question of *Dissecting Transformer Length Extrapolation* (section 4): a layer with a window of w lets w tokens through, R layers at most R (w - 1) + 1 of
them. How much of that do trained models use, and at which field do they stop to work on texts longer than those that they were trained on?

Five models of 4 layers, trained on 128 bytes at a time; they differ in the window alone and have no other position encoding.
T
erf erf window-8 window-16 window-32 window-64 window-128
ppl ppl window-8 window-16 window-32 window-64 window-128
fields "$work/erf/summary.csv" "$work/ppl/ppl.csv" | awk -F '\t' 'BEGIN { OFS = "\t" }
    NR == 1 { $2 = "cone 4 (w - 1) + 1\t" $2 } NR > 1 { w = substr($1, 8); $2 = 4 * (w - 1) + 1 "\t" $2 } { print }' | table
figure "$work/erf/erf.png" "Cumulative gradients of the five models"
figure "$work/ppl/ppl.png" "Perplexity of the last byte against context"
