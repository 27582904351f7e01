#!/bin/sh
# make gpu-check, make gpu-bench: on a machine with a GPU. nvcc, cuBLAS and gcc are enough; the peer needs PyTorch with transformers.
#
#   run.sh build    the programs of both, into build/gpu        run.sh check    tests        run.sh bench    figures, also as build/gpu/bench.md
#
# Programs that bench/gpu/carry.sh packed elsewhere are taken from CARRY (default build/carry.tar.xz) when it is there; then nothing is compiled.
# NVCC, PLUGIN (reach-cuda.so), PYTHON come from make. For `check`: TOOLS="memcheck racecheck synccheck", compute-sanitizer's (empty: none), each test at most
# TOOL_SECONDS. For `bench`: CASES="gpt2-small:2048:bf16 ..." are SHAPE:LENGTH:DTYPE of bench/gpu/shapes.h; BACKENDS the peer's kernels of attention, a row each (of floats
# efficient alone; empty: PyTorch's own choice); COMPILED those with torch.compile (empty: none), which take the fastest backend and its batch;
# KERNELS=0 and ORACLE=0 leave the single operations and the comparison with float64 out; DEVICE=cpu rehearses the peer without a GPU.
set -eu
: "${PLUGIN:=build/gcc/reach-cuda.so}" "${PYTHON:=python3}" "${NVCC:=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" "${CC:=gcc}" "${CARRY=build/carry.tar.xz}" "${DEVICE:=cuda}"
: "${TOOLS=memcheck racecheck synccheck}" "${TOOL_SECONDS:=150}" "${KERNELS:=1}" "${ORACLE:=1}" "${REPEATS:=3}"
: "${CASES:=gpt2-small:2048:bf16 gpt2-small:2048:tf32 pythia-1.4b:2048:bf16 llama-7b:2048:bf16 gpt2-xl:2048:bf16 gpt2-small:8192:bf16 gpt2-small:32768:bf16 pythia-1.4b:2048:tf32}"
: "${COMPILED=$CASES}" "${BACKENDS=flash cudnn efficient}"
out=${GPU_BUILD:-build/gpu} carried=
flags="-std=gnu11 -O2 -g -Wall -Wextra -fopenmp -ffp-contract=off -fno-math-errno -I. -D_GNU_SOURCE"
tests="kernels-sets kernels-weights kernels-attention-mass kernels-cuda-plugin kernels-cuda-attention kernels-cuda-products model-cuda"
export OMP_WAIT_POLICY=passive
value() { sed -n "s/^$1=//p" "$2"; }

# objects NAME FLAGS FILE...: compiles into $out/NAME and adds to $objects
objects() {
    folder=$out/$1 more=$2
    shift 2
    mkdir -p "$folder"
    for file in "$@"; do
        object=$folder/$(echo "$file" | tr / _).o
        [ "$object" -nt "$file" ] || $CC $flags $more -c "$file" -o "$object"
        objects="$objects $object"
    done
}
kernel_objects() {
    objects plain "" kernels/registry.c kernels/plugin.c kernels/shared.c io/error.c io/element.c io/blocks.c io/scaled.c io/memory.c io/memory_groups.c bench/gpu/stubs.c
    objects f32 -DREFERENCE_F32 kernels/reference/*.c
    objects f64 -DREFERENCE_F64 kernels/reference/*.c
}
model_objects() {
    objects plain "" model/engine.c model/experts.c model/near_ties.c model/shape.c model/buffers.c model/measure.c model/forward.c model/reverse.c model/plan.c model/weights.c model/score.c model/scores.c model/attribution.c model/mass.c \
        analyze/formula*.c analyze/presets.c analyze/curve.c analyze/attribution.c analyze/bootstrap.c tests/memory_decoder.c
}
# Whether a program of one line with this header, and these options, can be made. BARE=1: as if there were neither cmocka nor Jansson.
have() {
    header=$1
    shift
    [ "${BARE:-0}" = 0 ] && printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <%s>\nint main(void){return 0;}\n' "$header" |
        $CC -x c - -o /dev/null "$@" 2>/dev/null
}
have jansson.h || flags="$flags -Ibench/gpu/bare"
# The real cmocka where it is.
find_cmocka() {
    if have cmocka.h -lcmocka; then
        cmocka_flags= cmocka_library=-lcmocka test_objects=tests
    else
        cmocka_flags=-Ibench/gpu/cmocka cmocka_library= test_objects=tests-small
    fi
}

build_tests() {
    find_cmocka
    for test in $tests; do
        objects=
        kernel_objects
        [ "$test" != model-cuda ] || model_objects
        objects $test_objects "$cmocka_flags" "tests/t-$test.c" tests/compare.c tests/kernel_run.c tests/kernel_attention.c tests/kernel_experts.c
        [ -n "$cmocka_library" ] || objects $test_objects "$cmocka_flags" bench/gpu/cmocka/cmocka.c
        $CC $flags -o "$out/t-$test" $objects $cmocka_library -ldl -lm
    done
}
build_bench() {
    objects=
    kernel_objects
    if [ "$KERNELS" = 1 ]; then
        $NVCC -std=c++17 -O2 -I. -D_GNU_SOURCE -Xcompiler -fopenmp -o "$out/kernels" bench/gpu/kernels.cu $objects -L"$(dirname "$NVCC")/../lib64" -lcublasLt -ldl
    fi
    model_objects
    objects plain "" bench/gpu/erf.c
    $CC $flags -o "$out/erf" $objects -ldl -lm
}

# Programs out of CARRY, with their libraries; the plug-in with them.
unpack() {
    if [ -n "$CARRY" ] && [ -f "$CARRY" ]; then
        carried=$out/carried
        mkdir -p "$carried"
        # Python unpacks it where there is no xz
        tar xJf "$CARRY" -C "$carried" 2>/dev/null || "$PYTHON" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$CARRY" "$carried"
        [ ! -f "$carried/reach-cuda.so" ] || PLUGIN=$carried/reach-cuda.so
    fi
    export REACH_CUDA="$PLUGIN"
    case $REACH_CUDA in /*) ;; *) REACH_CUDA=$PWD/$REACH_CUDA ;; esac
}
# Runs a program that was built here or carried.
run() {
    program=$1
    shift
    if [ -n "$carried" ]; then
        LD_LIBRARY_PATH=$carried/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$carried/$program" "$@"
    else
        "$out/$program" "$@"
    fi
}

check() {
    if [ -n "$carried" ]; then
        programs=
        for test in "$carried"/t-*; do
            programs="$programs $test"
        done
        export LD_LIBRARY_PATH="$carried/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    else
        build_tests
        programs=$(for test in $tests; do echo "$out/t-$test"; done)
    fi
    sh tests/run.sh $programs
    for tool in $TOOLS; do
        for test in kernels-cuda-plugin model-cuda kernels-cuda-attention; do
            program=${carried:-$out}/t-$test rc=0
            echo "== compute-sanitizer --tool $tool $program"
            timeout "$TOOL_SECONDS" compute-sanitizer --tool "$tool" --error-exitcode 3 "$program" >"$out/sanitizer.txt" 2>&1 || rc=$?
            case $rc in
            0) tail -n 1 "$out/sanitizer.txt" ;;
            124) echo "not at its end after $TOOL_SECONDS s; nothing found up to there: $(grep -c '^\[       OK' "$out/sanitizer.txt") tests" ;;
            *) tail -n 40 "$out/sanitizer.txt"; exit 1 ;;
            esac
        done
    done
}

# peer OPTION...: one run of the peer of this case; its figures in $out/peer.txt
peer() {
    "$PYTHON" bench/gpu/peer.py "$shape" "$length" "$@" --device "$DEVICE" >"$out/peer.txt" 2>"$out/peer.err"
}
difference() { "$PYTHON" bench/compare.py "$1" "$2" 2>/dev/null || echo -; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0 && b > 0) printf "%.2f", a / b; else printf "-" }'; }
row() { printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$@" | tee -a "$out/bench.md"; }

one_case() {
    shape=${1%%:*} dtype=${1##*:} length=${1#*:}
    length=${length%%:*}
    if ! NORMS=$out/reach.norm run erf "$shape" "$length" "$dtype" "$REPEATS" >"$out/reach.txt" 2>&1; then
        row "$shape" "$length" "$dtype" "reach failed: $(tail -n 1 "$out/reach.txt")" - - - - - - -
        return
    fi
    rm -f "$out/oracle.norm"
    oracle=
    if [ "$ORACLE" = 1 ] && [ $with_peer = 1 ]; then # float64 where it fits
        for type in f64 f32; do
            if peer $type 1 "$out/oracle.norm" --batch 1; then
                oracle=$type
                break
            fi
        done
    fi
    seconds=$(value seconds "$out/reach.txt") memory=$(value memory "$out/reach.txt")
    row "$shape" "$length" "$dtype" "reach" "$(value batch "$out/reach.txt")" "$seconds" "$(value tflops "$out/reach.txt")" "$memory" - - \
        "$(difference "$out/reach.norm" "$out/oracle.norm")${oracle:+ ($oracle)}"
    [ $with_peer = 1 ] || return 0
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
    row "$shape" "$length" "$dtype" "PyTorch, $name" "$(value batch "$out/peer.txt")" "$took" "$(awk -v f="$(value flops "$out/reach.txt")" -v s="$took" 'BEGIN { printf "%.2f", f / s * 1e-12 }')" \
        "$held" "$(ratio "$seconds" "$took")" "$(ratio "$memory" "$held")" "$(difference "$out/peer.norm" "$out/oracle.norm")"
}

bench() {
    [ -n "$carried" ] || build_bench
    {
        echo "$(date -u +%Y-%m-%d), $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo 'no GPU: a rehearsal')"
        echo
    } | tee "$out/bench.md"
    if [ "$KERNELS" = 1 ]; then
        { echo '```'; run kernels; echo '```'; } | tee -a "$out/bench.md"
    fi
    with_peer=1
    "$PYTHON" -c 'import sys, torch, transformers; assert sys.argv[1] == "cpu" or torch.cuda.is_available()' "$DEVICE" 2>/dev/null || with_peer=0
    if [ $with_peer = 0 ]; then
        echo "(no PyTorch with transformers and a GPU in $PYTHON: no peer)" | tee -a "$out/bench.md"
    elif [ "$KERNELS" = 1 ]; then
        { echo '```'; "$PYTHON" bench/gpu/attention.py --device "$DEVICE" 2>&1 || true; echo '```'; } | tee -a "$out/bench.md"
    fi
    {
        echo
        echo '| shape | length | type | program | batch | s/segment | TFLOP/s | GB | reach / PyTorch, time | memory | max abs. difference of c from the oracle |'
        echo '|---|---|---|---|---|---|---|---|---|---|---|'
    } | tee -a "$out/bench.md"
    for case in $CASES; do
        one_case "$case"
    done
}

mkdir -p "$out"
unpack
case ${1:-} in
build) build_tests && build_bench ;;
check) check ;;
bench) bench ;;
*) echo "usage: run.sh build|check|bench" >&2; exit 2 ;;
esac
