#!/bin/sh
# Compares the includes of all sources with the table "Rooms" of doc/architecture.md. A room is a
# folder with a row; if a folder below a top one has a row, all of that top folder's folders need one
# (io, run, analyze, kernels). A file may include its own room, what its room's row names, and the
# other top folders named by the rows of the folders above it. A row names rooms or single files:
# `io` means everything below io/ in a row of another top folder, and the files directly in io/ in a
# row below io/. Neither the rows nor the headers may form a circle. Prints a line for each include
# that is not permitted, with file and line; exit 1 if there is any.
#
#   tests/layers.sh [ROOT]             ROOT: default the working folder
#   tests/layers.sh --circles [ROOT]   also lists pairs of files in one room that include each
#                                      other's headers (a.c b.h, and b.c a.h)
pairs=0
[ "${1:-}" != --circles ] || { pairs=1; shift; }
cd "${1:-.}" || exit 1
[ -f doc/architecture.md ] ||
    { echo 'layers: doc/architecture.md is not here (expected the folder of the project)' >&2; exit 1; }
find . -name '.?*' -prune -o -path ./build -prune -o \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) -print | sed 's,^\./,,' | LC_ALL=C sort |
    awk -v pairs="$pairs" '
function folder_of(path) { return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : "" }
function top_of(path) { return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : path }
# a private header is of the file whose name it has
function without_end(path) { sub(/(_private)?\.[a-z]+$/, "", path); return path }
function complain(text) { print text; failed = 1 }

# the room of a file: the nearest folder above it with a row
function room_of(path,    folder) {
    for (folder = folder_of(path); folder != "" && !(folder in permitted); folder = folder_of(folder))
        ;
    return folder
}

# the table
function read_rooms(    line, cells, items, n, i, item, inside, name) {
    while ((getline line < "doc/architecture.md") > 0) {
        if (line ~ /^## /)
            inside = line ~ /^## Rooms/
        if (!inside || line !~ /^\| `[a-z_\/]+\/` \|/)
            continue
        split(line, cells, "|")
        name = cells[2]
        gsub(/[ `]|\/ *` *$/, "", name)
        permitted[name] = cells[4]
        gsub(/`|^ +| +$/, "", permitted[name])
        n = split(permitted[name], items, /, */)
        for (i = 1; i <= n; i++) {
            item = items[i]
            sub(/\/$/, "", item)
            may[name, item] = 1
            names[name] = names[name] " " item
        }
        divided[top_of(name)] += name ~ /\//
        rows[++row_count] = name
    }
    if (!row_count)
        complain("doc/architecture.md: has no table of rooms (expected one below \"## Rooms\")")
}

# 1 if the row of `room`, which contains `from`, lets a file of `from` include `target`
function row_permits(room, from, target,    to) {
    to = room_of(target)
    if ((room, "everything") in may)
        return 1
    if (top_of(from) != top_of(target))
        return ((room, target) in may) || ((room, to) in may) || ((room, top_of(target)) in may)
    return room == from && (((room, target) in may) || ((room, to) in may))
}

function check(file, line, target,    from, folder) {
    if (file !~ /\// || target !~ /\//)
        return # of the same folder, or made by the Makefile
    from = room_of(file)
    folder = folder_of(file)
    if (from == "" || (divided[top_of(file)] && folder != from)) {
        if (!(folder in told))
            complain(file ": lies in " folder "/, which the table Rooms of doc/architecture.md does not have")
        told[folder] = 1
        return
    }
    if (from == room_of(target) || (from == top_of(file) && from == top_of(target) && !divided[from]))
        return
    for (folder = from; folder != ""; folder = folder_of(folder))
        if ((folder in permitted) && row_permits(folder, from, target))
            return
    complain(file ":" line ": includes " target " (" from " may include: " permitted[from] ")")
}

# circles of rows and of headers, depth first; `state` 1: in progress, 2: done
function walk_rows(room, way,    n, i, list, next_room) {
    room_state[room] = 1
    n = split(names[room], list, " ")
    for (i = 1; i <= n; i++) {
        next_room = (list[i] in permitted) ? list[i] : room_of(list[i])
        if (next_room == "")
            continue
        if (room_state[next_room] == 1)
            complain("doc/architecture.md: a circle of rooms:" way " " next_room)
        else if (!room_state[next_room])
            walk_rows(next_room, way " " next_room)
    }
    room_state[room] = 2
}

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

BEGIN {
    read_rooms()
    for (row = 1; row <= row_count; row++)
        if (!room_state[rows[row]])
            walk_rows(rows[row], " " rows[row])
}
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
