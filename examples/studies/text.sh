# A second kind of text ([A] appendix A: table 4, figures 12 and 13).
. examples/studies/common.sh
study text "The same ladders on another kind of text"
say <<'T'
Fields are a property of model and text. *Dissecting Transformer Length Extrapolation* (appendix A) repeats its ladders on a second corpus with models trained on it. Here the models stay those
trained on novels, and read the C sources of `reach` itself (examples/text/sources.c.gz): a text unlike any that they saw.
T
second() {
    into=$1 && shift
    run erf $(paths "$@") --text examples/text/sources.c.gz --segments $SEGMENTS -o "$work/$into" --quiet --force
}
second windows window-8 window-16 window-32 window-64 window-128
second slopes alibi-minus-3 alibi alibi-plus-2 alibi-plus-4 alibi-plus-6
{ printf 'model\tERF(0.99), novel\tinterval\tERF(0.99), C sources\tinterval\tPPL, novel\tPPL, C sources\n'
  for f in "$RESULTS"/windows/erf "$RESULTS"/slopes/shift "$work"/windows "$work"/slopes; do
      columns $f/summary.csv model threshold erf erf_lo erf_hi saturated ppl | awk -F '\t' '$2 == 0.99'
  done | awk -F '\t' '{ v = ($6 == 1 ? ">= " : "") $3 "\t[" $4 ", " $5 "]"
      if ($1 in first) printf "%s\t%s\t%s\t%.4g\t%.4g\n", $1, first[$1], v, ppl[$1], $7; else { first[$1] = v; ppl[$1] = $7 } }'; } | table
figure "$work/windows/erf.png" "Cumulative gradients on C sources: windows"
figure "$work/slopes/erf.png" "Cumulative gradients on C sources: shifted slopes"
say <<'T'
## What was found

The field belongs to the model far more than to the text. Perplexity on C is 7 to 24 times that on the novel (the models never saw any), and the fields move by 0 to 6 %: the order of both ladders is
the same, and the line at the training length leaves the same models on each side. The largest change, 1925 to 2036 tokens, is that of a model which fails at this length anyway; the models that fail
spread their gradient more evenly over a text that they cannot read.

Departures. The paper trains anew on its second corpus, and asks whether the finding holds for another language; here the question is whether it holds for a model on foreign ground.
T
