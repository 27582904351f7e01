# Failed models trained again at a length that covers their field ([A] section 5.2, table 2).
. examples/studies/common.sh
study fix "Mending a failed model by a longer training length"
say <<'T'
*Dissecting Transformer Length Extrapolation* (section 5.2) trains two failed models again, at a training length that covers their field: a window, and ALiBi with slopes shifted by 6. If the field
is what decides, both must work on longer texts then. Here: window 64 at 128 and at 256 bytes, ALiBi shifted by 6 at 128 and at 1024. All saw 5.3
million bytes.
T
erf erf window-64 window-64-train-256 alibi-plus-6 alibi-plus-6-train-1024
ppl ppl window-64 window-64-train-256 alibi-plus-6 alibi-plus-6-train-1024
fields "$work/erf/summary.csv" "$work/ppl/ppl.csv" | table
figure "$work/ppl/ppl.png" "Perplexity of the last byte against context"
figure "$work/erf/erf.png" "Cumulative gradients"
