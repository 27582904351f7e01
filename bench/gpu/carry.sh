#!/bin/sh
# Packs what a machine with a GPU but without this project's libraries needs into build/carry.tar.xz: the plug-in, the tests, reach and the benchmark programs, each
# stripped, with every library that they load and that belongs neither to the C library nor to CUDA. Run after `make tests all cuda`; bench/gpu/run.sh
# there unpacks it. Arguments are more files or folders to pack (a corpus).
#   BUILD (default build/gcc), PLUGIN (default $BUILD/reach-cuda.so), CARRY (default build/carry.tar.xz); KERNELS=0 as in run.sh
set -eu
: "${BUILD:=build/gcc}" "${CARRY:=build/carry.tar.xz}" "${GPU_BUILD:=build/gpu}"
: "${PLUGIN:=$BUILD/reach-cuda.so}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
CARRY= GPU_BUILD=$GPU_BUILD PLUGIN=$PLUGIN sh bench/gpu/run.sh build
mkdir "$folder/lib"
for file in "$GPU_BUILD"/t-* "$GPU_BUILD/erf" "$GPU_BUILD/kernels" "$BUILD/reach" "$BUILD/tests/t-model-goldens" "$BUILD/tests/t-kernels-registry" "$PLUGIN"; do
    case $file in *.o) continue ;; esac
    [ ! -f "$file" ] || strip -o "$folder/$(basename "$file")" "$file"
done
[ "$(basename "$PLUGIN")" = reach-cuda.so ] || mv "$folder/$(basename "$PLUGIN")" "$folder/reach-cuda.so"
for file in "$folder"/*; do
    [ -f "$file" ] && ldd "$file" | awk '$3 ~ /^\// { print $3 }'
done | sort -u | while read -r library; do
    case $(basename "$library") in
    libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libresolv.so* | ld-linux* | libcublas* | libcudart*) ;;
    *) strip --strip-unneeded -o "$folder/lib/$(basename "$library")" "$library" ;;
    esac
done
for more in "$@"; do
    cp -r "$more" "$folder/"
done
mkdir -p "$(dirname "$CARRY")"
tar cJf "$CARRY" -C "$folder" .
ls -l "$CARRY" | awk -v programs="$(ls "$folder" | tr '\n' ' ')" '{ printf "%s: %.1f MiB (%s)\n", $NF, $5 / 1048576, programs }'
