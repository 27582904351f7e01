#!/bin/sh
# Refuses stilted phrases in what users read. Each line of the list below is an extended regular
# expression of whole words, and what to write instead. Prose is joined across lines; blocks between
# ``` are code or output and are skipped. In C sources only string literals count. FILE...: files to
# check instead of FILES.
set -eu
cd "$(dirname "$0")/.."
FILES="README.md examples/README.md python/README.md doc/*.md doc/*.[17] doc/studies/*.md
    $(find commands run io model analyze page -name '*.[ch]')"
LATER="doc/studies/registered.md" # a rule that stays word for word

list=$(mktemp)
trap 'rm -f "$list"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$list" <<'END'
so many => this many, too many, that many
behind => after
[a-z]*([^e]|[^r]e) is none => has no ..., there is no ...
[a-z]*([^e]|[^r]e) (is|are|was) no (object|number|part|share|path|bias|proof|sample|power|multiple|terminal|name|option|token|target|tensor|checkpoint|folder|file|result|series|formula|head|model|figure|table) => is not a ...
is one too many => unexpected
of no one => mixes two ...
hangs? on => depends on
for want of => because there is no ..., is short
all the same => still, yet
(go|goes|going|gone|went) on => continue
(go|goes|went) by (the|its|their|what|how) => depends on
in hand => current
in place of => instead of
but for => except for
be the [a-z]+ too => even if the ... is too
(say|says|said|tell|tells) (nothing )?of (it|its|them|this|that|these|those|the|a|an|any|such|longer) => says about
told from (0|zero) => indistinguishable from zero
an? matter of => depends on
taken for granted => assumed
afresh => again, from the beginning
too dear => costs too much
(is|are|was) the test's => bugs in the test
(is|are) not done|what is not done => not supported
(that|which) (is|are) there => that exists
where there (is|are) (no|none|one|an?) => if there is
, for (it|they|there|we|these|those) => because
(is|are|be|been|not) looked at => checked, read
as ([^ ]+ )?(has|have) it => as in
stands? (beside|before|below|above|at|there|where|in) => is, follows
lies (beside|with|where|there) => is
(bytes|nats|seconds|numbers|lines|rows|points|kB) an? (number|token|segment|layer|model|octave|head|row) => per
less (that|those) (of|at|with) => minus
with nothing beside (it|them) => otherwise idle
by (bounds|rules) that are proved => with proven bounds
strangers' => of unrelated text
neither gains nor loses => indistinguishable from zero
END

# shellcheck disable=SC2086
[ "$#" -gt 0 ] || for name in $FILES; do
    case " $LATER " in *" $name "*) ;; *) set -- "$@" "$name" ;; esac
done
awk -v list="$list" '
    function look(   k, prose) { # the paragraph that was read
        prose = " " tolower(text) " "
        text = ""
        for (k = 1; k <= n; k++)
            if (match(prose, word[k])) {
                printf "%s:%d: \"%s\": %s\n", file, line, substr(prose, RSTART + 1, RLENGTH - 2), better[k]
                wrong = 1
            }
    }
    BEGIN {
        while ((getline entry <list) > 0) {
            at = index(entry, " => ")
            word[++n] = (entry ~ /^,/ ? "." : "[^a-z]") "(" substr(entry, 1, at - 1) ")[^a-z]"
            better[n] = substr(entry, at + 4)
        }
    }
    FNR == 1 { look(); file = FILENAME; fenced = 0 }
    /^```/ { fenced = !fenced }
    fenced { next }
    { said = $0 }
    FILENAME ~ /\.[ch]$/ { # literals that follow each other are one text
        said = ""
        for (rest = $0; match(rest, /"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH))
            said = said substr(rest, RSTART + 1, RLENGTH - 2)
    }
    said ~ /^[ \t]*$/ || /^\.(Pp|It|Sh|Ss)/ || /^\|/ || /^ *[-*] / { look() }
    { if (text == "") line = FNR; text = text (FILENAME ~ /\.[ch]$/ ? "" : " ") said }
    END { look(); exit wrong }' "$@"
