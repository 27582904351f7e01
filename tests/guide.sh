#!/bin/sh
# Runs every command in doc/guide.md, with example models for A, B and the others and a short text,
# each on one segment unless it gives a number. Every command must exit with 0. REACH: another
# program than ./reach.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
reach=${REACH:-$root/reach}
case $reach in /*) ;; *) reach=$PWD/$reach ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder"
mkdir bin && ln -s "$reach" bin/reach
PATH=$folder/bin:$PATH SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=1
export PATH SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT
ln -s "$root/examples/models/alibi" B
ln -s "$root/examples/models/window-24" C
# A does not state its training length: the guide gives --train-length
mkdir A && ln -s "$root"/examples/models/rotary/* A && rm A/config.json
sed -z 's/,[[:space:]]*"train_length": [0-9]*//' "$root/examples/models/rotary/config.json" >A/config.json
! grep -q train_length A/config.json
echo '{{ messages }}' >A/chat_template.jinja
for name in step-1000 step-2000 step-4000; do ln -s "$root/examples/models/rotary" $name; done
gzip -dc "$root/examples/text/sqlalchemy.py.gz" | head -c 24000 >text
gzip <text >text.gz
head -c 300 text >chat.txt
printf '{"content": "%s"}\n' "$(tr '"\\\n\t' "' " <text)" | gzip >corpus.jsonl.gz
printf '{"prompt": "def add(self"}\n{"prompt": "import os", "answer": "\\nimport"}\n' >questions.jsonl
for run in run-1 run-2 run FOLDER DIR; do reach erf A --text chat.txt --length 64 -o $run --quiet >out; done
reach ppl A --text chat.txt --context 16,32 -o run-ppl --quiet >out
reach trf B -o theory >out

# One command per line: code spans and indented lines that begin with `reach `; and a span of only
# options in a row that says `the same with`, appended to the previous command. Leaves out
# `--adapter DIR`, because example models have no adapter, and `dynamic`, which needs the
# max_position_embeddings of a Hugging Face folder.
awk -F '`' '
    /^    reach / { print substr($0, 5) }
    /^    / { next }
    {
        for (i = 2; i <= NF; i += 2)
            if ($i ~ /^reach [a-z]/) print command = $i
            else if ($i ~ /^--/ && $0 ~ /the same with `--/) print command, $i
    }' "$root/doc/guide.md" | sed -e '/^reach convert$/d' -e '/dynamic:/d' -e 's/ --adapter DIR//' >commands

wrong=0 count=0
while IFS= read -r command; do
    to=${command##* -o }
    [ "$to" = "$command" ] || eval "rm -rf ${to%% *}"
    case $command in
    *base,tuned*) reach erf base=A tuned=B --text chat.txt --length 64 -o run --quiet --force >out ;;
    *--segments*) ;;
    *run/checkpoint-*)
        mkdir -p run
        for step in 100 1000 200; do ln -s "$root/examples/models/rotary" run/checkpoint-$step; done
        command="$command --segments 1"
        ;;
    'reach erf '*) command="$command --segments 1" ;;
    esac
    rm -rf reach-erf reach-plot
    count=$((count + 1))
    sh -c "$command" </dev/null >out 2>&1 || {
        echo "guide.md: exit $? of: $command" >&2
        tail -n 5 out >&2
        wrong=1
    }
done <commands
echo "$count commands of the guide were run"
[ "$wrong" -eq 0 ] && [ "$count" -gt 30 ]
