#!/bin/sh
# make gpu-check, make gpu-bench: on a machine with a GPU, the programs that make built there (`make gpu-programs`), or those that bench/gpu/carry.sh packed elsewhere.
#
#   run.sh check    kernels and whole models against the reference        run.sh bench    figures, also as build/gpu/bench.md
#
# Both fail where the cuda set does not open: nothing falls back to the processor. Programs are in FOLDER (default build/gpu/programs); CARRY (default build/carry.tar.xz) is
# unpacked and taken instead where it is there. For `check`: TOOLS="memcheck racecheck synccheck", compute-sanitizer's (empty: none), on TOOL_TESTS (TESTS=0: these alone), each at most
# TOOL_SECONDS. For `bench`: CASES="gpt2-small:2048:bf16 ..." are SHAPE:LENGTH:DTYPE of bench/gpu/shapes.h; PEER=0 leaves PyTorch out; BACKENDS the peer's kernels of attention, a row each (of floats
# efficient alone; empty: PyTorch's own choice); COMPILED those cases with torch.compile (empty: none), which take the fastest backend and its batch; PEER_SECONDS at most for one run of the peer;
# KERNELS=0 and ORACLE=0 leave the single operations and the comparison with float64 out; DEVICE=cpu rehearses the peer without a GPU, and PLUGIN=FILE the programs on another plug-in.
set -eu
: "${PYTHON:=python3}" "${CARRY=build/carry.tar.xz}" "${DEVICE:=cuda}" "${FOLDER:=build/gpu/programs}"
: "${TOOLS=memcheck racecheck synccheck}" "${TOOL_TESTS=kernels-cuda-plugin model-cuda kernels-cuda-attention}" "${TOOL_SECONDS:=150}"
: "${KERNELS:=1}" "${ORACLE:=1}" "${PEER:=1}" "${PEER_SECONDS:=600}" "${REPEATS:=3}"
: "${CASES:=gpt2-small:2048:bf16 gpt2-small:2048:tf32 pythia-1.4b:2048:bf16 llama-7b:2048:bf16 gpt2-xl:2048:bf16 gpt2-small:8192:bf16 gpt2-small:32768:bf16 pythia-1.4b:2048:tf32}"
: "${COMPILED=$CASES}" "${BACKENDS=flash cudnn efficient}"
out=${GPU_BUILD:-build/gpu}
export OMP_WAIT_POLICY=passive
die() { echo "run.sh: $*" >&2; exit 1; }
value() { sed -n "s/^$1=//p" "$2"; }

# Where the programs and the plug-in are.
find_programs() {
    if [ -n "$CARRY" ] && [ -f "$CARRY" ]; then
        FOLDER=$out/carried
        sh bench/gpu/unpack.sh "$CARRY" "$FOLDER"
    fi
    [ -x "$FOLDER/erf" ] || die "$FOLDER has no programs (expected: make gpu-programs, or CARRY that carry.sh packed)"
    FOLDER=$(cd "$FOLDER" && pwd)
    REACH_CUDA=${PLUGIN:-$FOLDER/reach-cuda.so}
    case $REACH_CUDA in /*) ;; *) REACH_CUDA=$PWD/$REACH_CUDA ;; esac
    export REACH_CUDA
}
# The libraries that were carried are for our programs alone: Python has its own.
run() { LD_LIBRARY_PATH=$FOLDER/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
# Nothing is measured or passed without a GPU: what opens here is what the programs ask for.
need_gpu() {
    run "$FOLDER/erf" tiny-gpt2 96 f32 1 >"$out/need_gpu.txt" 2>&1 || { cat "$out/need_gpu.txt" >&2; die 'the cuda set does not run here'; }
    set_name=$(value kernels "$out/need_gpu.txt")
    case $set_name in cuda*) echo "set: $set_name" ;; *) die "the set is '$set_name' (expected cuda)" ;; esac
}

check() {
    failed=0
    # the plug-in's test fills the GPU's memory: it has it alone
    for test in "$FOLDER"/t-*; do
        case $test in *cuda-plugin) ;; *) echo "$test" ;; esac
    done >"$out/tests.txt"
    if [ "${TESTS:-1}" = 1 ]; then
        run sh tests/run.sh $(cat "$out/tests.txt") || failed=1
        run sh tests/run.sh "$FOLDER/t-kernels-cuda-plugin" || failed=1
    fi
    for tool in $TOOLS; do
        for test in $TOOL_TESTS; do
            rc=0
            echo "== compute-sanitizer --tool $tool t-$test on $set_name"
            run timeout "$TOOL_SECONDS" compute-sanitizer --tool "$tool" --error-exitcode 3 "$FOLDER/t-$test" >"$out/sanitizer-$tool-$test.txt" 2>&1 || rc=$?
            case $rc in
            0) tail -n 1 "$out/sanitizer-$tool-$test.txt" ;;
            124) echo "not at its end after $TOOL_SECONDS s; nothing found up to there: $(grep -c '^\[       OK' "$out/sanitizer-$tool-$test.txt") tests" ;;
            *) tail -n 40 "$out/sanitizer-$tool-$test.txt"; failed=1 ;;
            esac
        done
    done
    return $failed
}

# peer OPTION...: one run of the peer of this case; its figures in $out/peer.txt
peer() {
    timeout "$PEER_SECONDS" "$PYTHON" bench/gpu/peer.py "$shape" "$length" "$@" --device "$DEVICE" >"$out/peer.txt" 2>"$out/peer.err"
}
difference() { "$PYTHON" bench/compare.py "$1" "$2" 2>/dev/null || echo -; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0 && b > 0) printf "%.2f", a / b; else printf "-" }'; }
row() { printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$@" >>"$out/bench.md"; tail -n 1 "$out/bench.md"; }

one_case() {
    shape=${1%%:*} dtype=${1##*:} length=${1#*:}
    length=${length%%:*}
    if ! NORMS=$out/reach.norm run "$FOLDER/erf" "$shape" "$length" "$dtype" "$REPEATS" >"$out/reach.txt" 2>&1; then
        row "$shape" "$length" "$dtype" "reach failed on $set_name: $(tail -n 1 "$out/reach.txt")" - - - - - - -
        failed=1
        return
    fi
    { echo "$1"; cat "$out/reach.txt"; } >>"$out/reach-all.txt"
    rm -f "$out/oracle.norm"
    oracle=
    if [ "$ORACLE" = 1 ] && [ "$PEER" = 1 ]; then # float64 where it fits
        for type in f64 f32; do
            if peer $type 1 "$out/oracle.norm" --batch 1; then
                oracle=$type
                break
            fi
        done
    fi
    seconds=$(value seconds "$out/reach.txt") memory=$(value memory "$out/reach.txt")
    row "$shape" "$length" "$dtype" "reach, $(value kernels "$out/reach.txt")" "$(value batch "$out/reach.txt")" "$seconds" "$(value tflops "$out/reach.txt")" "$memory" - - \
        "$(difference "$out/reach.norm" "$out/oracle.norm")${oracle:+ ($oracle)}"
    [ "$PEER" = 1 ] || return 0
    backends=$BACKENDS fastest= least=
    [ "$dtype" = bf16 ] || backends=${BACKENDS:+efficient}
    for backend in ${backends:-any}; do
        options=
        [ "$backend" = any ] || options="--backend $backend"
        peer_row "eager, $backend" "$options" || continue
        if [ -z "$least" ] || awk -v a="$took" -v b="$least" 'BEGIN { exit !(a < b) }'; then
            least=$took chosen=$backend fastest="$options --batch $(value batch "$out/peer.txt")"
        fi
    done
    case " $COMPILED " in
    *" $1 "*) [ -z "$fastest" ] || peer_row "compiled, $chosen" "--compile $fastest" || true ;;
    esac
}
# peer_row NAME OPTIONS: one run of the peer of this case and its row; sets took. 1 if it did not run.
peer_row() {
    name=$1
    if ! peer "$dtype" "$REPEATS" "$out/peer.norm" $2; then
        row "$shape" "$length" "$dtype" "PyTorch, $name: $(tail -n 1 "$out/peer.err" | cut -c 1-80)" - - - - - - -
        return 1
    fi
    took=$(value seconds "$out/peer.txt") held=$(value memory "$out/peer.txt")
    row "$shape" "$length" "$dtype" "PyTorch, $(value peer "$out/peer.txt")" "$(value batch "$out/peer.txt")" "$took" "$(awk -v f="$(value flops "$out/reach.txt")" -v s="$took" 'BEGIN { printf "%.2f", f / s * 1e-12 }')" \
        "$held" "$(ratio "$seconds" "$took")" "$(ratio "$memory" "$held")" "$(difference "$out/peer.norm" "$out/oracle.norm")"
}

# What PROGRAM... prints, in the report and on the screen; fails with it.
report() {
    rc=0
    "$@" >"$out/report.txt" 2>&1 || rc=$?
    { echo '```'; cat "$out/report.txt"; echo '```'; } >>"$out/bench.md"
    cat "$out/report.txt"
    return $rc
}

bench() {
    failed=0
    rm -f "$out/reach-all.txt"
    printf '%s, %s, %s\n\n' "$(date -u +%Y-%m-%d)" "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo 'no GPU: a rehearsal')" "$set_name" >"$out/bench.md"
    cat "$out/bench.md"
    if [ "$PEER" = 1 ]; then
        "$PYTHON" -c 'import sys, torch, transformers; assert sys.argv[1] == "cpu" or torch.cuda.is_available(), "PyTorch finds no GPU"' "$DEVICE" ||
            die "$PYTHON has no PyTorch with transformers that can use $DEVICE (PEER=0 leaves the peer out)"
    fi
    if [ "$KERNELS" = 1 ]; then
        report run "$FOLDER/kernels" || failed=1
        [ "$PEER" = 0 ] || report "$PYTHON" bench/gpu/attention.py --device "$DEVICE" || failed=1
    fi
    printf '\n%s\n%s\n' '| shape | length | type | program | batch | s/segment | TFLOP/s | GB | reach / PyTorch, time | memory | max abs. difference of c from the oracle |' \
        '|---|---|---|---|---|---|---|---|---|---|---|' >>"$out/bench.md"
    tail -n 2 "$out/bench.md"
    for case in $CASES; do
        one_case "$case"
    done
    grep '^product=' "$out/reach-all.txt" | sort -u || true
    return $failed
}

mkdir -p "$out"
case ${1:-} in
check | bench) ;;
*) echo "usage: run.sh check|bench" >&2; exit 2 ;;
esac
find_programs
need_gpu
"$1"
