#!/bin/sh
# Checks the subjects of commits since this file was added: at most 72 characters, no full stop at
# the end. Exit 1, and a line for each that fails.
set -eu
cd "$(dirname "$0")/.."
first=$(git log --diff-filter=A --format=%H -- tests/subjects.sh | tail -n 1)
[ -n "$first" ] || { echo 'tests/subjects.sh: no history here, so no subject was looked at'; exit 0; }
git log --no-merges --format=%s "$first..HEAD" | awk '
    length($0) > 72 { print "a commit has a subject of " length($0) " characters (expected at most 72): " $0; wrong = 1 }
    /\.$/ { print "the subject of a commit ends with a full stop: " $0; wrong = 1 }
    END { exit wrong }' >&2
