#!/bin/sh
# make bench-plan: the memory plan compared with the memory used, for shapes with different plans:
# the table of doc/reliability.md. Exit 1 if one is off by more than a tenth. Makes random
# checkpoints of GPT-2-small and Llama shape, some 750 MB in $TMPDIR or /tmp.
set -eu
: "${BUILD:=build/gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BUILD/bench/random_checkpoint" "$work/gpt2-small" gpt2 12 12 768 50257 4096 >/dev/null
"$BUILD/bench/random_checkpoint" "$work/llama-bf16" llama 8 16 1024 2816 32000 >/dev/null
off=0
echo '| shape | length | `--memory` | segments at a time | layers stored | weights | plan, MB | taken, MB | plan / taken |'
echo '|---|---|---|---|---|---|---|---|---|'
row() { # FOLDER LENGTH [MEMORY_MB]
    line=$("$BUILD/bench/plan" "$@")
    # shellcheck disable=SC2086 # six words
    set -- "$(basename "$1")" "$2" "${3:+$3M}" $line
    awk -v n="$1" -v l="$2" -v m="$3" -v b="$4" -v s="$5" -v of="$6" -v w="$7" -v p="$8" -v t="$9" 'BEGIN {
        printf "| %s | %d | %s | %d | %d of %d | %s | %.1f | %.1f | %.2f |\n", n, l, m, b, s, of, w, p, t, p / t
        exit !(p / t > 0.9 && p / t < 1.1) }' || off=1
}
row "$work/gpt2-small" 512
row "$work/gpt2-small" 2048
row "$work/gpt2-small" 2048 450
row "$work/llama-bf16" 512
row "$work/llama-bf16" 1024 400
row examples/models/alibi 8192
row examples/models/alibi-minus-3 16384
row examples/models/rotary 8192
row examples/models/t5 4096
row examples/models/kerple-log 4096
row examples/models/window-64 32768
row examples/models/window-64 131072
row examples/models/none 8192 100
exit $off
