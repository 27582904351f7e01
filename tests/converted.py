#!/usr/bin/env python3
"""`reach convert` of GGUF files, loaded by transformers: every tensor has its place, and log p is what `reach` says of the file.

    tests/converted.py REACH [--keep FOLDER]

Every GGUF file of tests/goldens/gguf is converted with --widen and loaded by AutoModelForCausalLM in float64. Verdicts, a line each:

    same       no tensor is missing, unexpected or misshapen, and log p of 2 segments of 24 random tokens is within 1e-4
    loaded     the same of the tensors, but transformers computes something else
    refused    `reach convert` says why
    WRONG      anything else

Exit status 1 if any is WRONG. Needs PyTorch, transformers, h5py, numpy; made with transformers 5.24."""
import argparse, glob, os, subprocess, sys, tempfile

import h5py
import numpy as np
import torch
import transformers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
APART = 1e-4      # rotary angles of transformers are float32
LEFT_OUT = {"mpt-bias-max.gguf": "transformers leaves alibi_bias_max out"}


def files():
    found = sorted(glob.glob(os.path.join(ROOT, "tests/goldens/gguf/**/*.gguf"), recursive=True))
    return [path for path in found if not any(part in path for part in ("/tokenizer/", "small.gguf", "-00002-of", "-00003-of", "-00004-of"))]


def logprobs_of_file(reach, path, tokens, folder):
    run = subprocess.run([reach, "erf", f"m={path}", "--tokens", tokens, "--dtype", "f64", "--device", "cpu", "--bootstrap", "0", "-o", os.path.join(folder, "erf")],
                         capture_output=True, text=True, env=dict(os.environ, PATH="/nonexistent"))
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    with h5py.File(os.path.join(folder, "erf", "erf.h5")) as file:
        return file["models/m/logprob"][()]


def logprobs_of_folder(out, tokens):
    model, loaded = transformers.AutoModelForCausalLM.from_pretrained(out, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager", output_loading_info=True)
    left = {kind: sorted(names) for kind, names in loaded.items() if names and kind.endswith("_keys")}
    if model.config.tie_word_embeddings:
        left.pop("missing_keys", None) if all("lm_head" in name or "embed_out" in name for name in left.get("missing_keys", [])) else None
    if left:
        raise RuntimeError(f"transformers: {left}")
    ids = torch.from_numpy(np.load(tokens).astype(np.int64))
    with torch.no_grad():
        logits = model.eval()(input_ids=ids[:, :-1], use_cache=False).logits[:, -1].double()
    return torch.log_softmax(logits, -1).gather(1, ids[:, -1:])[:, 0].numpy()


def judge(reach, path, name, folder):
    out = os.path.join(folder, "out")
    run = subprocess.run([reach, "convert", path, out, "--widen"], capture_output=True, text=True)
    if run.returncode:
        return "refused" if run.returncode == 1 and run.stderr.count("\n") == 1 else "WRONG", run.stderr.strip().replace(ROOT + "/", "")
    vocabulary = transformers.AutoConfig.from_pretrained(out).vocab_size
    tokens = os.path.join(folder, "tokens.npy")
    np.save(tokens, np.random.default_rng(5).integers(0, vocabulary, (2, 24), dtype=np.int32))
    apart = np.abs(logprobs_of_file(reach, path, tokens, folder) - logprobs_of_folder(out, tokens)).max()
    if name in LEFT_OUT:
        return "loaded", f"{LEFT_OUT[name]} (log p differs by {apart:.1e})"
    return "same" if apart <= APART else "WRONG", f"log p differs by {apart:.1e}"


def main():
    parser = argparse.ArgumentParser(description="converted GGUF files, loaded by transformers")
    parser.add_argument("reach")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the folders there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    counts = {"same": 0, "loaded": 0, "refused": 0, "WRONG": 0}
    for path in files():
        name = os.path.relpath(path, os.path.join(ROOT, "tests/goldens/gguf"))
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(options.keep, name.replace("/", "-")) if options.keep else scratch
            os.makedirs(folder, exist_ok=True)
            try:
                verdict, said = judge(os.path.abspath(options.reach), path, name, folder)
            except Exception as problem:      # transformers refuses what was written
                verdict, said = "WRONG", f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
        counts[verdict] += 1
        print(f"{name}: {verdict}: {said}", flush=True)
    print(f"transformers {transformers.__version__}:", ", ".join(f"{verdict} {count}" for verdict, count in counts.items()))
    return int(counts["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main())
