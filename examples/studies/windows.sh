# Windows: the ladder of fields ([A] figure 4, table 1).
. examples/studies/common.sh
study windows "How the field grows with the attention window"
say <<'T'
The question of *Dissecting Transformer Length Extrapolation* (section 4): a layer with a window of w lets w tokens through, R layers at most R (w - 1) + 1 of
them. How much of that do trained models use, and at which field do they stop working on texts longer than those that they were trained on?

Five models of 4 layers, trained on 128 bytes at a time; they differ in the window alone and have no other position encoding.
T
erf erf window-8 window-16 window-32 window-64 window-128
ppl ppl window-8 window-16 window-32 window-64 window-128
fields "$work/erf/summary.csv" "$work/ppl/ppl.csv" | awk -F '\t' 'BEGIN { OFS = "\t" }
    NR == 1 { $2 = "cone 4 (w - 1) + 1\t" $2 } NR > 1 { w = substr($1, 8); $2 = 4 * (w - 1) + 1 "\t" $2 } { print }' | table
figure "$work/erf/erf.png" "Cumulative gradients of the five models"
figure "$work/ppl/ppl.png" "Perplexity of the last byte against context"
say <<'T'
## What was found

The trained models use 57 to 85 % of what their windows let through, and the share grows where the window is long enough for training to fill it. Windows of 8, 16 and 32 have fields within the
training length (19, 37, 78 of 128): their perplexity stays the same to the last digit printed. Windows of 64 and 128 have fields beyond it (214, 363): perplexity rises by 1.39 and 3.05 times. So
the line between the models that extrapolate and those that do not runs where ERF = L_tr, as the paper says, and not where the window equals the training length: window 64 is half of it.

Beyond the cone nothing can change, and nothing does: the perplexity of window 64 is flat from 256 on.

Departures. In the paper a wider window has the lower perplexity within L_tr; here window 8 has the lowest. Without any other knowledge of positions, a narrow window tells a model of four layers
where it is, and the wide ones have not learned that in 1300 steps.
T
