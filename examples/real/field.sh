#!/bin/sh
# The field of a real language model on a novel: SmolLM2-135M-Instruct at 2048 tokens, at 8192 (the length it was trained on) and at 16384, there also with
# linear, NTK (dynamic) and YaRN scaling of its rotary positions; and its perplexity at these lengths. About an hour on two idle cores; what was measured is not
# measured again. doc/real.md shows it; its pictures and results/ are made here.
#   REAL          where run.sh put the model; results go to its folder field (default build/real)
set -eu
REAL=${REAL:-build/real} REACH=${REACH:-./reach}
MODEL=$REAL/SmolLM2-135M-Instruct.Q4_1.gguf
NOVEL=examples/text/moby-dick.txt.gz
[ -f "$MODEL" ] || { echo "$0: $MODEL is not there (make real fetches it)" >&2; exit 1; }

# field NAME LENGTH SEGMENTS [OPTION...]
field() {
    to=$REAL/field/$1 name=$1 length=$2 segments=$3
    shift 3
    [ -f "$to/summary.csv" ] || "$REACH" erf "$name=$MODEL" --text $NOVEL --length "$length" --segments "$segments" --threshold 0.9 --train-length 8192 "$@" -o "$to" --resume
}

# perplexity NAME [OPTION...]: every block of the first 69,000 bytes, all tokens but the first scored
perplexity() {
    to=$REAL/field/ppl-$1 name=$1
    shift
    [ -f "$to/ppl.csv" ] || gzip -dc $NOVEL | head -c 69000 |
        "$REACH" ppl "$name=$MODEL" --text - --protocol nonoverlapping --context 2048,8192,16384 --train-length 8192 --per-token "$to.tokens.csv" "$@" -o "$to" --force
}

mkdir -p "$REAL/field"
field 2048 2048 8
field 8192 8192 3
field 16384 16384 2
perplexity none
perplexity linear --rope linear:factor=2
perplexity dynamic --rope dynamic:factor=2
perplexity yarn --rope yarn:factor=2,original=8192
field linear 16384 2 --rope linear:factor=2
field dynamic 16384 2 --rope dynamic:factor=2
field yarn 16384 2 --rope yarn:factor=2,original=8192
