#!/usr/bin/env python3
"""Makes the goldens of tests/t-io-tiktoken.c: ranks.tiktoken, a vocabulary trained on texts of our own; text.bin; and its ids in CLASS.npy, as the `tiktoken`
library (0.14.0) finds them with the pattern, the special tokens and the normal form of a class: Llama 3 in Meta's llama-models, TikTokenTokenizer of Kimi K2,
QWenTokenizer of Qwen 1. kimi.json is the tokenizer_config.json of the second.

    make.py                             writes them
    make.py REACH CLASS RANKS [FILE...] compares `REACH tokenize` with tiktoken on another vocabulary: the texts, and random characters

Needs tiktoken, regex, tokenizers, numpy."""
import base64
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import tiktoken
from tiktoken.load import load_tiktoken_bpe

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import styles  # noqa: E402

UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
FIRST, END = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = "|".join([r"[\p{Han}]+", FIRST + UPPER + "*" + LOWER + "+" + END, FIRST + UPPER + "+" + LOWER + "*" + END, r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*",
                 r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
NAMED = {0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>", 10: "[EOT]", 254: "[UNK]", 255: "[PAD]"}


def llama3_names():
    names = "begin_of_text end_of_text reserved_special_token_0 reserved_special_token_1 finetune_right_pad_id step_id start_header_id end_header_id eom_id eot_id"
    names = [f"<|{name}|>" for name in (names + " python_tag image").split()]
    return names + [f"<|reserved_special_token_{2 + i}|>" for i in range(256 - len(names))]


def kimi_names(count):
    return [NAMED.get(i, f"<|reserved_token_{count + i}|>") for i in range(256)]


def qwen_names():
    return ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + [f"<|extra_{i}|>" for i in range(205)]


def encoding(name, ranks):
    """The tokenizer of a class: texts to ids."""
    count = len(ranks)
    pattern, names = {"llama3": (styles.LLAMA3, llama3_names()), "kimi": (KIMI, kimi_names(count)), "qwen": (styles.QWEN2, qwen_names())}[name]
    found = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={text: count + i for i, text in enumerate(names)})
    return lambda text: found.encode(unicodedata.normalize("NFC", text) if name == "qwen" else text, allowed_special="all", disallowed_special=())


def kimi_settings(count):
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    return {"added_tokens_decoder": {str(count + i): dict(content=text, **flags) for i, text in NAMED.items()}, "additional_special_tokens": ["<|im_end|>", "[EOT]"],
            "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}, "bos_token": "[BOS]", "eos_token": "[EOS]", "pad_token": "[PAD]",
            "tokenizer_class": "TikTokenTokenizer", "unk_token": "[UNK]"}


def train(texts, size):
    """Bytes in another order than theirs, tokens by training, and some that no merge leads to."""
    from tiktoken._educational import bpe_train

    alphabet = sorted(range(256), key=lambda byte: (not 33 <= byte < 127, byte))
    trained = sorted(bpe_train(texts, size, styles.LLAMA3, visualise=None).items(), key=lambda pair: pair[1])
    tokens = [bytes([byte]) for byte in alphabet] + [token for token, _ in trained[256:]]
    tokens += [text.encode() for text in (" whalebone", "Pascal", "北京", " " * 70, "zzzz")]
    assert len(set(tokens)) == len(tokens)
    return {token: rank for rank, token in enumerate(tokens)}


def special_text(count):
    return ("<|begin_of_text|>a<|reserved_special_token_2|> <|reserved_special_token_245|><|reserved_special_token_246|><|image|>\n<|im_start|>user\nx<|im_end|> "
            f"<|im_end|>\u0338 cafe\u0301 <|extra_0|><|extra_204|><|extra_205|> [BOS]a[EOS] <|im_user|>b<|reserved_token_{count + 100}|><|reserved_token_{count + 256}|> "
            "<|endoftext|>中文English混合 汉字abc 北京市 Pascal 々〇123中45678 don'T IT'Sx HTTPServer's\u2f00x \uf900\U00020000\u3005\u30a2\u4e00\U00016ff0 zzzz\n")


def make():
    rng = random.Random(13)
    ranks = train(styles.novel(30000).decode() + styles.code(8000).decode() + styles.scripts(rng, 60), 256 + 160)
    lines = [b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items()]
    (HERE / "ranks.tiktoken").write_bytes(b"".join(lines))
    raw = styles.mixed(rng, styles.novel(8000)[7000:], styles.code(3000)[2500:], 12) + special_text(len(ranks)).encode()
    (HERE / "text.bin").write_bytes(raw)
    for name in ("llama3", "kimi", "qwen"):
        np.save(HERE / (name + ".npy"), np.array(encoding(name, ranks)(raw.decode("utf-8", errors="replace")), dtype="<u2"))
    (HERE / "kimi.json").write_text(json.dumps(kimi_settings(len(ranks)), indent=1) + "\n")


def folder_of(name, path, count, folder):
    """The files as they lie beside a model of the class."""
    target = {"llama3": "tokenizer.model", "kimi": "tiktoken.model", "qwen": "qwen.tiktoken"}[name]
    (folder / target).write_bytes(path.read_bytes())
    if name == "llama3":
        (folder / "params.json").write_text(json.dumps({"dim": 64, "n_heads": 4, "n_layers": 2, "vocab_size": count + 256}))
    elif name == "kimi":
        (folder / "tokenizer_config.json").write_text(json.dumps(kimi_settings(count)))


def compare(reach, name, path, *texts):
    rng = random.Random(14)
    ranks = load_tiktoken_bpe(str(path))
    encode = encoding(name, ranks)
    raws = {text: Path(text).read_bytes() for text in texts}
    raws |= {f"random {i}": styles.mixed(rng, b"", b"", 200) + special_text(len(ranks)).encode() for i in range(5)}
    read = {what: raw.decode("utf-8", errors="replace").replace("\0", "") for what, raw in raws.items()}  # what has too much else is refused
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        folder_of(name, Path(path), len(ranks), folder)
        for what, text in read.items():
            (folder / "text").write_bytes(text.encode())
            subprocess.run([reach, "tokenize", folder, folder / "text", folder / "out.npy", "--force", "--quiet"], check=True, stdout=subprocess.DEVNULL)
            want, got = encode(text), np.load(folder / "out.npy").tolist()
            first = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
            print(f"{name}, {what}: {len(want)} ids,", "the same" if got == want else f"reach has {len(got)}: DIFFERENT from {first} on: {want[first:first + 5]}, "
                  f"{got[first:first + 5]}")


compare(*sys.argv[1:]) if len(sys.argv) > 1 else make()
