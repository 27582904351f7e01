# Read by every study (`. examples/studies/common.sh`): running reach, and writing the study's page. A study runs in the repository's root.
set -eu
export LC_ALL=C
REACH=${REACH:-./reach}
MODELS=${STUDIES_MODELS:-examples/models}
NOVEL=examples/text/moby-dick.txt.gz
RESULTS=${STUDIES_RESULTS:-build/studies} # of the runs; kept, so that later studies read earlier ones
PAGES=${STUDIES_PAGES:-doc/studies}
SEGMENTS=${STUDIES_SEGMENTS:-64}                                # of 2048 bytes, for a field
TARGETS=${STUDIES_TARGETS:-200}                                # for a perplexity of the last token

# study NAME TITLE: starts the page of a study.
study() {
    name=$1 work=$RESULTS/$1 page=$PAGES/$1.md pictures=0
    mkdir -p "$work" "$PAGES"
    rm -f "$PAGES/$1".png "$PAGES/$1"-[0-9].png
    printf '# %s\n' "$2" >"$page"
}

# say: standard input is added to the page as a paragraph of its own.
say() {
    { echo && cat; } >>"$page"
}

# quietly VERB ARGUMENTS...: runs reach; what it prints goes to a file beside its results. run: and shows the command on the page.
quietly() {
    echo "reach $*" >>"$work/log"
    "$REACH" "$@" >"$work/stdout" 2>>"$work/log" || { tail -n 1 "$work/log" >&2 && exit 1; }
}
run() {
    printf '\n    ./reach %s\n' "$(echo "$*" | sed 's/ --quiet//; s/ --force//')" >>"$page"
    quietly "$@"
}

# erf DIR MODEL...: the fields of these examples, in $work/DIR. ppl DIR MODEL...: the perplexity of their last token.
paths() { for m in "$@"; do printf '%s ' "$MODELS/$m"; done; }
erf() {
    into=$1 && shift
    run erf $(paths "$@") --text $NOVEL --segments $SEGMENTS -o "$work/$into" --quiet --force
}
ppl() {
    into=$1 && shift
    run ppl $(paths "$@") --text $NOVEL --context 16,32,64,128,256,512,1024,2048 --segments $TARGETS -o "$work/$into" --quiet --force
}

# figure FILE CAPTION: a picture on the page.
figure() {
    pictures=$((pictures + 1))
    case $pictures in 1) picture=$name.png ;; *) picture=$name-$pictures.png ;; esac
    cp "$1" "$PAGES/$picture"
    printf '\n![%s](%s)\n' "$2" "$picture" >>"$page"
}

# columns FILE NAME...: these columns of a CSV, separated by tabs, without the header.
columns() {
    file=$1 && shift
    awk -v wanted="$*" '
        /^#/ { next }
        /"/ { print FILENAME ": a quoted cell" >"/dev/stderr"; exit 1 }
        !n { n = split(wanted, want, " "); fields = split($0, title, ","); for (i in title) at[title[i]] = i
             for (i = 1; i <= n; i++) if (!(want[i] in at)) { print FILENAME ": no column " want[i] >"/dev/stderr"; exit 1 }
             next }
        { split($0, cell, ","); for (i = 1; i <= n; i++) printf "%s%s", cell[at[want[i]]], i < n ? "\t" : "\n" }' "$file"
}

# table: lines with tabs, the first one titles, become a table on the page.
table() {
    awk -F '\t' 'BEGIN { print "" } { line = "|"; for (i = 1; i <= NF; i++) line = line " " $i " |"; print line }
        NR == 1 { line = "|"; for (i = 1; i <= NF; i++) line = line (i == 1 ? "---|" : "---:|"); print line }' >>"$page"
}

# lengths: name and training length of every example.
lengths() { for m in "$MODELS"/*/; do printf '%s\t%s\n' "$(basename "$m")" "$(sed -n 's/.*"train_length": *\([0-9]*\).*/\1/p' "$m/config.json")"; done; }

# fields SUMMARY.CSV PPL.CSV: model, L_tr, ERF(0.5), ERF(0.99) with its interval, PPL at every context from 128 on, and the last one over that at L_tr.
fields() {
    { lengths | sed 's/^/length\t/'
      columns "$1" model threshold erf erf_lo erf_hi saturated target layer | sed 's/^/erf\t/'
      columns "$2" model context ppl | sed 's/^/ppl\t/'; } | awk -F '\t' '
        $1 == "length" { train[$2] = $3 }
        $1 == "erf" { if (!($2 in seen)) { seen[$2] = 1; order[++n] = $2; where[$2] = $8 "/" $9 }
                      if (where[$2] != $8 "/" $9) next
                      erf[$2, $3] = ($7 == 1 ? ">= " : "") $4; interval[$2, $3] = "[" $5 ", " $6 "]" }
        $1 == "ppl" { if (!($3 in known) && $3 >= 128) { known[$3] = 1; context[++contexts] = $3 }
                      ppl[$2, $3] = $4 }
        END { printf "model\tL_tr\tERF(0.5)\tERF(0.99)\t95 %% interval"
              for (k = 1; k <= contexts; k++) printf "\tPPL %d", context[k]
              printf "\tPPL %d / L_tr\n", context[contexts]
              for (i = 1; i <= n; i++) { m = order[i]
                  printf "%s\t%d\t%s\t%s\t%s", m, train[m], erf[m, "0.5"], erf[m, "0.99"], interval[m, "0.99"]
                  for (k = 1; k <= contexts; k++) printf "\t%.4g", ppl[m, context[k]]
                  printf "\t%s\n", (m, train[m]) in ppl ? sprintf("%.3f", ppl[m, context[contexts]] / ppl[m, train[m]]) : "-" } }'
}

# every FILE: that table of all studies that measure a model by `erf` and `ppl` above.
every() {
    for s in windows slopes absolute biases series; do
        for f in "$RESULTS/$s"/*/"$1"; do case $f in */far/*) ;; *) echo "$f" ;; esac; done
    done
}

# spearman: rank correlation of the two columns of standard input (ties share their mean rank), as "RHO over N".
spearman() {
    awk -F '\t' '
        { x[NR] = $1 + 0; y[NR] = $2 + 0 }
        function rank(v, r,   i, j, less, same) {
            for (i = 1; i <= NR; i++) { less = same = 0; for (j = 1; j <= NR; j++) { less += v[j] < v[i]; same += v[j] == v[i] }; r[i] = less + (same + 1) / 2 } }
        END { if (NR < 3) { print "too few"; exit }
              rank(x, a); rank(y, b); m = (NR + 1) / 2
              for (i = 1; i <= NR; i++) { xy += (a[i] - m) * (b[i] - m); xx += (a[i] - m) ^ 2; yy += (b[i] - m) ^ 2 }
              printf "%.3f over %d\n", xx && yy ? xy / sqrt(xx * yy) : 0, NR }'
}
