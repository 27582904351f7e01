#!/bin/sh
# The ladder of "Dissecting Transformer Length Extrapolation" at full size, on a GPU: trains 12 layers of 12 heads, 768, at 512 bytes with windows and ALiBi on
# the examples' corpus, then measures each model's field on 2048 tokens and the perplexity of the last one at 512 to 8192 with reach.
#
#   CORPUS=DIR sh bench/gpu/ladder.sh     DIR as examples/corpus.py makes it; weights go to build/ladder, tables to RESULTS (default build/ladder/results)
#
# MODELS are rows of examples/position_encodings.py; each is measured as soon as it is trained, so that a run which is cut off leaves whole models. TOKENS millions to train on;
# SIZE=paper (small: a rehearsal); DEVICE, DTYPE as reach takes them; SEGMENTS, TARGETS. REACH is the program (default: the carried one, else ./reach).
set -eu
: "${CORPUS:?names a folder with train.txt and valid.txt}" "${PYTHON:=python3}" "${TOKENS:=80}" "${TRAINED:=512}" "${SIZE:=paper}" "${DEVICE:=cuda}" "${DTYPE:=tf32}"
: "${MODELS:=window-40 window-80 window-160 window-320 alibi alibi-minus-3 alibi-plus-6 window-100 window-120}" "${SEGMENTS:=256}" "${TARGETS:=500}"
: "${LENGTH:=2048}" "${CONTEXTS:=512,1024,2048,4096,8192}" "${WEIGHTS:=build/ladder/models}" "${RESULTS:=build/ladder/results}" "${EXTRA:=}"
carried=${GPU_BUILD:-build/gpu}/carried
if [ -z "${REACH:-}" ]; then
    REACH=./reach
    [ ! -x "$carried/reach" ] || REACH=$carried/reach
fi
text=$CORPUS/valid.txt
mkdir -p "$WEIGHTS" "$RESULTS"
case $REACH in "$carried"/*) export LD_LIBRARY_PATH="$carried/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;; esac
train() { env -u LD_LIBRARY_PATH "$PYTHON" examples/train.py --corpus "$CORPUS" --out "$WEIGHTS" --size "$SIZE" --device "${DEVICE%%:*}" --only "$1" $EXTRA; }
done=
for model in $MODELS; do
    start=$(date +%s)
    model=$model-train-$TRAINED-tokens-$TOKENS
    train "$model" | tail -n 1
    cp "$WEIGHTS/$model/training.csv" "$RESULTS/training-$model.csv"
    "$REACH" erf "$WEIGHTS/$model" --text "$text" --length "$LENGTH" --segments "$SEGMENTS" --device "$DEVICE" --dtype "$DTYPE" -o "$RESULTS/erf-$model" --force --quiet
    "$REACH" ppl "$WEIGHTS/$model" --text "$text" --context "$CONTEXTS" --segments "$TARGETS" --device "$DEVICE" --dtype "$DTYPE" -o "$RESULTS/ppl-$model" --force --quiet
    done="$done $model"
    echo "$model: $(($(date +%s) - start)) s with its measurements"
done
echo "tables of$done are in $RESULTS; \`reach plot $RESULTS/erf-*/erf.h5 -o DIR\` draws them together"
