#!/bin/sh
# Runs the commands in the documents given as arguments: the lines of their sh blocks, in a
# temporary folder where ./reach and examples/ are those of this tree (REACH: another program).
# Every command must exit with 0. An indented line that begins with `$ ` is also a command, and the
# indented lines below it are its output.
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
    awk -v folder="$folder" '
        /^    \$ / { n++; print substr($0, 7) >(folder "/shown-" n); inside = 1; next }
        inside && /^    / { print substr($0, 5) >(folder "/said-" n); next }
        { inside = 0 }' "$document"
    for shown in "$folder"/shown-*; do
        [ -f "$shown" ] || continue
        count=$((count + 1))
        (cd "$folder/run" && sh "$shown" </dev/null >"$folder/out" 2>&1) && diff "$folder/said-${shown##*-}" "$folder/out" >&2 || {
            echo "${document##*/}: prints something else: $(cat "$shown")" >&2
            wrong=1
        }
        rm -f "$shown" "$folder/said-${shown##*-}"
    done
done
echo "$count commands of the documents were run"
[ "$wrong" -eq 0 ] && [ "$count" -gt 0 ]
