# Seven encodings, three seeds each ([A] table 3).
. examples/studies/common.sh
study seeds "Seven encodings with three seeds"
say <<'T'
Table 3 of *Dissecting Transformer Length Extrapolation* compares seven encodings by perplexity at growing contexts, over several seeds. Here with three: the seed decides the
initial weights and the batches. The models of seed 1 are those of the other studies. Those of seeds 2 and 3 are not kept; what was measured on them is, in examples/studies/seeds/. To train them anew, and measure:

    python3 examples/train.py --corpus DIR --out SEEDS/2 --seed 2 --only sandwich smoothed-sandwich alibi sinusoidal rotary kerple-log t5
    python3 examples/train.py --corpus DIR --out SEEDS/3 --seed 3 --only sandwich smoothed-sandwich alibi sinusoidal rotary kerple-log t5
    STUDIES_SEEDS=SEEDS sh examples/studies/run.sh seeds
T
kept=examples/studies/seeds
if [ -n "${STUDIES_SEEDS:-}" ]; then
    set --
    for m in sandwich smoothed-sandwich alibi sinusoidal rotary kerple-log t5; do
        set -- "$@" "$m.1=$MODELS/$m" "$m.2=$STUDIES_SEEDS/2/$m" "$m.3=$STUDIES_SEEDS/3/$m"
    done
    "$REACH" erf "$@" --text $NOVEL --segments $SEGMENTS -o "$work/erf" --quiet --force >/dev/null
    "$REACH" ppl "$@" --text $NOVEL --context 16,32,64,128,256,512,1024,2048 --segments $TARGETS -o "$work/ppl" --quiet --force >/dev/null
    mkdir -p $kept
    for f in erf/summary.csv ppl/ppl.csv; do sed '/^# command/d' "$work/$f" >"$kept/${f#*/}"; done
fi
say <<'T'
Mean and standard deviation over the seeds; the same targets and segments of Moby-Dick for all. Marks: by a two-sided t-test paired by seed (5 %, 2 degrees of freedom), † is worse than
sandwich, * better.
T
{ columns $kept/summary.csv model threshold erf | awk -F '\t' '$2 == 0.99' | sed 's/^/erf\t/'
  columns $kept/ppl.csv model context ppl nll | sed 's/^/ppl\t/'; } | awk -F '\t' -v out="$work/mean.csv" '
    { model = $2; sub(/\.[0-9]+$/, "", model); seed = substr($2, length(model) + 2); if (!(model in known)) { known[model] = 1; order[++models] = model } }
    $1 == "erf" { erf[model, seed] = $4 }
    $1 == "ppl" { if (!($3 in at)) { at[$3] = 1; context[++contexts] = $3 }
                  ppl[model, $3, seed] = $4; nll[model, $3, seed] = $5 }
    function spread(a, b, c,   m) { m = (a + b + c) / 3; return sqrt(((a - m) ^ 2 + (b - m) ^ 2 + (c - m) ^ 2) / 2) }
    function mark(m, c,   s, d, sd) {
        if (m == "sandwich") return ""
        for (s = 1; s <= 3; s++) d[s] = nll[m, c, s] - nll["sandwich", c, s]
        sd = spread(d[1], d[2], d[3]) / sqrt(3); s = (d[1] + d[2] + d[3]) / 3
        return s > 4.3027 * sd ? " †" : s < -4.3027 * sd ? " \\*" : ""
    }
    function show(a, b, c, form) { return sprintf(form " ± " form, (a + b + c) / 3, spread(a, b, c)) }
    END {
        printf "model\tERF(0.99)"
        for (k = 1; k <= contexts; k++) if (context[k] >= 128) printf "\tPPL %d", context[k]
        print ""
        print "model,protocol,context,nll,std_error,window" >out
        for (i = 1; i <= models; i++) {
            m = order[i]
            for (s = 1; s <= 3; s++) if (!((m, s) in erf)) { print m ": seed " s " was not measured" >"/dev/stderr"; exit 1 }
            printf "%s\t%s", m, show(erf[m, 1], erf[m, 2], erf[m, 3], "%.0f")
            for (k = 1; k <= contexts; k++) {
                c = context[k]
                if (c >= 128) printf "\t%s%s", show(ppl[m, c, 1], ppl[m, c, 2], ppl[m, c, 3], ppl[m, c, 1] < 100 ? "%.2f" : "%.0f"), mark(m, c)
                printf "%s,last,%d,%.17g,%.17g,\n", m, c, (nll[m, c, 1] + nll[m, c, 2] + nll[m, c, 3]) / 3, spread(nll[m, c, 1], nll[m, c, 2], nll[m, c, 3]) / sqrt(3) >out
            }
            print ""
        }
    }' | table
"$REACH" plot "$work/mean.csv" --train-length 128 -o "$work/plot" --force >/dev/null
figure "$work/plot/ppl.png" "Perplexity of the last byte against context, mean of three seeds; bars: 1.96 standard errors over seeds"
say <<'T'
## What was found

At the training length all seven are within 10 % of each other, and three seeds tell only ALiBi and T5 from Sandwich. At 2048 bytes Sandwich, its smoothed form, ALiBi and KERPLE are where they were, within 2 %; T5 is at 3.4 times its
perplexity at 128, rotary at 9 and sinusoidal at 15 times.

The fields of a seed differ from those of another by more than the interval over segments of one model says: 704 ± 33 for ALiBi, where the interval of the first seed is [653, 680], and 65 ± 26 for the learned parameters of KERPLE, [43, 52]. The
interval speaks of one model on other text, not of another training.

Departures. In the paper T5 and KERPLE are the best within a few times the training length, with five seeds and 50,000 steps; here KERPLE cannot be told from Sandwich, and T5 fails from twice the training length on.
T
