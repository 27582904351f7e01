#!/bin/sh
# Runs studies on the example models and writes their pages: all of them in order, or those named. `make studies` calls it.
#   sh examples/studies/run.sh [NAME...]
set -eu
[ $# -gt 0 ] || set -- windows slopes absolute biases series rules theory protocols text layers seeds
for study in "$@"; do
    start=$(date +%s)
    sh "examples/studies/$study.sh"
    printf '%-12s %4d s   %s\n' "$study" $(($(date +%s) - start)) "doc/studies/$study.md"
done
