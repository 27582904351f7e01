#!/usr/bin/env python3
"""Train small decoders that differ only in their position encoding or their mixers.

Each row of position_encodings.py becomes one model: it is trained on the same batches, in the same order,
and exported in the layout of doc/checkpoint.md, or as a type of transformers if it has mixers of
recurrences.py (bfloat16 safetensors, config.json and tokenizer.json), together with its loss curve
(training.csv).

    python3 examples/corpus.py --out CORPUS
    python3 examples/train.py --corpus CORPUS --out examples/models --queue --jobs 2
    python3 examples/train.py --corpus CORPUS --out DIR --only alibi window-40-seed-2
    python3 examples/train.py --corpus CORPUS --out DIR --only alibi --size paper --device cuda --tokens 300
    python3 examples/train.py --corpus CORPUS --out DIR --only alibi alibi-seed-2 --snapshots 20

CORPUS/train.txt is trained on, CORPUS/valid.txt only measured; a folder of novels, CORPUS/train/*.txt.gz
and CORPUS/valid/*.txt.gz, does as well. What is unfinished lies in --work (default OUT/.work): the
tokenizer, the token ids, and the state of each model, from which the same command goes on after it was
killed. Needs PyTorch, NumPy, safetensors and tokenizers. See examples/README.md.
"""

import argparse
import csv
import fcntl
import glob
import gzip
import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from decoder import SHAPES, Decoder, round_to_bfloat16, write_checkpoint
from position_encodings import QUEUE, TRAIN_LENGTH, encoding_of
from recurrences import RecurrentDecoder, write_recurrent_checkpoint

WARMUP, WEIGHT_DECAY, CLIP = 100, 0.05, 1.0
STATE_EVERY, CURVE_EVERY = 100, 50
REPEATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repeats")


# --- text ---------------------------------------------------------------------------------------

def read_split(corpus, split):
    """The text of CORPUS/split.txt, or of CORPUS/split/*.txt.gz in the order of their names."""
    path = os.path.join(corpus, f"{split}.txt")
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    paths = sorted(glob.glob(os.path.join(corpus, split, "*.txt.gz")))
    if not paths:
        raise SystemExit(f"train.py: no {split}.txt and no {split}/*.txt.gz in the corpus folder")
    return "".join(gzip.open(path, "rt", encoding="utf-8", newline="").read() for path in paths)


def make_tokenizer(text, path, vocabulary):
    """Train a byte-level BPE on 20 MB of the text, taken evenly from all of it, and write tokenizer.json."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    step, piece = max(100_000, len(text) // 200), 100_000
    tokenizer.train_from_iterator((text[i:i + piece] for i in range(0, len(text), step)), trainer)
    tokenizer.save(path, pretty=False)


def encode(text, tokenizer):
    """Token ids (uint16) of the text, encoded in pieces that end where a line does."""
    ids, start = [], 0
    while start < len(text):
        end = text.find("\n", start + 1_000_000)
        end = len(text) if end < 0 else end
        ids.append(np.array(tokenizer.encode(text[start:end]).ids, dtype=np.uint16))
        start = end
    return np.concatenate(ids)


def prepare(corpus, work, vocabulary):
    """Tokenizer and token ids of both splits, made once in the work folder; returns {split: int32 tensor}."""
    from tokenizers import Tokenizer
    os.makedirs(work, exist_ok=True)
    paths = {name: os.path.join(work, name) for name in ("tokenizer.json", "train.npy", "valid.npy")}
    with open(os.path.join(work, "text.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(paths["valid.npy"]):      # written last
            print("making the tokenizer and the token ids", flush=True)
            make_tokenizer(read_split(corpus, "train"), paths["tokenizer.json"], vocabulary)
            for split in ("train", "valid"):
                text = read_split(corpus, split)
                ids = encode(text, Tokenizer.from_file(paths["tokenizer.json"]))
                print(f"{split}: {len(text)} characters, {len(ids)} tokens", flush=True)
                with open(paths[f"{split}.npy"] + ".part", "wb") as file:
                    np.save(file, ids)
                os.rename(paths[f"{split}.npy"] + ".part", paths[f"{split}.npy"])
    return {split: torch.from_numpy(np.load(paths[f"{split}.npy"]).astype(np.int32)) for split in ("train", "valid")}


# --- training -----------------------------------------------------------------------------------

def make_model(encoding, shape):
    """A decoder as drawn, before training."""
    return (RecurrentDecoder if encoding.mixers else Decoder)(encoding, shape)


def write_model(model, folder):
    """Write the checkpoint of a model that is already rounded."""
    (write_recurrent_checkpoint if model.encoding.mixers else write_checkpoint)(model, folder)


def gather_segments(data, starts, length):
    """Segments [len(starts), length + 1] of the text as token indices."""
    return data[starts[:, None] + torch.arange(length + 1)].long()


def loss_of(model, segments):
    """Mean cross-entropy, in nats a token, of every next token of the segments; on a GPU with products in bfloat16, but for recurrences."""
    with torch.autocast("cuda", torch.bfloat16, enabled=segments.is_cuda and not model.encoding.mixers):
        logits = model(segments[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), segments[:, 1:].flatten())


@torch.no_grad()
def evaluate(model, data, length, count=512):
    """Loss on `count` evenly spaced segments with `length` inputs each."""
    starts = torch.arange(count) * ((len(data) - length - 1) // count)
    parts = [loss_of(model, gather_segments(data, part, length)) for part in starts.split(max(1, 4096 // length))]
    return torch.stack(parts).mean().item()


def rate_at(step, steps, peak):
    """Learning rate: linear warm-up, then a half cosine down to 2 % of the peak."""
    if step < WARMUP:
        return peak * (step + 1) / WARMUP
    progress = (step - WARMUP) / max(1, steps - WARMUP)
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimiser(model):
    """AdamW; matrices decay, vectors and the parameters of the bias do not."""
    learned = {id(p) for p in model.bias_parameters.values()}
    decayed = [p for p in model.parameters() if p.dim() > 1 and id(p) not in learned]
    plain = [p for p in model.parameters() if p.dim() <= 1 or id(p) in learned]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=model.shape.peak_rate, betas=(0.9, 0.98), fused=True)


def save_state(path, **state):
    torch.save(state, path + ".part")
    os.rename(path + ".part", path)


def snapshot_steps(steps, count):
    """`count` steps from 16 to the last one, evenly in their logarithm: what a model learns, it learns early."""
    first = min(16, steps)
    return {round(first * (steps / first) ** (i / max(1, count - 1))) for i in range(count)}


def write_snapshot(model, folder):
    """The model as it is now, as a checkpoint; training continues unrounded."""
    rounded = make_model(model.encoding, model.shape)     # not a deep copy: the model keeps masks that are not leaves
    rounded.load_state_dict(model.state_dict())
    with torch.no_grad():
        round_to_bfloat16(rounded)
        write_model(rounded, folder)


def train(encoding, shape, data, work, snapshots):
    """Train one model, from its saved state if there is one; returns it with a list of (step, mean loss since the last entry)."""
    state_path = os.path.join(work, "state.pt")
    torch.manual_seed(encoding.seed)
    model = make_model(encoding, shape)
    optimiser = make_optimiser(model)
    batches = torch.Generator(device="cpu").manual_seed(encoding.seed)
    length, curve, recent, first = encoding.train_length, [], [], 0
    steps = round(encoding.million * 1e6 / shape.step_tokens)
    kept = snapshot_steps(steps, snapshots) if snapshots else set()
    if os.path.exists(state_path):
        state = torch.load(state_path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        batches.set_state(state["batches"].cpu())
        curve, recent, first = state["curve"], state["recent"], state["step"]
        print(f"{encoding.name}: goes on from step {first}", flush=True)
    for step in range(first, steps):
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, steps, shape.peak_rate)
        starts = torch.randint(len(data) - length - 1, (shape.step_tokens // length,), generator=batches, device="cpu").to(data.device)
        loss = loss_of(model, gather_segments(data, starts, length))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        recent.append(loss.item())
        if step + 1 in kept:
            write_snapshot(model, os.path.join(work, "snapshots", f"checkpoint-{step + 1}"))
        if (step + 1) % CURVE_EVERY == 0 or step + 1 == steps:
            curve.append((step + 1, sum(recent) / len(recent)))
            recent = []
            print(f"{encoding.name}: step {step + 1} of {steps}, loss {curve[-1][1]:.4f}", flush=True)
        if (step + 1) % STATE_EVERY == 0 or step + 1 == steps:
            save_state(state_path, model=model.state_dict(), optimiser=optimiser.state_dict(), batches=batches.get_state(), curve=curve, recent=recent, step=step + 1)
    return model, curve


def write_curve(folder, curve, remarks):
    """Write training.csv: remarks, then step and loss."""
    with open(os.path.join(folder, "training.csv"), "w", newline="") as file:
        for remark in remarks:
            file.write(f"# {remark}\n")
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["step", "loss"])
        rows.writerows((step, f"{loss:.5f}") for step, loss in curve)


def run(encoding, shape, splits, options):
    """Train, measure, round, measure again and write one model; its folder appears whole."""
    work = os.path.join(options.work, encoding.name)
    shape = replace(shape, layers=encoding.layers or shape.layers)
    model, curve = train(encoding, shape, splits["train"], work, options.snapshots)
    model.eval()
    length = encoding.train_length
    unrounded = evaluate(model, splits["valid"], length)
    round_to_bfloat16(model)
    longer = 4 if encoding.position.get("length", 4 * length) >= 4 * length else 1
    valid = {n: evaluate(model, splits["valid"], n * length, 512 // n) for n in (1, longer)}
    whole = os.path.join(work, "whole")
    write_model(model, whole)
    shutil.copyfile(os.path.join(options.work, "tokenizer.json"), os.path.join(whole, "tokenizer.json"))
    remarks = [
        f"training of {encoding.name}: {curve[-1][0]} steps of {shape.step_tokens // length} x {length} tokens, seed {encoding.seed}",
        "loss: nats a token, mean since the row before; the last is the final training loss",
        *(f"valid loss at {n * length} inputs: {loss:.5f}{f' (before rounding to bfloat16: {unrounded:.5f})' if n == 1 else ''}" for n, loss in valid.items()),
    ]
    write_curve(whole, curve, remarks)
    if options.snapshots:
        for snapshot in glob.glob(os.path.join(work, "snapshots", "*")):
            shutil.copyfile(os.path.join(options.work, "tokenizer.json"), os.path.join(snapshot, "tokenizer.json"))
        os.rename(os.path.join(work, "snapshots"), os.path.join(whole, "snapshots"))
    os.rename(whole, os.path.join(options.out, encoding.name))
    shutil.rmtree(work)
    print(f"{encoding.name}: done, train {curve[-1][1]:.4f}, valid {valid[1]:.4f} (unrounded {unrounded:.4f}), at {longer * length} inputs {valid[longer]:.4f}", flush=True)


# --- the queue ----------------------------------------------------------------------------------

def finished(name, options):
    """Whether the model lies in --out, or was measured and its weights not kept."""
    return any(os.path.exists(os.path.join(folder, name, "training.csv")) for folder in (options.out, REPEATS))


def claim(name, options):
    """The open lock of a model that nobody else trains, or None. It goes with the process, however that ends."""
    os.makedirs(os.path.join(options.work, name), exist_ok=True)
    lock = open(os.path.join(options.work, name + ".lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def work_through(names, shape, options):
    """Train each model of the list that is neither finished nor in another process's hands."""
    splits = {split: ids.to(options.device) for split, ids in prepare(options.corpus, options.work, shape.vocabulary).items()}
    for name in names:
        if finished(name, options):
            continue
        lock = claim(name, options)
        if lock and not finished(name, options):
            run(encoding_of(name), shape, splits, options)
        if lock:
            lock.close()


def say_what_is_left(names, options):
    left = [name for name in names if not finished(name, options)]
    million = sum(encoding_of(name).million for name in left)
    print(f"{len(names) - len(left)} of {len(names)} models are finished; {len(left)} are left, {million} million tokens: {' '.join(left) or 'none'}", flush=True)


def run_queue(names, options):
    """As many processes of this script as wanted, each taking the next free model."""
    say_what_is_left(names, options)
    arguments = [sys.executable, os.path.abspath(__file__), "--corpus", options.corpus, "--out", options.out, "--work", options.work, "--size", options.size,
                 "--device", options.device, "--threads", str(options.threads), "--snapshots", str(options.snapshots), "--only", *names]
    workers = []
    for _ in range(options.jobs):
        workers.append(subprocess.Popen(arguments))
        time.sleep(1)       # the first makes the token ids
    failed = [worker.returncode for worker in workers if worker.wait()]
    say_what_is_left(names, options)
    if failed:
        raise SystemExit("train.py: a process of the queue failed; the same command goes on")


def main():
    parser = argparse.ArgumentParser(description="train the example models")
    parser.add_argument("--corpus", required=True, metavar="DIR", help="folder with train.txt and valid.txt, or train/*.txt.gz and valid/*.txt.gz")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the model folders go; finished ones are not trained again")
    parser.add_argument("--work", metavar="DIR", help="where unfinished work is kept (default: OUT/.work)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these models: a row of position_encodings.py or window-N, with -layers-N, -train-N, -tokens-M, -seed-S")
    parser.add_argument("--queue", action="store_true", help="in --jobs processes; without --only, the whole list of position_encodings.py")
    parser.add_argument("--list", action="store_true", help="say what is left, and end")
    parser.add_argument("--jobs", type=int, default=1, help="models trained at a time, with --queue")
    parser.add_argument("--size", choices=SHAPES, default="small")
    parser.add_argument("--tokens", type=int, metavar="M", help="train on M million tokens, whatever the table says")
    parser.add_argument("--train-length", type=int, metavar="N", help=f"in place of {TRAIN_LENGTH} inputs")
    parser.add_argument("--snapshots", type=int, default=0, metavar="N", help="also write N checkpoints of the training, evenly in the logarithm of the step")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: matrix products in bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.work = options.work or os.path.join(options.out, ".work")
    names = options.only or QUEUE
    suffix = (f"-train-{options.train_length}" if options.train_length else "") + (f"-tokens-{options.tokens}" if options.tokens else "")
    names = [name + suffix for name in names]
    for name in names:
        if not encoding_of(name):
            parser.error(f"unknown model {name} (known: {' '.join(QUEUE)})")
    os.makedirs(options.work, exist_ok=True)
    os.makedirs(options.out, exist_ok=True)
    if options.list:
        return say_what_is_left(names, options)
    if options.queue:
        return run_queue(names, options)
    os.nice(19 if options.device == "cpu" else 0)
    torch.set_num_threads(options.threads)
    torch.set_default_device(options.device)
    work_through(names, SHAPES[options.size], options)


if __name__ == "__main__":
    main()
