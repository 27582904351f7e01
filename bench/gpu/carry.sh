#!/bin/sh
# Packs what a machine with a GPU but without this project's libraries needs into CARRY (default build/carry.tar.xz): what is in FOLDER (default build/gpu/programs, by
# `make gpu-programs`: the plug-in, tests, reach, the benchmark programs), stripped, with every library that they load and that belongs neither to the C library nor to CUDA.
# bench/gpu/run.sh there unpacks it. Arguments are more files or folders to pack (a corpus).
set -eu
: "${FOLDER:=build/gpu/programs}" "${CARRY:=build/carry.tar.xz}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/lib"
for file in "$FOLDER"/*; do
    strip -o "$folder/$(basename "$file")" "$file"
    ldd "$file" >"$folder/needs"
    ! grep -v 'libcu[a-z]*\.so\|libcublas' "$folder/needs" | grep 'not found' >&2 || { echo "carry.sh: $file needs what is not here" >&2; exit 1; }
    awk '$3 ~ /^\// { print $3 }' "$folder/needs" >>"$folder/libraries"
done
sort -u "$folder/libraries" | while read -r library; do
    case $(basename "$library") in
    libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libresolv.so* | ld-linux* | libcublas* | libcudart*) ;;
    *) strip --strip-unneeded -o "$folder/lib/$(basename "$library")" "$library" ;;
    esac
done
rm "$folder/needs" "$folder/libraries"
for more in "$@"; do
    cp -r "$more" "$folder/"
done
mkdir -p "$(dirname "$CARRY")"
# the programs share most of their code, and the dictionary sees several of them
tar cf "$folder.tar" -C "$folder" .
xz --x86 --lzma2="preset=${PRESET:-6},dict=64MiB" -c "$folder.tar" >"$CARRY.new"
rm "$folder.tar"
mv "$CARRY.new" "$CARRY"
ls -l "$CARRY" | awk -v programs="$(ls "$folder" | tr '\n' ' ')" '{ printf "%s: %.1f MiB (%s)\n", $NF, $5 / 1048576, programs }'
