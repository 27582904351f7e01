#!/bin/sh
# Takes each barrier, wait and bound of the CUDA set out, one at a time, builds the stand-in for a GPU with it, and runs the set's tests until one fails:
# `make cuda-without`. What no test misses is a survivor, and must stand in survivors.txt with the reason; exit 1 for one that does not, or that stands there
# and is missed. PART=I/N does every N-th from the I-th on; ONLY=TEXT those whose line has the text; LIST=1 names them and runs nothing.
# REACH_TESTS='test_route*': of t-kernels-sets those tests alone, for a first look at a file of theirs.
# RACES=1 builds the stand-in that looks for races (races.cpp), and says a race where one was told. A test ends with its first failure, or is red after
# SECONDS_MOST (300), which the line says.
# The Makefile sets CXX, FLAGS and BUILD. A line for each: what came of it, FILE, the line's number, and what was taken out.
set -u
here=tests/cuda_host
work=$BUILD/without
host=$BUILD/cuda_host
[ -z "${RACES:-}" ] || host=$BUILD/cuda_races FLAGS="$FLAGS -fsanitize=thread"
rm -rf "$work"
mkdir -p "$work"

# What is taken out, as FILE:LINE:KIND. A bound is `if (... >= ...)` with a line below that leaves.
for f in kernels/cuda/*.cu kernels/cuda/*.cuh; do
    awk -v file="$f" '
        before && /^ *(return|continue);/ { printf "%s:%d:bound\n", file, number }
        { before = 0 }
        /^ *if \(.* >= .*\)$/ { before = 1; number = NR }
        /__syncthreads\(\);/ { printf "%s:%d:barrier\n", file, NR }
        /__syncwarp\(\);/ { printf "%s:%d:barrier\n", file, NR }
        /^ *cp_async_wait<0>\(\);/ { printf "%s:%d:wait\n", file, NR }
        /cudaStreamWaitEvent\(|cudaEventSynchronize\(|cudaStreamSynchronize\(/ { printf "%s:%d:wait\n", file, NR }' "$f"
done >"$work/all"
grep -n -v '^#\|^$' $here/bounds.txt | while IFS=: read -r number rest; do
    file=${rest%%@*}
    from=$(sed -n "${number}p" $here/bounds.txt | cut -d '@' -f 2)
    line=$(grep -n -F -e "$from" "kernels/cuda/$file" | head -n 1 | cut -d : -f 1)
    [ -n "$line" ] || { echo "$here/bounds.txt:$number: kernels/cuda/$file has no \"$from\"" >&2; exit 1; }
    echo "kernels/cuda/$file:$line:listed $number"
done >>"$work/all" || exit 1

text_of() { sed -n "$2{s/^ *//;s/ *\/\*.*//;p;}" "$1"; }

# mutate FILE LINE KIND: the file without it, under $work
mutate() {
    mkdir -p "$work/kernels/cuda"
    case $3 in
    barrier) sed "$2s/__sync[a-z]*();/;/" "$1" ;;
    bound) sed "$2,$(($2 + 1))d" "$1" ;;
    listed*)
        n=${3#listed }
        awk -v line="$2" -v from="$(sed -n "${n}p" $here/bounds.txt | cut -d '@' -f 2)" -v to="$(sed -n "${n}p" $here/bounds.txt | cut -d '@' -f 3)" '
            NR == line { at = index($0, from); $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) } { print }' "$1"
        ;;
    *) sed -e "$2s/cp_async_wait<0>();/;/" -e "$2s/cuda[A-Za-z]*\(WaitEvent\|Synchronize\)([^()]*\(([^()]*)[^()]*\)*)/cudaSuccess/" "$1" ;;
    esac >"$work/$1"
    ! cmp -s "$1" "$work/$1"
}

# build FILE: the plug-in with that file in place of the tree's
build() {
    case $1 in
    *.cu) sources=$1 ;;
    *) sources=$(grep -l -F "$1" "$host"/kernels/cuda/*.d | sed "s|^$host/||; s|\.d$||") ;;
    esac
    objects=$(ls "$host"/kernels/cuda/*.o "$BUILD"/cuda_host/kernels/*.o "$BUILD"/cuda_host/io/*.o "$host"/tests/cuda_host/*.cpp.o)
    for s in $sources; do
        objects=$(printf '%s\n' $objects | grep -v -x -F "$host/$s.o")
    done
    # the changed file is found first
    printf '%s\n' $sources | sed 's|.*/||' | xargs -P "$(nproc)" -I '{}' sh -c '
        source=$1/kernels/cuda/{}
        [ -f "$source" ] || source=kernels/cuda/{}
        '"$CXX"' -I"$1" '"$FLAGS"' -O1 -w -x c++ -c "$source" -o "$1/{}.o"' build "$work" || return 1
    $CXX ${FLAGS% -fsanitize=thread} -shared -o "$work/cuda-host.so" $objects $(for s in $sources; do echo "$work/${s##*/}.o"; done) -lutf8proc
}

tests_of() {
    case $1 in
    */attention*) echo kernels-cuda-attention kernels-sets kernels-attention-mass model-cuda ;;
    */product*) echo kernels-cuda-products kernels-sets model-cuda ;;
    */memory.cu | */weight.cu | */set.cu) echo kernels-cuda-plugin kernels-cuda-products model-cuda kernels-sets ;;
    */head.cu) echo kernels-sets kernels-cuda-products model-cuda ;;
    */experts.cu) echo kernels-sets ;;
    *) echo kernels-sets kernels-cuda-attention kernels-cuda-plugin model-cuda ;;
    esac
}

part=${PART:-1/1} number=0 failed=0
while IFS=: read -r file line kind; do
    number=$((number + 1))
    [ $((number % ${part#*/})) -eq $((${part%/*} % ${part#*/})) ] || continue
    text=$(text_of "$file" "$line")
    case $kind in listed*) text=$(sed -n "${kind#listed }p" $here/bounds.txt | cut -d '@' -f 2) ;; esac
    case "$file:$line $text" in *"${ONLY:-}"*) ;; *) continue ;; esac
    [ -z "${LIST:-}" ] || { echo "$file:$line $text"; continue; }
    rm -rf "$work/kernels" "$work"/*.o "$work/cuda-host.so"
    came='not built' who=
    if mutate "$file" "$line" "$kind" && build "$file" 2>"$work/log"; then
        came=survives
        for t in $(tests_of "$file"); do
            CMOCKA_TEST_ABORT=1 REACH_CUDA=$PWD/$work/cuda-host.so REACH_CUDA_HOST_SEED=3 REACH_CUDA_HOST_RACES=first timeout "${SECONDS_MOST:-300}" "$BUILD/tests/t-$t" >"$work/log" 2>&1
            rc=$?
            [ $rc -eq 0 ] || { came=red who=" (t-$t$([ $rc -ne 124 ] || echo ', which did not end'))"; break; }
        done
        grep -q '^cuda stand-in: race' "$work/log" && came=race
    fi
    nth=$(head -n "$line" "$file" | grep -c -F -e "$text")
    known=$(grep -c -F -x -e "${file##*/}@$nth@$text" "$here/survivors.txt")
    case $came,$known in
    red,0 | race,*) ;; # survivors.txt is of numbers
    survives,[1-9]*) came='survives, as known' ;;
    red,*) came="red, although in survivors.txt" failed=$((failed + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    printf '%-18s %s:%d  %s%s\n' "$came" "$file" "$line" "$text" "$who"
done <"$work/all"
exit $((failed > 0))
