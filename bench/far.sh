#!/bin/sh
# make bench-far: one segment of a small model at lengths up to half a million, compared with
# PyTorch (SDPA, layers checkpointed) as far as that works: the table of doc/performance.md. LENGTHS
# and MODELS (examples: none, alibi, window-64) choose rows; PEER_MOST is the longest length for
# PyTorch (16384), PYTHON an interpreter with torch and safetensors (without one, no comparison).
# Takes half an hour on two cores.
set -eu
: "${BUILD:=build/gcc}" "${PYTHON:=python3}" "${LENGTHS:=8192 16384 32768 131072 524288}" "${MODELS:=window-64 alibi none}" "${PEER_MOST:=16384}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
value() { sed -n "s/^$1=//p" "$2"; }
peer=1
"$PYTHON" -c 'import torch, safetensors' 2>/dev/null || { peer=0; echo "(no PyTorch with safetensors in $PYTHON: no peer)"; }
echo '| model | length | operations, TFLOP | reach, s | exponent | GFLOP/s | MB | peer, s | MB | time ratio | memory ratio | largest difference of c |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
for model in $MODELS; do
    before='' # length and seconds of the row above
    for length in $LENGTHS; do
        # without a bias every pair counts: half an hour or more per segment
        [ "$model" != none ] || [ "$length" -le 131072 ] || continue
        repeats=2
        [ "$length" -le 32768 ] || repeats=1
        NORMS=$work/reach.norm "$BUILD/bench/erf" "examples/models/$model" "$length" $repeats >"$work/reach.txt"
        seconds=$(value seconds "$work/reach.txt")
        # shellcheck disable=SC2086 # two words
        line=$(echo $before "$length" "$seconds" | awk -v m="$model" -v t="$(value needed_tflop "$work/reach.txt")" -v mb="$(value peak_mb "$work/reach.txt")" '{
            l = $(NF - 1); s = $NF; x = NF > 2 ? sprintf("%.2f", log(s / $2) / log(l / $1)) : ""
            printf "| %s | %d | %.4g | %.4g | %s | %.0f | %d |", m, l, t, s, x, 1000 * t / s, mb }')
        before="$length $seconds"
        if [ $peer = 0 ] || [ "$length" -gt "$PEER_MOST" ] || [ "$model" = window-64 ]; then
            echo "$line | | | | |"
            continue
        fi
        if ! "$PYTHON" bench/peer_far.py "examples/models/$model" "$length" 1 "$work/peer.norm" >"$work/peer.txt" 2>"$work/peer.err"; then
            echo "$line $(tail -n 1 "$work/peer.err" | cut -c1-60) | | | | |"
            continue
        fi
        dc=$("$PYTHON" bench/compare.py "$work/reach.norm" "$work/peer.norm")
        echo "$line $(awk -v s="$seconds" -v m="$(value peak_mb "$work/reach.txt")" -v ps="$(value seconds "$work/peer.txt")" -v pm="$(value peak_mb "$work/peer.txt")" -v dc="$dc" \
            'BEGIN { printf "%.1f | %d | %.3f | %.2f | %s |", ps, pm, s / ps, m / pm, dc }')"
    done
done
