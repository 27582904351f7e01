#!/bin/sh
# What `make install` puts under FOLDER/PREFIX (arguments: FOLDER [PREFIX], /usr/local): the program,
# pages and completions, and documents none of whose links leads nowhere.
set -eu
share=$1${2:-/usr/local}/share
bin=$1${2:-/usr/local}/bin wrong=0
for file in "$bin/reach" "$share/man/man1/reach.1" "$share/man/man7/reach-formula.7" \
    "$share/bash-completion/completions/reach" "$share"/zsh/*/_reach \
    "$share/fish/vendor_completions.d/reach.fish" "$share/doc/reach/LICENSE"; do
    [ -s "$file" ] || [ -s "$file.gz" ] || { echo "missing: $file" >&2 && wrong=1; }
done
cd "$share/doc/reach"
find . -name '*.md' | sort >"$1/documents"
while read -r document; do
    # in code spans and blocks brackets are no links
    awk '/^```/ { code = !code; next } code || /^    / { next } { gsub(/`[^`]*`/, ""); print }' "$document" |
        grep -o '](\([^)#]*\)' | sed 's/^](//' >"$1/links" || true
    while read -r link; do
        case $link in '' | *://*) continue ;; esac
        [ -e "$(dirname "$document")/$link" ] || { echo "$document: $link: is not there" >&2 && wrong=1; }
    done <"$1/links"
done <"$1/documents"
count=$(wc -l <"$1/documents")
rm "$1/documents" "$1/links"
echo "$count documents are installed"
[ "$wrong" -eq 0 ] && [ "$count" -gt 30 ]
