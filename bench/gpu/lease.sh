#!/bin/sh
# What to run where a GPU is to be had for minutes only (doc/cuda.md). The programs were carried there (`make gpu-carry`); each call does as much as its time allows, what
# matters most first, goes on after a failure, and leaves all outputs in OUT (default build/gpu/lease).
#
#   lease.sh 1    is it right: the kernels' tests, the real program beside the processor, one line of GPT-2-small          (SECONDS_MOST, default 200)
#   lease.sh 2    how fast: beside PyTorch, eager and compiled; 7 billion parameters; races in attention; products         (300)
#   lease.sh 3    what else: position biases, tf32 and longer texts beside PyTorch, counters of the attention kernels      (240)
#
# Exit status: 9 where there is no GPU, 8 where the cuda set does not open, 1 where something failed.
set -u
: "${OUT:=build/gpu/lease}" "${PYTHON:=python3}" "${CARRY=build/carry.tar.xz}" "${GPU_BUILD:=build/gpu}"
case ${1:-} in
1) : "${SECONDS_MOST:=200}" ;;
2) : "${SECONDS_MOST:=300}" ;;
3) : "${SECONDS_MOST:=240}" ;;
*) echo "usage: lease.sh 1|2|3" >&2; exit 2 ;;
esac
call=$1 started=$(date +%s) failed=
mkdir -p "$OUT" "$GPU_BUILD"
export GPU_BUILD PYTHON CARRY

# step NAME SECONDS COMMAND...: all that it prints in OUT/CALL-NAME.txt, its last lines here; at most SECONDS, and none beyond the call's time
step() {
    name=$1 most=$2
    shift 2
    began=$(date +%s)
    left=$((SECONDS_MOST - (began - started)))
    [ "$most" -le "$left" ] || most=$left
    rc=0
    if [ "$most" -lt 5 ]; then
        rc=124
    else
        timeout "$most" "$@" >"$OUT/$call-$name.txt" 2>&1 || rc=$?
        tail -n 14 "$OUT/$call-$name.txt" | cut -c 1-330
    fi
    echo "== $name: exit $rc after $(($(date +%s) - began)) of $most s"
    [ "$rc" = 0 ] || failed="$failed $name"
    return "$rc"
}

if ! nvidia-smi -L >"$OUT/gpu.txt" 2>&1 || ! grep -q '^GPU 0' "$OUT/gpu.txt"; then
    echo 'lease.sh: there is no GPU here (nvidia-smi -L)' >&2
    exit 9
fi
cat "$OUT/gpu.txt"
sh bench/gpu/unpack.sh "$CARRY" "$GPU_BUILD/carried" || { echo "lease.sh: $CARRY cannot be unpacked (make gpu-carry packs it)" >&2; exit 8; }
folder=$(cd "$GPU_BUILD/carried" && pwd)
ours="env LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} REACH_CUDA=$folder/reach-cuda.so" # before our programs; Python has libraries of its own
opens() { $ours timeout 60 "$folder/erf" tiny-gpt2 96 bf16 1 >"$OUT/$call-opens.txt" 2>&1 && grep '^kernels=cuda' "$OUT/$call-opens.txt"; }
if ! opens; then
    cat "$OUT/$call-opens.txt"
    # the plug-in does not run as it was carried: compiled here, for this GPU alone
    step build 150 make -j16 cuda "CUDA_ARCHITECTURES=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)" && cp -f reach-cuda.so "$folder/"
    opens || { cat "$OUT/$call-opens.txt"; echo 'lease.sh: the cuda set does not open' >&2; exit 8; }
fi
$ours "$folder/reach" version >"$OUT/version.txt" 2>&1
cat "$OUT/version.txt"

# bench NAME SECONDS CASES COMPILED BACKENDS [MORE=...]: rows of run.sh bench
bench() {
    name=$1 most=$2 cases=$3 compiled=$4 backends=$5
    shift 5
    step "$name" "$most" env KERNELS=0 ORACLE=0 PEER_SECONDS=100 CASES="$cases" COMPILED="$compiled" BACKENDS="$backends" "$@" sh bench/gpu/run.sh bench
    cp -f "$GPU_BUILD/bench.md" "$OUT/$call-$name.md"
}

case $call in
1)
    step tests 120 env TOOLS= sh bench/gpu/run.sh check
    step real 60 env FOLDER="$folder" REACH_CUDA="$folder/reach-cuda.so" sh bench/gpu/real.sh
    step gpt2 60 $ours "$folder/erf" gpt2-small 2048 bf16 5
    ;;
2)
    bench gpt2 110 gpt2-small:2048:bf16 gpt2-small:2048:bf16 'flash cudnn'
    bench long 90 gpt2-small:32768:bf16 '' 'flash cudnn'
    bench 7b 80 llama-7b:2048:bf16 '' flash
    step products 70 $ours "$folder/kernels" bf16
    step racecheck 60 env TOOLS=racecheck TOOL_TESTS=kernels-cuda-attention TOOL_SECONDS=55 TESTS=0 sh bench/gpu/run.sh check
    ;;
3)
    bench bias 90 gpt2-small-alibi:2048:bf16 gpt2-small-alibi:2048:bf16 'efficient'
    bench tf32 60 gpt2-small:2048:tf32 '' efficient
    bench 8192 60 gpt2-small:8192:bf16 '' flash
    step counters 60 $ours ncu --clock-control none -k 'regex:attention_|norm_|head_' -s 34 -c 20 --section SpeedOfLight --section WarpStateStats --section MemoryWorkloadAnalysis --section LaunchStats "$folder/erf" gpt2-small 2048 bf16 1
    ;;
esac
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
