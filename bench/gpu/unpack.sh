#!/bin/sh
# unpack.sh CARRY FOLDER: unpacks what carry.sh packed, once; by Python where there is no xz.
set -eu
[ ! "$2/erf" -nt "$1" ] || exit 0
mkdir -p "$2"
tar xJf "$1" -C "$2" 2>/dev/null || "${PYTHON:-python3}" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2"
touch "$2/erf"
