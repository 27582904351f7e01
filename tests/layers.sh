#!/bin/sh
# Compares the includes of all sources with the table "Rooms" of doc/architecture.md: a room (a folder at the top) may include its own files and what its row names,
# rooms or single files. Headers may not include each other in a circle. A line for each include that is not permitted, with file and line; exit 1 if there is one.
#
#   tests/layers.sh [ROOT]             ROOT: default the working folder
#   tests/layers.sh --circles [ROOT]   also lists pairs of files in one room that include each other's headers (a.c b.h, and b.c a.h)
pairs=0
[ "${1:-}" != --circles ] || { pairs=1; shift; }
cd "${1:-.}" || exit 1
[ -f doc/architecture.md ] || { echo 'layers: doc/architecture.md is not here (expected the folder of the project)' >&2; exit 1; }
find . -name '.?*' -prune -o -path ./build -prune -o \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) -print | sed 's,^\./,,' | LC_ALL=C sort |
    awk -v pairs="$pairs" '
function room_of(path) { return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : "" }
function without_end(path) { sub(/\.[a-z]+$/, "", path); return path }
function complain(text) { print text; failed = 1 }

# the table
function read_rooms(    line, cells, items, n, i, item, inside, name) {
    while ((getline line < "doc/architecture.md") > 0) {
        if (line ~ /^## /)
            inside = line ~ /^## Rooms/
        if (!inside || line !~ /^\| `[a-z_]+\/` \|/)
            continue
        split(line, cells, "|")
        name = cells[2]
        gsub(/[ `\/]/, "", name)
        permitted[name] = cells[4]
        gsub(/`|^ +| +$/, "", permitted[name])
        n = split(permitted[name], items, /, */)
        for (i = 1; i <= n; i++) {
            item = items[i]
            sub(/\/$/, "", item)
            may[name, item] = 1
        }
        rooms++
    }
    if (!rooms)
        complain("doc/architecture.md: has no table of rooms (expected one below \"## Rooms\")")
}

function check(file, line, target,    from, to) {
    from = room_of(file)
    to = room_of(target)
    if (to == "" || from == "")
        return # of the same folder, or made by the Makefile
    if (!(from in permitted)) {
        if (!(from in told))
            complain(file ": lies in " from "/, which the table Rooms of doc/architecture.md does not have")
        told[from] = 1
    } else if (from != to && !((from, "everything") in may) && !((from, to) in may) && !((from, target) in may)) {
        complain(file ":" line ": includes " target " (" from "/ may include: " permitted[from] ")")
    }
}

# headers in a circle, by depth first; `state` 1: on the way, 2: done
function walk(header, way,    n, i, list) {
    state[header] = 1
    n = split(includes[header], list, " ")
    for (i = 1; i <= n; i++) {
        if (state[list[i]] == 1)
            complain(list[i] ": a circle of headers:" way " " list[i])
        else if (!state[list[i]])
            walk(list[i], way " " list[i])
    }
    state[header] = 2
}

BEGIN { read_rooms() }
{
    file = $0
    for (line = 1; (getline text < file) > 0; line++) {
        if (text !~ /^[ \t]*#[ \t]*include[ \t]+"/)
            continue
        target = text
        sub(/^[^"]*"/, "", target)
        sub(/".*/, "", target)
        check(file, line, target)
        if (file ~ /\.c?u?h$/)
            includes[file] = includes[file] " " target
        a = without_end(file)
        b = without_end(target)
        if (a != b && room_of(a) == room_of(b))
            uses[a, b] = file ":" line
    }
    close(file)
    headers[++count] = file
}
END {
    for (i = 1; i <= count; i++)
        if (headers[i] ~ /h$/ && !state[headers[i]])
            walk(headers[i], " " headers[i])
    for (pair in uses) {
        split(pair, ends, SUBSEP)
        if (pairs && ends[1] < ends[2] && ((ends[2], ends[1]) in uses))
            print uses[pair] " includes " ends[2] ".h, and " uses[ends[2], ends[1]] " includes " ends[1] ".h"
    }
    exit failed
}'
