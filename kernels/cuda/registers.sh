#!/bin/sh
# Registers and spills of each kernel of the CUDA set, as nvcc said when `make cuda` compiled it (build/cuda/kernels/cuda/*.ptxas), against registers.txt: exit 1 for
# one that has another number, for one that is new, and for one that is gone. `registers.sh --write` writes the table. It is of one version of nvcc, named
# in its first line; another version is said to be another, and nothing is compared. Files that were compiled before nvcc was asked have no figures and are left out.
#   NVCC, CUDA_BUILD (default build/cuda)
set -eu
: "${NVCC:=nvcc}" "${CUDA_BUILD:=build/cuda}"
table=kernels/cuda/registers.txt
version=$("$NVCC" --version | sed -n 's/.*release [^,]*, V//p')
new=$(mktemp)
trap 'rm -f "$new"' EXIT
for log in "$CUDA_BUILD"/kernels/cuda/*.ptxas; do
    [ -f "$log" ] || { echo "registers: there is nothing below $CUDA_BUILD (expected: make cuda)" >&2; exit 1; }
    # several files have kernels of one name
    c++filt <"$log" | awk -v file="$(basename "$log" .cu.ptxas)" '
        / Compiling entry function / { kernel = $0; sub(/^[^'"'"']*'"'"'/, "", kernel); machine = kernel; sub(/'"'"' for .*/, "", kernel)
            sub(/.* for '"'"'/, "", machine); sub(/'"'"'.*/, "", machine); sub(/\(.*/, "", kernel); sub(/^void /, "", kernel) }
        / bytes spill stores/ { spilled = $5 }
        / Used [0-9]+ registers/ { match($0, /Used [0-9]+/); print file, machine, substr($0, RSTART + 5, RLENGTH - 5), spilled, kernel }'
done | LC_ALL=C sort -u >"$new.sorted"
{
    echo "# nvcc $version: file, machine, registers of a thread, bytes that it spills, kernel. Made by \`make registers-table\`; compared by \`make registers\`."
    cat "$new.sorted"
} >"$new"
rm "$new.sorted"
if [ "${1:-}" = --write ]; then
    cat "$new" >$table
    echo "$table: $(($(wc -l <$table) - 1)) kernels"
    exit
fi
was=$(sed -n '1s/^# nvcc \([0-9.]*\):.*/\1/p' $table)
if [ "$was" != "$version" ]; then
    echo "registers: this is nvcc $version and $table is of $was; nothing is compared"
    exit
fi
# only files that were compiled here, for the machines that they were compiled for, and that the table has
both=$(sed 1d "$new" | cut -d ' ' -f 1,2 | sort -u | while read -r file machine; do
    if grep -q "^$file $machine " $table; then printf '%s|' "$file $machine"; else echo "registers: $table has nothing of $file.cu for $machine" >&2; fi
done)
sed 1d $table | grep -E "^(${both%|}) " >"$new.was" || true
sed 1d "$new" | grep -E "^(${both%|}) " >"$new.is" || true
differ=$(diff "$new.was" "$new.is" || true)
count=$(wc -l <"$new.is")
rm -f "$new.was" "$new.is"
if [ -n "$differ" ]; then
    printf '%s\n' "$differ" | grep '^[<>]' | sed -e 's/^</was/' -e 's/^>/is /' >&2
    echo "registers: other numbers than in $table (a kernel that needs more: why? then make registers-table)" >&2
    exit 1
fi
echo "registers: $count kernels as in $table"
