#!/bin/sh
# The real program on the examples' text, by the GPU in each of its types and by the processor: curves and fields compared. FOLDER has `reach`, its libraries and the plug-in.
set -eu
: "${FOLDER:=build/gpu/programs}" "${PYTHON:=python3}" "${MODEL:=examples/models/alibi}" "${SEGMENTS:=16}" "${LENGTH:=2048}" "${GPU_BUILD:=build/gpu}" "${TYPES:=f32 tf32 bf16}"
rc=0
measure() { # DEVICE DTYPE
    LD_LIBRARY_PATH=$FOLDER/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$FOLDER/reach" erf "$MODEL" --text examples/text/sqlalchemy.py.gz --segments "$SEGMENTS" --length "$LENGTH" \
        --device "$1" --dtype "$2" -o "$GPU_BUILD/real-$1-$2" --force --quiet
}
measure cpu f32
for type in $TYPES; do
    case $type in f32) most=1e-5 ;; tf32) most=5e-4 ;; *) most=5e-3 ;; esac
    measure cuda "$type" && "$PYTHON" bench/gpu/same_curves.py "$GPU_BUILD/real-cpu-f32" "$GPU_BUILD/real-cuda-$type" "$most" || rc=1
done
exit $rc
