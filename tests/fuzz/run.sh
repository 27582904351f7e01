#!/bin/sh
# run.sh FOLDER TARGET: one fuzz target for $SECONDS_EACH. The program is FOLDER/fuzz, its inputs and findings lie in FOLDER/seeds, corpus and found.
# With $RUNS, at most so many inputs from a fixed seed and no inputs of earlier runs: the same inputs each time, as far as the time allows.
# Exit 1 when something was found.
set -u
folder=$1 target=$2 here=$(dirname "$0")
bytes=$(sed -n "s/^TARGET($target, *\([0-9]*\))/\1/p" "$here/targets.h")
[ -n "$bytes" ] || { echo "$target is not a target of tests/fuzz/targets.h" >&2; exit 1; }
fixed= place=
if [ -n "${RUNS:-}" ]; then
    rm -rf "$folder/corpus/$target"
    fixed="-seed=1 -runs=$RUNS"
    # addresses are among what libFuzzer learns from; some containers do not let them be fixed
    ! setarch -R true 2>/dev/null || place='setarch -R'
fi
mkdir -p "$folder/corpus/$target" "$folder/found/$target"
# inputs that are files are written again and again: not to a disk where memory will do
scratch=$(mktemp -d /dev/shm/reach-fuzz-XXXXXX 2>/dev/null || mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
dictionary=
[ ! -f "$here/$target.dict" ] || dictionary=-dict=$here/$target.dict
# files of HDF5 are read by child processes, whose crashes are expected: only what ends this process counts
# shellcheck disable=SC2086
FUZZ_TARGET=$target TMPDIR=$scratch OMP_NUM_THREADS=1 LD_BIND_NOW=1 UBSAN_OPTIONS=print_stacktrace=1 \
  ASAN_OPTIONS=${ASAN_OPTIONS-allocator_may_return_null=1:quarantine_size_mb=16} \
  $place "$folder/fuzz" $fixed -max_total_time="$SECONDS_EACH" -max_len="$bytes" -timeout=60 -rss_limit_mb=3072 -malloc_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$folder/found/$target/" $dictionary "$folder/corpus/$target" "$folder/seeds/$target" $(ls -d "$here/cases/$target" 2>/dev/null) \
  >"$folder/$target.log" 2>&1
rc=$?
rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$folder/$target.log") executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$target.log")
coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$folder/$target.log" | tail -n 1)
printf '%-12s %10s inputs %8s a second %6s edges  %s\n' "$target" "${executions:-0}" "${rate:-0}" "${coverage:-0}" \
  "$([ $rc -eq 0 ] && echo nothing found || echo "FOUND, see $folder/$target.log")"
[ $rc -eq 0 ] || { grep -m 3 'ERROR:\|runtime error\|SUMMARY' "$folder/$target.log" | cut -c1-200; exit 1; }
