#!/bin/sh
# make tsan: eight commands of a program built by clang with ThreadSanitizer, on four threads.
# Archer, part of LLVM's OpenMP, reports that library's barriers to the sanitizer; libraries built
# without it (oneDNN, HDF5) are not checked. One line each; exit 1 with the report if one finds a
# race or fails. If reach-mpi is beside the program and mpirun works, also a run by three ranks.
#
#   tests/tsan.sh REACH
set -eu
reach=$(realpath "$1")
cd "$(dirname "$0")/.."
archer=$(for f in $(clang -print-file-name=libarcher.so) /usr/lib/llvm-*/lib/libarcher.so; do [ ! -f "$f" ] || { echo "$f"; break; }; done)
[ -n "$archer" ] || { echo 'tsan: there is no libarcher.so (expected that of libomp-dev, of the same LLVM as clang)' >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive OMP_TOOL_LIBRARIES="$archer" ARCHER_OPTIONS=verbose=1
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 halt_on_error=0"
text=examples/text/sqlalchemy.py.gz
failed=0 under=
try() { # NAME WORDS...
    name=$1
    shift
    rc=0
    $under "$reach" "$@" >"$work/out" 2>"$work/err" || rc=$?
    if [ $rc -ne 0 ] || ! grep -q "Archer detected OpenMP application with TSan" "$work/out" "$work/err"; then
        echo "$name: exit $rc"
        head -n 80 "$work/err"
        failed=1
    else
        echo "$name: no race"
    fi
}
try 'erf, two models, all layers, attention' erf examples/models/alibi examples/models/window-24 --text $text --length 160 --segments 6 --bootstrap 20 --layer all --attention -o "$work/erf"
try 'erf, recomputed, one thread more' erf examples/models/rotary --text $text --length 700 --segments 3 --bootstrap 20 --memory 12M --threads 5 -o "$work/recomputed"
try 'erf, integrated gradients' erf examples/models/t5 --text $text --length 96 --segments 2 --bootstrap 20 --attribution ig -o "$work/ig"
try 'erf, losses' erf examples/models/none --text $text --length 96 --segments 6 --bootstrap 20 --validate 3 -o "$work/losses"
try 'erf, double' erf examples/models/alibi --text $text --length 64 --segments 3 --bootstrap 20 --dtype f64 -o "$work/double"
try 'ppl' ppl examples/models/alibi --text $text --context 64 --segments 6
try 'explain' explain examples/models/rotary --prompt 'def measure(self, query):' -o "$work/explain"
try 'info' info examples/models/sandwich --length 300
ranks='mpirun --allow-run-as-root --oversubscribe --bind-to none --mca plm isolated --mca pml ob1 --mca btl self,vader --mca btl_vader_single_copy_mechanism none -n 3'
if [ -x "$reach-mpi" ] && $ranks true >/dev/null 2>&1; then
    reach=$reach-mpi under=$ranks
    try 'erf, three ranks' erf examples/models/alibi --text $text --length 100 --segments 40 --bootstrap 20 -o "$work/ranks"
else
    echo 'erf, three ranks: skipped, for want of reach-mpi or mpirun'
fi
exit $failed
