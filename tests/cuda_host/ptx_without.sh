#!/bin/sh
# The set as PTX with a barrier out: the test that is named must fail on it, or nothing here proves anything.
#   ptx_without.sh FILE N TEST     the N-th bar.sync of kernels/cuda/FILE.cu
# The Makefile calls it once all is built, and sets CXX, FLAGS, PYTHON, BUILD, PTX (the folder) and OBJECTS (of the plug-in).
set -eu
work=$BUILD/ptx_without
rm -rf "$work"
mkdir -p "$work"
$PYTHON tests/cuda_host/ptx.py "$PTX/$1.ptx" "$work/$1.cpp" "$2"
$CXX $FLAGS -c "$work/$1.cpp" -o "$work/$1.o"
objects=$(printf '%s\n' $OBJECTS | grep -v -x -F "$BUILD/cuda_ptx/$1.o")
$CXX $FLAGS -Wl,--no-undefined -shared -o "$work/cuda-ptx.so" $objects "$work/$1.o" -lutf8proc
if CMOCKA_TEST_ABORT=1 REACH_CUDA=$work/cuda-ptx.so REACH_CUDA_HOST_SEED=3 "$BUILD/tests/t-$3" >"$work/log" 2>&1; then
    echo "ptx_without: t-$3 passes without the bar.sync number $2 of $1.ptx" >&2
    exit 1
fi
if grep -q 'not among the translated' "$work/log"; then
    echo "ptx_without: t-$3 runs a kernel of a file that is not in PTX_OF" >&2
    exit 1
fi
echo "without the bar.sync number $2 of $1.ptx t-$3 fails, as it must: $(grep -v '^\[' "$work/log" | head -n 1)"
