#!/bin/sh
# The kernels of the CUDA set that no test launches, a line each; exit 1 if there are any.
#   launched.sh PLUG-IN FOLDER PROGRAM...
# FOLDER is what REACH_CUDA_HOST_LAUNCHED named while the programs ran on PLUG-IN, the stand-in; the kernels are those of kernels/cuda/registers.txt, as nvcc
# compiled them.
set -eu
export LC_ALL=C
plugin=$1 folder=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program; do
    [ -s "$folder/$program" ] || { echo "launched: $program launched nothing" >&2; exit 1; }
    cat "$folder/$program"
done | sort -u >"$work/at"
# names without arguments, as the table has them: a template's comes with its result's type
nm -C "$plugin" | grep '^[0-9a-f]* [tTwW] ' | sort | join "$work/at" - | cut -d ' ' -f 3- | sed -e 's/^void //' -e 's/(.*//' | sort -u >"$work/launched"
sed 1d kernels/cuda/registers.txt | cut -d ' ' -f 5- | sort -u >"$work/all"
comm -13 "$work/launched" "$work/all" >"$work/missing"
[ "$(wc -l <"$work/launched")" -gt 0 ] && comm -23 "$work/launched" "$work/all" | grep . >"$work/new" && {
    sed 's/^/launched: not in kernels\/cuda\/registers.txt (make registers-table): /' "$work/new" >&2
    exit 1
}
if [ -s "$work/missing" ]; then
    sed 's/^/launched: no test launches /' "$work/missing" >&2
    exit 1
fi
echo "launched: all $(wc -l <"$work/all") kernels"
