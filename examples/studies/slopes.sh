# ALiBi: shifted and equal slopes ([A] figure 5, table 1).
. examples/studies/common.sh
study slopes "ALiBi with shifted slopes and with equal ones"
say <<'T'
ALiBi adds -m_h t to the logits at distance t, with another slope m_h for each head, 2^-(8h/H + delta). *Dissecting Transformer Length Extrapolation* (section 4.2) shifts all slopes by
delta, and also gives every head the same slope 2^-s: the smaller the slope, the wider the field; is there a width beyond which the model
fails past its training length, as with windows?
T
erf shift alibi-minus-3 alibi alibi-plus-2 alibi-plus-4 alibi-plus-6
ppl shift-ppl alibi-minus-3 alibi alibi-plus-2 alibi-plus-4 alibi-plus-6
fields "$work/shift/summary.csv" "$work/shift-ppl/ppl.csv" | table
figure "$work/shift/erf.png" "Cumulative gradients: slopes shifted by delta"
figure "$work/shift-ppl/ppl.png" "Perplexity of the last byte against context: slopes shifted by delta"
erf equal alibi-equal-0 alibi-equal-2 alibi-equal-4 alibi-equal-6 alibi-equal-8
ppl equal-ppl alibi-equal-0 alibi-equal-2 alibi-equal-4 alibi-equal-6 alibi-equal-8
fields "$work/equal/summary.csv" "$work/equal-ppl/ppl.csv" | table
figure "$work/equal/erf.png" "Cumulative gradients: every head has the slope 2^-s"
figure "$work/equal-ppl/ppl.png" "Perplexity of the last byte against context: every head has the slope 2^-s"
say <<'T'
## What was found

With equal slopes the rule of the paper holds to the letter: fields of 11, 26 and 100 tokens, within the 128 of training, and perplexity the same at every length; fields of 491 and 1516, and perplexity
2.7 and 3.3 times as high. Perplexity stops rising where the field ends: for 2^-6, ERF 491, it is the same from 512 on. A smaller slope is a wider window.

With shifted slopes the order is the same, field by field, but the line does not lie at L_tr: shifts of 0 and 2 have fields of 667 and 1833 tokens, and perplexity within 0.1 and 1.1 % of that at 128. From 4 on the models
fail. What differs between 2 and 4 is not ERF(0.99), 1833 against 1925, but how much lies within the training length: ERF(0.5) is 24 and 51, and at 128 tokens the curve has
passed 0.70 and 0.65. The threshold of 0.99 asks for a far tail, and a tail alone does little harm.

Departures. In the paper the wider fields have the lower perplexity within the training length, up to a point; here the narrowest are best at every length, as with windows: models this small, after 1300 steps,
gain more from knowing what is near. The paper's shift of -3 fails the rule and settles at 1024; here it keeps the rule, with a field of 120.
T
