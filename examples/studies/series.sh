# Convergent against divergent biases, far beyond the training length ([B] table 4 and the section on validation).
. examples/studies/common.sh
study series "Convergent and divergent biases, to 64 times the training length"
say <<'T'
*Exploring Transformer Extrapolation* proves that attention to far tokens stays bounded if the sum of exp(b(t)) over all distances converges, and expects perplexity to stay
flat then; if it diverges, to grow without end. Type 1 and Type 2 converge; divergent a, -ln(1 + kt), and divergent b, with one logarithm more,
do not. ALiBi converges, and no bias at all is the plainest divergent sum.
T
run ppl $(paths type1 type2 alibi divergent-a divergent-b none) --text $NOVEL --context 128,512,2048,8192 --segments 50 -o "$work/far" --quiet --force
ppl ppl type1 type2 divergent-a divergent-b none
run trf $(paths type1 type2 alibi divergent-a divergent-b none) -o "$work/trf" --force
erf erf type1 type2 alibi divergent-a divergent-b none
{ columns "$work/trf/trf.csv" formula head length layers layer epsilon verdict trf_lo | sed 's/^/trf\t/'
  fields "$work/erf/summary.csv" "$work/far/ppl.csv" | sed 's/^/row\t/'; } | awk -F '\t' 'BEGIN { OFS = "\t" }
    $1 == "trf" && $4 == "inf" && $5 == 1 && $6 == 1 && $3 != "all" { verdict[$2] = $8; if ($9 != "" && $9 + 0 > trf[$2] + 0) trf[$2] = $9 }
    $1 == "trf" && $4 == "inf" && $3 == "all" && !($2 in verdict) { verdict[$2] = $8; if ($9 != "") trf[$2] = $9 }
    $1 == "row" { sub(/^row\t/, ""); $0 = $0
        line = ++n == 1 ? "sum\tTRF(0.01), widest head" : verdict[$1] "\t" ($1 in trf && trf[$1] != "" ? trf[$1] : "none")
        model = $1; sub(/^[^\t]*\t/, ""); print model, line, $0 }' | table
figure "$work/far/ppl.png" "Perplexity of the last byte against context"
figure "$work/erf/erf.png" "Cumulative gradients"
say <<'T'
## What was found

The line runs where the theorem puts it. The three encodings whose sum converges are as good at 8192 bytes, 64 times their training length, as at 128: the ratio is 0.99, 0.99 and 0.99. The three
whose sum diverges get worse: 1.18 for divergent b, 1.58 for divergent a, 2.47 for no bias at all. Divergent a and b still rise between 2048 and 8192, as the theorem expects of them, and the one that
diverges more slowly rises more slowly.

TRF and perplexity need not agree in length: Type 1 has heads whose theoretical field is 16277 tokens, far more than training ever showed, and extrapolates.

Departures. No bias at all does not grow without end: from 512 on it stays near 20, the level of a model that sees an average of everything. And the measured ERF(0.99) of the divergent biases, though it
comes close to the 2047 tokens there are, is not far above that of Type 1 in kind: a measured field is finite whatever the sum does, because the text is.
T
