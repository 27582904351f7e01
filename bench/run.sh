#!/bin/sh
# make bench: kernels compared with the machine's own rates, then whole segments of a
# GPT-2-small-shaped checkpoint compared with PyTorch in the same run. LENGTHS="512 1024 2048"
# chooses the lengths; PYTHON names an interpreter with torch and transformers (without one, no
# comparison).
set -eu
: "${BUILD:=build/gcc}" "${PYTHON:=python3}" "${LENGTHS:=512 1024 2048 4096 8192}"
work=${BENCH_FOLDER:-$(mktemp -d)}
[ -n "${BENCH_FOLDER:-}" ] || trap 'rm -rf "$work"' EXIT
value() { sed -n "s/^$1=//p" "$2"; }

echo '== kernels'
"$BUILD/bench/kernels"

echo '== whole segments: GPT-2-small shape (12 layers, 12 heads, 768, vocabulary 50257), float32'
[ -f "$work/gpt2/model.safetensors" ] || "$BUILD/bench/random_checkpoint" "$work/gpt2" gpt2 12 12 768 50257 8192
peer=1
"$PYTHON" -c 'import torch, transformers' 2>/dev/null || { peer=0; echo "(no PyTorch with transformers in $PYTHON: no peer)"; }
printf '%7s %9s %8s %11s %12s %7s | %9s %8s | %6s %6s | %9s\n' length 'reach s' 'start s' 'GFLOP/s' 'of GEMM rate' 'MB' 'peer s' 'MB' 'time' 'memory' 'max |dc|'
for length in $LENGTHS; do
    repeats=3
    [ "$length" -le 2048 ] || repeats=2
    NORMS=$work/reach.norm "$BUILD/bench/erf" "$work/gpt2" "$length" $repeats >"$work/reach.txt"
    line=$(awk -v l="$length" -v s="$(value seconds "$work/reach.txt")" -v t="$(value needed_tflop "$work/reach.txt")" -v r="$(value ratio "$work/reach.txt")" \
        -v m="$(value peak_mb "$work/reach.txt")" -v b="$(value start "$work/reach.txt")" 'BEGIN { printf "%7d %9.3f %8.2f %11.1f %11.0f%% %7.0f", l, s, b, 1000 * t / s, 100 / r, m }')
    if [ $peer = 1 ]; then
        "$PYTHON" bench/peer.py "$work/gpt2" "$length" $repeats "$work/peer.norm" >"$work/peer.txt" 2>"$work/peer.err" || { cat "$work/peer.err" >&2; exit 1; }
        dc=$("$PYTHON" bench/compare.py "$work/reach.norm" "$work/peer.norm")
        line="$line $(awk -v s="$(value seconds "$work/reach.txt")" -v m="$(value peak_mb "$work/reach.txt")" -v ps="$(value seconds "$work/peer.txt")" \
            -v pm="$(value peak_mb "$work/peer.txt")" -v dc="$dc" 'BEGIN { printf "| %9.3f %8.0f | %6.2f %6.2f | %9s", ps, pm, s / ps, m / pm, dc }')"
    fi
    echo "$line"
done
echo "kernels: $(value kernels "$work/reach.txt"); plan at the last length: $(value plan "$work/reach.txt")"
[ $peer = 0 ] || echo "peer: $(value peer "$work/peer.txt")"
