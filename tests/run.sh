#!/bin/sh
# Runs the test programs given as arguments and adds up what cmocka reports. Exit 1 if any test failed, any program crashed, or none ran.
# NAME=VALUE:PROGRAM runs a program with that in its environment.
# waiting threads sleep: tests run on busy machines, and with more threads than processors
export OMP_WAIT_POLICY=passive
passed=0 failed=0 skipped=0 broken=
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for t in "$@"; do
    start=$(date +%s)
    case $t in
    *:*) env "${t%%:*}" "${t#*:}" >"$log" 2>&1 ;;
    *) "$t" >"$log" 2>&1 ;;
    esac
    rc=$?
    p=$(grep -c '^\[       OK \]' "$log")
    # cmocka lists a failed test twice: when it fails and in its closing list
    f=$(grep '^\[  FAILED  \] [^0-9]' "$log" | sort -u | wc -l)
    s=$(grep '^\[  SKIPPED \] [^0-9]' "$log" | sort -u | wc -l)
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    name=${t##*/}
    case $t in *:*) name="$name ${t%%:*}" ;; esac
    printf '%-40s %4d passed %3d failed %3d skipped %4d s\n' "$name" "$p" "$f" "$s" "$(($(date +%s) - start))"
    if [ $rc -ne 0 ] || [ $f -ne 0 ]; then
        grep -v '^\[ RUN  \|^\[       OK' "$log" | head -n 60
        [ $f -ne 0 ] || { broken="$broken $name (exit $rc)"; failed=$((failed + 1)); }
    elif [ "$p" -eq 0 ] && [ "$s" -eq 0 ]; then
        broken="$broken $name (no test ran)"; failed=$((failed + 1))
    fi
done
[ -z "$broken" ] || echo "broken:$broken"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
