#!/bin/sh
# Runs the commands of the documents given as arguments: the lines of their blocks marked sh, in a folder of its own in which ./reach and examples/ are those of this
# tree (REACH: another program). Every command must end with 0.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
reach=${REACH:-$root/reach}
case $reach in /*) ;; *) reach=$PWD/$reach ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
wrong=0 count=0
for document; do
    case $document in /*) ;; *) document=$PWD/$document ;; esac
    rm -rf "$folder/run" && mkdir "$folder/run"
    ln -s "$root/examples" "$reach" "$folder/run/"
    awk '/^```/ { inside = $0 == "```sh"; next } inside' "$document" >"$folder/commands"
    while IFS= read -r command; do
        count=$((count + 1))
        (cd "$folder/run" && sh -c "$command" </dev/null >"$folder/out" 2>&1) || {
            echo "${document##*/}: exit $? of: $command" >&2
            tail -n 5 "$folder/out" >&2
            wrong=1
        }
    done <"$folder/commands"
done
echo "$count commands of the documents were run"
[ "$wrong" -eq 0 ] && [ "$count" -gt 0 ]
