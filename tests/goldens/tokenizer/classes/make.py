"""Which tokenizer a folder has: ids that AutoTokenizer of transformers 5.24 gives for folders with a class, a type of model or
added tokens beside the tokenizer, in ids.json, which tests/t-io-tokenizer.c reads.

    python make.py            writes ids.json
    python make.py REACH      also compares `REACH tokenize` with it, and with folders that each class has saved

Needs transformers, tokenizers, sentencepiece, protobuf, numpy."""

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile

import numpy
import transformers
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = ("In 2024 there were 31415 lamps & 7 rivers.\n\n\nHE'S under it, I'LL go: don't; cafe\u0301 \u4e2d\u6587\t(walks)   slowly "
        "<|endoftext|> a <|turn|>user\nx<|over|>\n</s> b <pad>\n")
SPECIAL = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
OPT = {"content": "</s>", "lstrip": False, "normalized": True, "rstrip": False, "single_word": False, "__type": "AddedToken"}
BASES = {"two": "qwen2.json", "json": "gpt2.json", "pieces": "pieces/bpe-bytes.model"}
COUNT = 500  # tokens of BASES["two"]


def decoder(first):
    return {str(first): dict(SPECIAL, content="<|turn|>"), str(first + 1): dict(SPECIAL, content="<|over|>")}


def settings(name=None, **more):
    return {"tokenizer_config.json": dict({"tokenizer_class": name} if name else {}, **more)}


def cases():
    for name in ("GPT2Tokenizer", "GPT2TokenizerFast", "CodeGenTokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer", "Qwen2TokenizerFast"):
        yield "two", settings(name)
    yield "two", settings("GPT2Tokenizer", add_prefix_space=True)
    yield "two", settings("Qwen2Tokenizer", add_prefix_space=True)
    for kind in ("gpt2", "qwen2", "qwen3_moe", "gpt_neox", "olmo", "phi"):
        yield "two", {"config.json": {"model_type": kind}}
    yield "two", settings("GPT2Tokenizer", bos_token=OPT, eos_token=OPT, unk_token=OPT)
    yield "two", dict(settings("GPT2Tokenizer"), **{"added_tokens.json": {"<|turn|>": COUNT, "<|over|>": COUNT + 1}})
    yield "two", settings("GPT2Tokenizer", added_tokens_decoder=decoder(COUNT))
    yield "json", settings("PreTrainedTokenizerFast", added_tokens_decoder=decoder(500))
    yield "json", dict(settings("PreTrainedTokenizerFast"), **{"added_tokens.json": {"<|turn|>": 500, "<|over|>": 501}})
    yield "json", dict(settings("PreTrainedTokenizerFast"),
                       **{"special_tokens_map.json": {"additional_special_tokens": ["<|turn|>", "<|over|>"],
                                                      "pad_token": {"content": "<pad>", "lstrip": True, "rstrip": False,
                                                                    "normalized": False, "single_word": False}}})
    yield "json", settings("PreTrainedTokenizerFast", extra_special_tokens={"image": "<|turn|>"}, eos_token="</s>")
    yield "pieces", settings("LlamaTokenizer", added_tokens_decoder=decoder(900))
    yield "pieces", dict(settings("LlamaTokenizer", added_tokens_decoder=decoder(900)), **{"config.json": {"model_type": "mistral"}})


def tables():
    """Vocabulary and merges of a tokenizer.json, made by another class than most that read them here."""
    with open(os.path.join(HERE, BASES["two"])) as f:
        model = json.load(f)["model"]
    return model["vocab"], [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]


def make(folder, base, files):
    os.makedirs(folder)
    if base == "two":
        vocab, merges = tables()
        with open(os.path.join(folder, "vocab.json"), "w") as f:
            json.dump(vocab, f)
        with open(os.path.join(folder, "merges.txt"), "w") as f:
            f.writelines(f"{left} {right}\n" for left, right in merges)
    else:
        name = "tokenizer.json" if base == "json" else "tokenizer.model"
        shutil.copy(os.path.join(HERE, BASES[base]), os.path.join(folder, name))
    for name, content in files.items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(content, f)


def ids_of(folder):
    return AutoTokenizer.from_pretrained(folder)(TEXT, add_special_tokens=False).input_ids


def compare(reach, folder, what):
    text, out = os.path.join(folder, "text"), os.path.join(folder, "out.npy")
    with open(text, "w") as f:
        f.write(TEXT)
    want = ids_of(folder)
    run = subprocess.run([reach, "tokenize", folder, text, out, "--force", "--quiet"], capture_output=True, text=True)
    if run.returncode:
        print(f"{what}: refused: {run.stderr.strip().split(': ', 2)[-1]}")
        return
    got = numpy.load(out).tolist()
    print(f"{what}: {len(want)} ids, {'the same' if got == want else f'reach has {len(got)}: DIFFERENT'}")


def saved(folder):
    """A folder of each class that types of models map to, as it saves itself."""
    vocab, merges = tables()
    for name in ("GPT2Tokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer", "CohereTokenizer"):
        tokenizer = getattr(transformers, name)(vocab=vocab, merges=merges)
        tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn|>", "<|over|>"]})
        yield name, tokenizer
    for name in ("LlamaTokenizer", "GemmaTokenizer", "TokenizersBackend", "GPTSw3Tokenizer", "XGLMTokenizer"):
        for model in ("pieces/bpe-bytes.model", "pieces/unigram-bytes.model"):
            where = os.path.join(folder, "from", name + os.path.basename(model))
            os.makedirs(where)
            for target in ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model"):
                shutil.copy(os.path.join(HERE, model), os.path.join(where, target))
            try:
                yield f"{name} of {os.path.basename(model)}", getattr(transformers, name).from_pretrained(where)
            except Exception as problem:
                print(f"{name} of {model}: transformers: {str(problem).splitlines()[0][:90]}")


def main():
    logging.disable(logging.WARNING)
    rows = []
    with tempfile.TemporaryDirectory() as root:
        for i, (base, files) in enumerate(cases()):
            folder = os.path.join(root, str(i))
            make(folder, base, files)
            rows.append({"base": BASES[base], "files": files, "ids": ids_of(folder)})
            if len(sys.argv) > 1:
                compare(sys.argv[1], folder, f"{base} {json.dumps(files)[:100]}")
        if len(sys.argv) > 1:
            for i, (name, tokenizer) in enumerate(saved(root)):
                folder = os.path.join(root, f"saved-{i}")
                tokenizer.save_pretrained(folder)
                try:
                    compare(sys.argv[1], folder, f"saved {name} ({', '.join(sorted(os.listdir(folder)))})")
                except Exception as problem:
                    print(f"saved {name}: transformers: {str(problem).splitlines()[0][:90]}")
    with open(os.path.join(HERE, "classes", "ids.json"), "w") as f:
        f.write(json.dumps({"text": TEXT, "cases": rows}, indent=None, separators=(",", ":")).replace('{"base"', '\n{"base"') + "\n")


main()
