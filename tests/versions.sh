#!/bin/sh
# Checks that every file that names this tree's version names the same one. Exit 1, and a line for
# each that differs.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION := //p' Makefile)
wrong=0
# FILE SED-SCRIPT: the script prints the version in the file
same() {
    found=$(sed -n "$2" "$1" | head -n 1)
    [ "$found" = "$version" ] || { echo "$1: version '$found' (the Makefile has $version)" >&2; wrong=1; }
}
same CHANGELOG.md 's/^## \([0-9][0-9.]*\).*/\1/p'
same CITATION.cff 's/^version: //p'
same debian/changelog 's/^reach (\([^)]*\)).*/\1/p'
same python/reach_erf/__init__.py 's/^__version__ = "\(.*\)"/\1/p'
same pyproject.toml 's/^version = "\(.*\)"/\1/p'
exit $wrong
