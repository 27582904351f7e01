#!/bin/sh
# make bench: kernels compared with the machine's own rates; then one segment through random models
# of several kinds, by reach in float32 and bf16 and by PyTorch in float32 (products at the
# precisions "highest" and "medium") and bf16, each in a process of its own: the table of
# doc/performance.md. Meant to take less than 25 minutes on two quiet cores. In the environment:
#
#   KINDS     gpt2 (GPT-2 small), llama (1024 wide, 16 heads, 4 for keys and values), moe (8 experts),
#             mamba2, deltanet; the last three are made by transformers (bench/checkpoint.py)
#   LAYERS    of all of them, instead of 12, 4, 4, 2 and 2
#   LENGTHS   tokens of the segment: 512 2048 8192
#   PROGRAMS  reach-f32 reach-bf16 torch-f32 torch-medium torch-bf16; also reach-bf16x3, a design for
#             matrix units whose time and memory are divided by those of PyTorch in float32
#   REPEATS   the best of so many is shown, instead of 3; from 4096 on 2, and 1 of PyTorch
#   PEER_MOST the longest segment for PyTorch, instead of 8192; 2048 of recurrences, whose plain
#             path in transformers is slow
#   KERNELS   0: without the kernels
#   PYTHON    an interpreter with torch and transformers; without one, reach alone
#   BENCH_FOLDER   keeps the models for the next time
#
# Columns: seconds, and seconds of processor time, of the segment; "start", what the first one took
# longer; operations that are necessary, and their share of the rate of a product with operands in
# that type, measured beside each run (the last lines have these limits); the most resident memory;
# time and memory divided by PyTorch's in the same type; the largest difference of c from reach's in
# float32.
set -eu
: "${BUILD:=build/gcc}" "${PYTHON:=python3}" "${KERNELS:=1}" "${LENGTHS:=512 2048 8192}"
: "${KINDS:=gpt2 llama moe mamba2 deltanet}" "${PROGRAMS:=reach-f32 reach-bf16 torch-f32 torch-medium torch-bf16}"
work=${BENCH_FOLDER:-$(mktemp -d)}
[ -n "${BENCH_FOLDER:-}" ] || trap 'rm -rf "$work"' EXIT
value() { [ ! -f "$2" ] || sed -n "s/^$1=//p" "$2"; }

if [ "$KERNELS" != 0 ]; then
    echo '== kernels'
    "$BUILD/bench/kernels"
    echo
fi
peer=1
"$PYTHON" -c 'import torch, transformers' 2>/dev/null || { peer=0; echo "(no PyTorch with transformers in $PYTHON: no peer, and only models that need neither)"; }

make_model() { # KIND LAYERS FOLDER
    [ ! -f "$3/model.safetensors" ] || return 0
    case $1 in
    gpt2) "$BUILD/bench/random_checkpoint" "$3" gpt2 "$2" 12 768 50257 8192 ;;
    llama) "$BUILD/bench/random_checkpoint" "$3" llama "$2" 16 1024 2816 32000 4 ;;
    *) "$PYTHON" bench/checkpoint.py "$3" "$1" "$2" >"$work/made.txt" 2>&1 || { cat "$work/made.txt" >&2; exit 1; } ;;
    esac
}

run() { # PROGRAM MODEL LENGTH: its lines and norms, in the folder; 1 if PyTorch fails
    type=${1#*-} repeats=3
    [ "$3" -lt 4096 ] || repeats=2
    case $1 in
    reach-*) DTYPE=$type NORMS=$work/$1.norm "$BUILD/bench/erf" "$2" "$3" "${REPEATS:-$repeats}" >"$work/$1.txt" || exit 1 ;;
    *)
        [ "$3" -lt 4096 ] || repeats=1
        "$PYTHON" bench/peer.py "$2" "$3" "${REPEATS:-$repeats}" "$work/$1.norm" "$type" >"$work/$1.txt" 2>"$work/peer.err"
        ;;
    esac
}

# What the table shows of a program that ran.
row() { # KIND LAYERS LENGTH PROGRAM
    type=${4#*-} beside=$work/torch-${4#*-}.txt dc=''
    limits=$work/reach-bf16.txt
    case $4 in
    reach-f32) limits=$work/reach-f32.txt ;;
    reach-bf16x3) limits=$work/reach-bf16x3.txt beside=$work/torch-f32.txt ;;
    torch-f32) limits=$work/reach-f32.txt beside= ;;
    torch-*) beside= ;;
    esac
    needed=$(value needed_tflop "$work/reach-f32.txt")
    [ -n "$needed" ] || needed=$(value needed_tflop "$work/reach-bf16.txt")
    [ -n "$needed" ] || needed=$(value needed_tflop "$work/reach-bf16x3.txt")
    [ "$4" = reach-f32 ] || dc=$("$PYTHON" bench/compare.py "$work/reach-f32.norm" "$work/$4.norm" 2>/dev/null) || dc=''
    awk -v kind="$1" -v layers="$2" -v length_="$3" -v program="$4" -v dc="$dc" -v s="$(value seconds "$work/$4.txt")" \
        -v cpu="$(value processor "$work/$4.txt")" -v start="$(value start "$work/$4.txt")" -v mb="$(value peak_mb "$work/$4.txt")" \
        -v needed="$needed" -v limit="$(value limit_gflops "$limits")" \
        -v ps="$(value seconds "$beside")" -v pm="$(value peak_mb "$beside")" 'BEGIN {
        rate = needed > 0 ? 1000 * needed / s : 0
        printf "| %s | %d | %d | %s | %.3f | %.2f | %s |", kind, layers, length_, program, s, cpu, start
        printf " %s | %s | %d |", rate ? sprintf("%.0f", rate) : "", (rate && limit > 0) ? sprintf("%.0f %%", 100 * rate / limit) : "", mb
        printf " %s | %s | %s |\n", ps ? sprintf("%.2f", s / ps) : "", pm ? sprintf("%.2f", mb / pm) : "", dc }'
}

echo '| model | layers | tokens | program | s | processor s | start, s | GFLOP/s | of limit | MB | time ratio | memory ratio | largest difference of c |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|'
failed=0
: >"$work/limits.txt"
for kind in $KINDS; do
    most=8192
    case $kind in
    gpt2) layers=12 ;;
    llama) layers=4 ;;
    moe) layers=4 ;;
    mamba2 | deltanet) layers=2 most=2048 ;;
    *) echo "run.sh: KINDS: $kind (expected gpt2, llama, moe, mamba2, deltanet)" >&2 && exit 1 ;;
    esac
    case $kind in gpt2 | llama) ;; *) [ $peer = 1 ] || continue ;; esac
    layers=${LAYERS:-$layers} most=${PEER_MOST:-$most} model=$work/$kind-${LAYERS:-$layers}
    make_model "$kind" "$layers" "$model"
    for length in $LENGTHS; do
        rm -f "$work"/reach-*.txt "$work"/torch-*.txt "$work"/*.norm
        ran=
        for program in $PROGRAMS; do
            case $program in torch-*) [ $peer = 1 ] && [ "$length" -le "$most" ] || continue ;; esac
            if run "$program" "$model" "$length"; then
                ran="$ran $program"
            else
                echo "$kind, $length, $program: $(tail -n 1 "$work/peer.err")" >&2
                rm -f "$work/$program.txt"
                failed=1
            fi
        done
        for program in $ran; do
            row "$kind" "$layers" "$length" "$program"
        done
        for type in f32 bf16 bf16x3; do
            of=$work/reach-$type.txt
            [ ! -f "$of" ] || echo "$type $(value limit_gflops "$of") $(value copy_gbs "$of") $(value kernels "$of")" >>"$work/limits.txt"
        done
        [ ! -f "$work/torch-f32.txt" ] || value peer "$work/torch-f32.txt" >"$work/peer.txt"
    done
done
awk '{ n[$1]++; least[$1] = n[$1] == 1 || $2 < least[$1] ? $2 : least[$1]; most[$1] = $2 > most[$1] ? $2 : most[$1]; copy = $3 > copy ? $3 : copy
       name = $0; sub(/^[^ ]* [^ ]* [^ ]* /, "", name); set[$1] = name }
    END { for (t in n) printf "%s: products at %.0f to %.0f GFLOP/s (oneDNN, 2048 x 3072 x 768); %s\n", t, least[t], most[t], set[t]
          if (copy) printf "copying: %.1f GB/s\n", copy }' "$work/limits.txt"
[ ! -f "$work/peer.txt" ] || echo "peer: $(cat "$work/peer.txt")"
exit $failed
