#!/bin/sh
# make bench-long: memory for long inputs, planned and used, with --keep bf16 and --scratch: the
# tables of doc/performance.md. Exit 1 if a plan is off by more than a tenth, and by more than the
# 24 MB that oneDNN allocates itself. DISK is a folder with some 100 MB; the checkpoint with
# Llama-3-8B's sizes holds zeros and takes no room.
set -eu
: "${BUILD:=build/gcc}" "${DISK:=/tmp}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BUILD/bench/random_checkpoint" "$work/llama-8b" llama 32 32 4096 14336 128256 8 zeros
"$BUILD/bench/random_checkpoint" "$work/llama-16-layers" llama 16 8 512 1536 4096 2
off=0

# the least memory without disk, in MB, for a request: read from the refusal
least() { # FOLDER LENGTH KEEP
    "$BUILD/bench/plan" --only "$1" "$2" 1 "$3" 2>&1 | sed -n 's/.*needs\{0,1\} \([0-9.]*\) \([kMG]\)B,\{0,1\} and.*/\1 \2/p' | head -n 1 |
        awk '{ print $1 * ($2 == "G" ? 1000 : $2 == "k" ? 0.001 : 1) }'
}

echo '| shape | length | `--keep` | least memory, MB | with `--scratch` and 20 GB, MB | on disk, MB |'
echo '|---|---|---|---|---|---|'
for keep in f32 bf16; do
    for length in 16384 32768; do
        least=$(least "$work/llama-8b" $length $keep)
        # shellcheck disable=SC2046 # seven words
        set -- $("$BUILD/bench/plan" --only "$work/llama-8b" $length 20000 $keep "$DISK" 2>/dev/null || echo - - - - - - -)
        echo "| llama-8b | $length | $keep | $least | $5 | $7 |"
    done
done
echo
echo '| shape | length | `--keep` | `--memory` | layers stored | plan, MB | taken, MB | plan / taken | on disk, MB |'
echo '|---|---|---|---|---|---|---|---|---|'
row() { # FOLDER LENGTH MEMORY_MB KEEP [SCRATCH]
    name=$(basename "$1") length=$2 memory=$3 keep=$4
    line=$("$BUILD/bench/plan" "$@")
    # shellcheck disable=SC2086 # seven words
    set -- $line
    [ "$memory" = 0 ] && memory='' || memory=${memory}M
    awk -v n="$name" -v l="$length" -v k="$keep" -v m="$memory" -v s="$2" -v of="$3" -v p="$5" -v t="$6" -v d="$7" 'BEGIN {
        printf "| %s | %d | %s | %s | %d of %d | %.1f | %.1f | %.2f | %.1f |\n", n, l, k, m, s, of, p, t, p / t, d
        exit !(p / t > 0.9 && p / t < 1.1 || t - p > 0 && t - p < 24) }' || off=1
}
for of in "$work/llama-16-layers 1024" "examples/models/window-64 131072" "examples/models/alibi-minus-3 32768"; do
    # shellcheck disable=SC2086 # a folder and a length
    set -- $of
    row "$1" "$2" 0 f32
    row "$1" "$2" 0 bf16
    case $1 in *window*) continue ;; esac # its inputs are a cone
    for keep in f32 bf16; do
        row "$1" "$2" "$(least "$1" "$2" $keep | awk '{ print $1 * 0.96 }')" $keep "$DISK"
    done
done
exit $off
