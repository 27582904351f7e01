# The rules of both papers on all examples ([A] section 5, [B] theorem on convergence), and the length from which perplexity is flat.
. examples/studies/common.sh
study rules "Two rules of extrapolation, on every example"
say <<'T'
*Dissecting Transformer Length Extrapolation*: a model extrapolates if and only if its field is covered by its training length, ERF(0.99) <= L_tr. *Exploring Transformer Extrapolation*: an
encoding extrapolates if the sum of exp(b(t)) converges. Both are held here against what the models do.

A model *extrapolates* here if the perplexity of the last byte at every measured context beyond L_tr, to 2048 bytes, is at most 1.05 times that at L_tr. The same 200 targets
at every context; ERF on 64 segments of 2048 bytes. A model whose positions are not a bias has no sum.
T
run trf $(paths $(ls $MODELS)) -o "$work/trf" --force
{ lengths | sed 's/^/length\t/'
  for f in $(every summary.csv); do columns "$f" model threshold erf erf_lo erf_hi saturated target layer | sed 's/^/erf\t/'; done
  for f in $(every ppl.csv); do columns "$f" model context ppl | sed 's/^/ppl\t/'; done
  columns "$work/trf/trf.csv" formula head length layers verdict | sed 's/^/trf\t/'; } | awk -F '\t' '
    $1 == "length" { train[$2] = $3; order[++models] = $2 }
    $1 == "erf" && $3 == 0.99 { erf[$2] = $4; field[$2] = ($7 == 1 ? ">= " : "") $4 " [" $5 ", " $6 "]" }
    $1 == "ppl" { ppl[$2, $3] = $4; if (!($3 in known)) { known[$3] = 1; context[++contexts] = $3 } }
    $1 == "trf" && $3 == "all" && $4 == "inf" && $5 == 1 && worst[$2] != "diverges" { worst[$2] = $6 }
    END {
        printf "model\tL_tr\tERF(0.99)\tsum of exp(b)\tworst PPL / PPL at L_tr\textrapolates\tERF <= L_tr\tflat from\n"
        for (i = 1; i <= models; i++) {
            m = order[i]
            if (!(m in erf) || !((m, train[m]) in ppl)) { print m ": not measured" >"/dev/stderr"; exit 1 }
            ratio = 1; flat = 0
            for (k = 1; k <= contexts; k++) {
                r = ppl[m, context[k]] / ppl[m, train[m]]
                if (context[k] > train[m] && r > ratio) ratio = r
                d = ppl[m, context[k]] / ppl[m, 2048]
                if (d > 1.01 || d < 1 / 1.01) flat = 0; else if (!flat) flat = context[k]
            }
            printf "%s\t%d\t%s\t%s\t%.3f\t%s\t%s\t%d\n", m, train[m], field[m], worst[m], ratio, ratio <= 1.05 ? "yes" : "no", erf[m] <= train[m] ? "yes" : "no", flat
        }
    }' >"$work/all"
table <"$work/all"
say <<'T'
`flat from`: the smallest measured context (16, 32, ... 2048) from which on every perplexity is within 1 % of that at 2048. *Dissecting Transformer Length Extrapolation* (section 5.1)
expects it near the ERF.
T
say <<T
Rank correlation of \`flat from\` with ERF(0.99), over the models whose perplexity is flat from some context below 2048: $(awk -F '\t' 'NR > 1 && $8 < 2048 { sub(/>= /, "", $3); print $3 "\t" $8 }' "$work/all" | spearman) models.
T
# confusion COLUMN YES NO FIRST SECOND: how many models with YES or NO in that column extrapolate, and how many do not; FIRST and SECOND name the rows
confusion() {
    printf '\t%s\t%s\n' "extrapolates" "does not"
    awk -F '\t' -v c="$1" -v yes="$2" -v no="$3" -v first="$4" -v second="$5" 'NR > 1 && ($c == yes || $c == no) { n[$c, $6]++ }
        END { printf "%s\t%d\t%d\n%s\t%d\t%d\n", first, n[yes, "yes"], n[yes, "no"], second, n[no, "yes"], n[no, "no"] }' "$work/all"
}
say <<'T'
## "If and only if the field is covered"
T
confusion 7 yes no "ERF <= L_tr" "ERF > L_tr" | table
say <<'T'
## "If the sum converges"
T
confusion 4 converges diverges "the sum converges" "the sum diverges" | table
say <<'T'
## What was found

*Covered fields extrapolate:* all ten models whose field lies within the training length do, without exception. *Only they* do not: seven of the 22 others extrapolate as well. These seven
(ALiBi as it is and shifted by 2 or, trained on 1024 bytes, by 6, Type 1 and 2, Sandwich and its smoothed form) have heads of very different widths, so that most of the gradient is near and a thin tail is far. As a
sufficient condition the rule of the first paper stands; as a necessary one it does not, at the threshold of 0.99.

*Convergence* alone decides less: 15 of 22 encodings with a convergent sum extrapolate. The seven that do not are windows of 64 and 128 and ALiBi whose slopes are all 2^-6 or less: their sums converge, but over more tokens than
training showed. What the theorem bounds is the limit of long texts, and it is kept: their perplexity does not grow without end but levels off, at a higher value (10.38 for window 64 from 256 on, 16.09 for slopes of 2^-6 from 512 on).
Of the six that diverge, Sandwich and its smoothed form lose 2.0 and 1.2 % at 2048 bytes and count as extrapolating by our line of 5 %; divergent b stands on that line.

Perplexity is flat from about the ERF on where slopes or windows are equal for all heads, and from far less where they differ: 64 for ALiBi with a field of 667.

Departures. The first paper counts as extrapolation what looks stable in a table; the line of 5 % is ours, and four of these models lie between 1 and 5.1 %.
T
