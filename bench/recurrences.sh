#!/bin/sh
# make bench-recurrences: one segment of a Mamba-2 of 130M's shape and of a gated DeltaNet of the
# same width, random weights, beside transformers' plain path in the same run: time, memory
# (ru_maxrss of each process), and the largest difference of c. LENGTHS="2048 16384 131072", KINDS
# and LAYERS (24) choose; PEER_MOST is the longest length for transformers (16384); PYTHON names an
# interpreter with torch and transformers, which also makes the checkpoints.
set -eu
: "${BUILD:=build/gcc}" "${PYTHON:=python3}" "${LENGTHS:=2048 16384}" "${KINDS:=mamba2 deltanet}" "${LAYERS:=24}" "${PEER_MOST:=16384}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
value() { sed -n "s/^$1=//p" "$2"; }
echo '| model | layers | length | reach, s | GFLOP/s | of GEMM rate | MB | transformers, s | MB | time ratio | memory ratio | largest difference of c |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
for kind in $KINDS; do
    "$PYTHON" bench/recurrent_checkpoint.py "$work/$kind" "$kind" "$LAYERS" 2>"$work/made.err" || { cat "$work/made.err" >&2; exit 1; }
    for length in $LENGTHS; do
        repeats=2
        [ "$length" -le 2048 ] || repeats=1
        NORMS=$work/reach.norm "$BUILD/bench/erf" "$work/$kind" "$length" $repeats >"$work/reach.txt"
        seconds=$(value seconds "$work/reach.txt") mb=$(value peak_mb "$work/reach.txt")
        line=$(awk -v s="$seconds" -v t="$(value needed_tflop "$work/reach.txt")" -v r="$(value ratio "$work/reach.txt")" \
            -v k="$kind" -v n="$LAYERS" -v l="$length" -v m="$mb" 'BEGIN { printf "| %s | %d | %d | %.2f | %.1f | %.2f | %d |", k, n, l, s, 1000 * t / s, 1 / r, m }')
        if [ "$length" -gt "$PEER_MOST" ]; then
            echo "$line | | | | |"
            continue
        fi
        "$PYTHON" bench/peer.py "$work/$kind" "$length" 1 "$work/peer.norm" >"$work/peer.txt" 2>"$work/peer.err" || { cat "$work/peer.err" >&2; exit 1; }
        dc=$("$PYTHON" bench/compare.py "$work/reach.norm" "$work/peer.norm")
        echo "$line $(awk -v s="$seconds" -v m="$mb" -v ps="$(value seconds "$work/peer.txt")" -v pm="$(value peak_mb "$work/peer.txt")" -v dc="$dc" \
            'BEGIN { printf "%.1f | %d | %.3f | %.2f | %s |", ps, pm, s / ps, m / pm, dc }')"
    done
done
echo "kernels: $(value kernels "$work/reach.txt")"
