#!/bin/sh
# make gpu-check, make gpu-bench: on a machine with a GPU. nvcc, cuBLAS and gcc are enough to build; the peer needs PyTorch with transformers.
#   NVCC, PLUGIN (reach-cuda.so), PYTHON from make; TOOLS="memcheck racecheck synccheck": compute-sanitizer's tools for `check` (empty: none).
#   CASES="gpt2-small:2048:bf16 ..." for `bench`: SHAPE:LENGTH:DTYPE of bench/gpu/shapes.h; COMPILE=0 leaves torch.compile out; KERNELS=0 the kernels.
set -eu
: "${PLUGIN:=build/gcc/reach-cuda.so}" "${PYTHON:=python3}" "${NVCC:=nvcc}" "${CC:=gcc}"
: "${TOOLS=memcheck racecheck synccheck}" "${COMPILE:=1}" "${KERNELS:=1}"
: "${CASES:=gpt2-small:2048:bf16 gpt2-small:2048:tf32 gpt2-xl:2048:bf16 pythia-1.4b:2048:bf16 pythia-1.4b:2048:tf32 llama-7b:2048:bf16 gpt2-small:8192:bf16 gpt2-small:32768:bf16}"
out=${GPU_BUILD:-build/gpu}
flags="-std=gnu11 -O2 -g -Wall -Wextra -fopenmp -ffp-contract=off -fno-math-errno -I. -D_GNU_SOURCE"
export REACH_CUDA="$PLUGIN" OMP_WAIT_POLICY=passive
case $REACH_CUDA in /*) ;; *) REACH_CUDA=$PWD/$REACH_CUDA ;; esac
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
    objects plain "" kernels/registry.c kernels/plugin.c kernels/shared.c io/error.c io/element.c bench/gpu/stubs.c
    objects f32 -DREFERENCE_F32 kernels/reference/*.c
    objects f64 -DREFERENCE_F64 kernels/reference/*.c
}
model_objects() {
    objects plain "" model/engine.c model/forward.c model/reverse.c model/plan.c model/weights.c model/score.c model/scores.c analyze/formula*.c analyze/presets.c \
        analyze/curve.c tests/memory_decoder.c
}
# The real cmocka where it is.
find_cmocka() {
    if printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>\nint main(void){return 0;}\n' |
        $CC -x c - -o /dev/null -lcmocka 2>/dev/null; then
        cmocka_flags= cmocka_library=-lcmocka tests=tests
    else
        cmocka_flags=-Ibench/gpu/cmocka cmocka_library= tests=tests-small
    fi
}

check() {
    find_cmocka
    programs=
    for test in kernels weights cuda cuda-attention cuda-model; do
        [ -f "tests/t-$test.c" ] || continue
        objects=
        kernel_objects
        [ "$test" != cuda-model ] || model_objects
        objects $tests "$cmocka_flags" "tests/t-$test.c" tests/compare.c tests/kernel_run.c tests/kernel_attention.c
        [ -n "$cmocka_library" ] || objects $tests "$cmocka_flags" bench/gpu/cmocka/cmocka.c
        $CC $flags -o "$out/t-$test" $objects $cmocka_library -ldl -lm
        programs="$programs $out/t-$test"
    done
    sh tests/run.sh $programs
    for tool in $TOOLS; do
        for program in $out/t-cuda $out/t-cuda-model $out/t-cuda-attention; do
            [ -x "$program" ] || continue
            echo "== compute-sanitizer --tool $tool $program"
            compute-sanitizer --tool "$tool" --error-exitcode 3 "$program" >"$out/sanitizer.txt" 2>&1 || { tail -n 40 "$out/sanitizer.txt"; exit 1; }
            tail -n 1 "$out/sanitizer.txt"
        done
    done
}

bench() {
    objects=
    kernel_objects
    if [ "$KERNELS" = 1 ]; then
        $NVCC -std=c++17 -O2 -I. -D_GNU_SOURCE -Xcompiler -fopenmp -o "$out/kernels" bench/gpu/kernels.cu $objects -L"$(dirname "$NVCC")/../lib64" -lcublasLt -ldl
        "$out/kernels"
    fi
    model_objects
    objects plain "" bench/gpu/erf.c
    $CC $flags -o "$out/erf" $objects -ldl -lm
    peer=1
    "$PYTHON" -c 'import torch, transformers; assert torch.cuda.is_available()' 2>/dev/null || { peer=0; echo "(no PyTorch with transformers and a GPU in $PYTHON: no peer)"; }
    modes=eager
    [ "$COMPILE" = 0 ] || modes="eager compiled"
    printf '%-12s %6s %-5s %10s %9s %6s | %-9s %10s %6s %6s %9s\n' shape length type 's/segment' TFLOP/s batch peer 's/segment' batch ratio 'max |dc|'
    for case in $CASES; do
        shape=${case%%:*} dtype=${case##*:} length=${case#*:}
        length=${length%%:*}
        if ! NORMS=$out/reach.norm "$out/erf" "$shape" "$length" "$dtype" 3 >"$out/reach.txt" 2>&1; then
            printf '%-12s %6s %-5s failed: %s\n' "$shape" "$length" "$dtype" "$(tail -n 1 "$out/reach.txt")"
            continue
        fi
        line=$(printf '%-12s %6s %-5s %10s %9s %6s' "$shape" "$length" "$dtype" "$(value seconds "$out/reach.txt")" "$(value tflops "$out/reach.txt")" "$(value batch "$out/reach.txt")")
        for mode in $modes; do
            [ $peer = 1 ] || { echo "$line"; break; }
            option=
            [ $mode = eager ] || option=--compile
            if "$PYTHON" bench/gpu/peer.py "$shape" "$length" "$dtype" 3 "$out/peer.norm" $option >"$out/peer.txt" 2>"$out/peer.err"; then
                ratio=$(awk -v a="$(value seconds "$out/reach.txt")" -v b="$(value seconds "$out/peer.txt")" 'BEGIN { printf "%.2f", a / b }')
                printf '%s | %-9s %10s %6s %6s %9s\n' "$line" $mode "$(value seconds "$out/peer.txt")" "$(value batch "$out/peer.txt")" "$ratio" \
                    "$("$PYTHON" bench/compare.py "$out/reach.norm" "$out/peer.norm")"
            else
                printf '%s | %-9s failed: %s\n' "$line" $mode "$(tail -n 1 "$out/peer.err")"
            fi
        done
        echo "  $(value plan "$out/reach.txt")"
    done
}

case ${1:-} in
check) check ;;
bench) bench ;;
*) echo "usage: run.sh check|bench" >&2; exit 2 ;;
esac
