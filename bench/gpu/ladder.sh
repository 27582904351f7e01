#!/bin/sh
# The ladder of "Dissecting Transformer Length Extrapolation" at full size, on a GPU: trains 12 layers of 12 heads, 768, at 512 bytes with windows and ALiBi on
# a byte-level corpus, then measures each model's field on 2048 bytes and the perplexity of the last byte at 512 to 8192 with reach.
#
#   CORPUS=DIR sh bench/gpu/ladder.sh     DIR/train and DIR/valid hold *.txt.gz; weights go to build/ladder, tables to RESULTS (default build/ladder/results)
#
# MODELS are names of examples/train.py; each is measured as soon as it is trained, so that a run which is cut off leaves whole models. EPOCHS=3 passes over the text;
# SIZE=paper (small: a rehearsal); DEVICE, DTYPE as reach takes them; SEGMENTS, TARGETS. REACH is the program (default: the carried one, else ./reach).
set -eu
: "${CORPUS:?names a folder with train/*.txt.gz and valid/*.txt.gz}" "${PYTHON:=python3}" "${EPOCHS:=3}" "${SIZE:=paper}" "${DEVICE:=cuda}" "${DTYPE:=tf32}"
: "${MODELS:=window-40 window-80 window-160 window-320 alibi alibi-minus-3 alibi-plus-6 window-100 window-120}" "${SEGMENTS:=256}" "${TARGETS:=500}"
: "${LENGTH:=2048}" "${CONTEXTS:=512,1024,2048,4096,8192}" "${WEIGHTS:=build/ladder/models}" "${RESULTS:=build/ladder/results}" "${EXTRA:=}"
carried=${GPU_BUILD:-build/gpu}/carried
if [ -z "${REACH:-}" ]; then
    REACH=./reach
    [ ! -x "$carried/reach" ] || REACH=$carried/reach
fi
text=$(ls "$CORPUS"/valid/*.txt.gz | tail -n 1)
mkdir -p "$WEIGHTS" "$RESULTS"
case $REACH in "$carried"/*) export LD_LIBRARY_PATH="$carried/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;; esac
train() { env -u LD_LIBRARY_PATH "$PYTHON" examples/train.py --corpus "$CORPUS" --out "$WEIGHTS" --size "$SIZE" --device "${DEVICE%%:*}" --epochs "$EPOCHS" --only "$1" $EXTRA; }
done=
for model in $MODELS; do
    start=$(date +%s)
    train "$model" | tail -n 1
    cp "$WEIGHTS/$model/training.csv" "$RESULTS/training-$model.csv"
    "$REACH" erf "$WEIGHTS/$model" --text "$text" --length "$LENGTH" --segments "$SEGMENTS" --device "$DEVICE" --dtype "$DTYPE" -o "$RESULTS/erf-$model" --force --quiet
    "$REACH" ppl "$WEIGHTS/$model" --text "$text" --context "$CONTEXTS" --segments "$TARGETS" --device "$DEVICE" --dtype "$DTYPE" -o "$RESULTS/ppl-$model" --force --quiet
    done="$done $model"
    echo "$model: $(($(date +%s) - start)) s with its measurements"
done
echo "tables of$done are in $RESULTS; \`reach plot $RESULTS/erf-*/erf.h5 -o DIR\` draws them together"
