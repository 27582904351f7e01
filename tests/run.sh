#!/bin/sh
# Runs the test programs given as arguments, JOBS at a time (default: one more than there are
# processors, because some wait), and adds up cmocka's reports: a line for each program as it ends,
# followed by its failures. Exit 1 if any test failed, any program crashed, or none ran.
# NAME=VALUE:PROGRAM runs a program with that in its environment. The slowest programs of the last
# run start first: TIMES records their times.

# run_one FOLDER PROGRAM: prints one line, and writes the counts for the sum
run_one() {
    # makes waiting threads sleep: tests run on busy machines, with more threads than processors
    export OMP_WAIT_POLICY=passive
    # the OpenMP library of clang keeps memory of its threads until the end
    export LSAN_OPTIONS="suppressions=$PWD/tests/leaks.txt:print_suppressions=0"
    log=$(mktemp "$1/log.XXXXXX")
    start=$(date +%s)
    case $2 in
    *:*) env "${2%%:*}" "${2#*:}" >"$log" 2>&1 ;;
    *) "$2" >"$log" 2>&1 ;;
    esac
    rc=$?
    seconds=$(($(date +%s) - start))
    p=$(grep -c '^\[       OK \]' "$log")
    # cmocka lists a failed test twice: when it fails and in its final list, after the counts
    f=$(grep '^\[  FAILED  \] [^0-9]' "$log" | grep -v ' test(s), listed below:$' | sort -u | wc -l)
    s=$(grep '^\[  SKIPPED \] [^0-9]' "$log" | grep -v ' test(s), listed below:$' | sort -u | wc -l)
    name=${2##*/} broken=
    case $2 in *:*) name="$name ${2%%:*}" ;; esac
    if [ $rc -ne 0 ] && [ "$f" -eq 0 ]; then
        broken="exit $rc" f=1
    elif [ "$p" -eq 0 ] && [ "$f" -eq 0 ] && [ "$s" -eq 0 ]; then
        broken='no test ran' f=1
    fi
    shown=
    [ "$f" -eq 0 ] || shown=$(grep -v '^\[ RUN  \|^\[       OK' "$log" | head -n 60)
    # one write: several programs end at a time
    printf '%-40s %4d passed %3d failed %3d skipped %4d s\n%s' "$name" "$p" "$f" "$s" "$seconds" "${broken:+broken: $name ($broken)
}${shown:+$shown
}"
    printf '%s %s %s %s %s\n' "$p" "$f" "$s" "$seconds" "$2" >>"$1/counts"
}

if [ "${1:-}" = --one ]; then
    run_one "$2" "$3"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
: >"$folder/counts"
for t in "$@"; do
    seconds=$([ ! -f "${TIMES:-}" ] || grep -F -x -m 1 -e "$t" -A 1 "$TIMES" | tail -n 1)
    printf '%s %s\n' "${seconds:-999}" "$t"
done | sort -s -n -r | cut -d ' ' -f 2- | xargs -P "${JOBS:-$(($(nproc) + 1))}" -I '{}' sh "$0" --one "$folder" '{}'
[ -z "${TIMES:-}" ] || awk '{ print $5; print $4 }' "$folder/counts" >"$TIMES"
awk -v programs=$# '
    { passed += $1; failed += $2; skipped += $3 }
    END { if (NR != programs) { printf "broken: %d of %d programs ended\n", NR, programs; failed += programs - NR }
          printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
          exit failed > 0 || passed == 0 }' "$folder/counts"
