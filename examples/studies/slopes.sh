# ALiBi: shifted and equal slopes ([A] figure 5, table 1).
. examples/studies/common.sh
study slopes "ALiBi with shifted slopes and with equal ones"
say <<'T'
ALiBi adds -m_h t to the logits at distance t, with another slope m_h for each head, 2^-(8h/H + delta). *Dissecting Transformer Length Extrapolation* (section 4.2) shifts all slopes by
delta, and also gives every head the same slope 2^-s: the smaller the slope, the wider the field; is there a width beyond which the model
fails past its training length, as with windows?
T
erf shift alibi-minus-3 alibi alibi-plus-2 alibi-plus-4 alibi-plus-6 alibi-plus-8
ppl shift-ppl alibi-minus-3 alibi alibi-plus-2 alibi-plus-4 alibi-plus-6 alibi-plus-8
fields "$work/shift/summary.csv" "$work/shift-ppl/ppl.csv" | table
figure "$work/shift/erf.png" "Cumulative gradients: slopes shifted by delta"
figure "$work/shift-ppl/ppl.png" "Perplexity of the last byte against context: slopes shifted by delta"
erf equal alibi-equal-0 alibi-equal-2 alibi-equal-4 alibi-equal-6 alibi-equal-8
ppl equal-ppl alibi-equal-0 alibi-equal-2 alibi-equal-4 alibi-equal-6 alibi-equal-8
fields "$work/equal/summary.csv" "$work/equal-ppl/ppl.csv" | table
figure "$work/equal/erf.png" "Cumulative gradients: every head has the slope 2^-s"
figure "$work/equal-ppl/ppl.png" "Perplexity of the last byte against context: every head has the slope 2^-s"
