"""Small tokenizers in the styles of published ones, trained with the `tokenizers` library, and the texts they are tried on."""
import gzip
import json
import random
import unicodedata
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).resolve().parents[3]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
POSSESSIVE = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
CHAIN = ["[\r\n]", "\\s?[A-Za-zµÀ-ÖØ-öø-ƺͰ-ͳΑ-ΡΣ-ϵϷ-ҁ]+", "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$", "[\\u4e00-\\u9fa5ࠀ-一가-\\ud7ff]+"]

ADDED = [AddedToken("<|a|>", special=True), AddedToken("<mask>", special=True, lstrip=True), AddedToken("<r>", special=True, rstrip=True),
         AddedToken("<lr>", lstrip=True, rstrip=True, normalized=False, special=True), AddedToken("whale", single_word=True),
         AddedToken("<w>", single_word=True, normalized=False), AddedToken("Café", normalized=True), AddedToken("<|ab|>", special=True),
         AddedToken("  ", normalized=False), AddedToken("\n\n\n", normalized=False)]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def chain(*steps):
    return pre_tokenizers.Sequence(list(steps))


def spell():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def gpt2(prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix)


def begin_with(token):
    return lambda t: processors.TemplateProcessing(single=token + " $A", pair=token + " $A $B", special_tokens=[(token, t.token_to_id(token))])


def llama2_normalizer(j):
    j["pre_tokenizer"] = None
    j["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                                                           {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}


def gemma_splitter(j):
    j["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


def whole_words(j):
    top = max(j["model"]["vocab"].values())
    for i, word in enumerate(["Ġwhalebone", "zzzzĠ", "Ġ" * 70]):
        j["model"]["vocab"][word] = top + 1 + i


def old_merges(j):
    j["model"]["merges"] = ["#version: 0.2"] + [" ".join(m) for m in j["model"]["merges"]]


def no_split(j):
    j["pre_tokenizer"]["split"] = False


def some_bytes(j):
    for i in range(0xE2, 0xE9):
        del j["model"]["vocab"]["<0x%02X>" % i]


SENTENCEPIECE = dict(unk_token="<unk>", byte_fallback=True, fuse_unk=True)

# name: pre-tokenizer and normalizer while training, special and added tokens, post-processor, what is changed in the file, options of the model
STYLES = {
    "gpt2": dict(pre=gpt2(), special=["<|endoftext|>"], edit=old_merges),
    "gpt2-added": dict(pre=gpt2(), special=["<|endoftext|>"], added=ADDED),
    "gpt-neox": dict(pre=gpt2(True), norm=normalizers.NFKC(), special=["<|endoftext|>", "<|padding|>"], added=ADDED[:5]),
    "llama3": dict(pre=chain(split(LLAMA3), spell()), special=["<|begin_of_text|>", "<|end|>"], post=begin_with("<|begin_of_text|>"), edit=whole_words,
                   model=dict(ignore_merges=True)),
    "qwen2": dict(pre=chain(split(QWEN2), spell()), norm=normalizers.NFC(), special=["<|endoftext|>", "<|im_start|>"], added=ADDED),
    "cased": dict(pre=chain(split(CASED), spell())),
    "possessive": dict(pre=chain(split(POSSESSIVE), spell())),
    "bloom": dict(pre=chain(split(BLOOM), spell()), special=["<unk>", "<s>"]),
    "falcon": dict(pre=chain(pre_tokenizers.Punctuation("contiguous"), gpt2(), pre_tokenizers.Digits(False), split("[0-9][0-9][0-9]"))),
    "starcoder": dict(pre=chain(pre_tokenizers.Digits(True), gpt2())),
    "chain": dict(pre=chain(*[split(p) for p in CHAIN], pre_tokenizers.Digits(True), spell())),
    "llama2": dict(pre=pre_tokenizers.Metaspace(), special=["<unk>", "<s>", "</s>"], post=begin_with("<s>"), edit=llama2_normalizer, model=SENTENCEPIECE),
    "llama2-added": dict(pre=pre_tokenizers.Metaspace(), special=["<unk>", "<s>", "</s>"], added=ADDED, edit=llama2_normalizer, model=SENTENCEPIECE),
    "llama2-metaspace": dict(pre=pre_tokenizers.Metaspace(prepend_scheme="first"), special=["<unk>", "<s>", "</s>"], added=ADDED[:6], edit=no_split,
                             model=SENTENCEPIECE),
    "metaspace": dict(pre=pre_tokenizers.Metaspace(), special=["<unk>"], model=dict(unk_token="<unk>")),
    "some-bytes": dict(pre=pre_tokenizers.Metaspace(prepend_scheme="never"), special=["<unk>"], edit=some_bytes, model=SENTENCEPIECE),
    "gemma": dict(pre=pre_tokenizers.Split("▁", "merged_with_next"), norm=normalizers.Replace(" ", "▁"), special=["<pad>", "<eos>", "<bos>", "<unk>"],
                  post=begin_with("<bos>"), edit=gemma_splitter, model=SENTENCEPIECE,
                  added=[AddedToken("\n" * k, normalized=False) for k in range(2, 9)] + [AddedToken("<table>", normalized=False)]),
    "words": dict(pre=pre_tokenizers.Whitespace(), special=["[UNK]"], norm=normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()]),
                  model=dict(unk_token="[UNK]")),
    "behaviors": dict(pre=chain(pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_previous"), split(r"\d+", "contiguous"),
                                split("[aeiou]", "merged_with_next"), split(r"\w+|[^\w]", "removed", True)),
                      special=["[UNK]"], norm=normalizers.NFD(), model=dict(unk_token="[UNK]", fuse_unk=True)),
}


def make(name, texts, size):
    """The tokenizer.json of a style, trained to about `size` tokens."""
    style = STYLES[name]
    options = style.get("model", {})
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = style["pre"]
    if "norm" in style:
        t.normalizer = style["norm"]
    fallback = ["<0x%02X>" % i for i in range(256)] if options.get("byte_fallback") else []
    spelt = "unk_token" not in options
    trainer = trainers.BpeTrainer(vocab_size=size + len(fallback), special_tokens=style.get("special", []) + fallback, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if spelt else [], limit_alphabet=max(300, size // 3))
    t.train_from_iterator(texts, trainer)
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if a["content"] not in fallback]
    t = Tokenizer.from_str(json.dumps(j))
    for token in style.get("added", []):
        (t.add_special_tokens if token.special else t.add_tokens)([token])
    if "post" in style:
        t.post_processor = style["post"](t)
    j = json.loads(t.to_str())
    if "edit" in style:
        style["edit"](j)
    text = json.dumps(j, ensure_ascii=False, separators=(",", ":"))
    Tokenizer.from_str(text)
    return text


def encode(file, raw):
    """The ids that define what is right: of the text that Python makes of the bytes."""
    return encode_text(Path(file).read_bytes(), raw)


def encode_text(tokenizer, raw):
    return Tokenizer.from_str(tokenizer.decode()).encode(raw.decode("utf-8", errors="replace"), add_special_tokens=False).ids


# ---- texts ----

SCRIPTS = [(0x400, 0x52F), (0x370, 0x3FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xD80, 0xDFF), (0xE00, 0xE7F),
           (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F64F),
           (0x1F900, 0x1F9FF), (0x2000, 0x206F), (0x2070, 0x218F), (0x300, 0x36F), (0xFF00, 0xFFEF), (0x1D400, 0x1D7FF), (0x20000, 0x2A6DF), (0xE0, 0x17F),
           (0xFB00, 0xFDFF)]
BETWEEN = [" ", "  ", "", "\u00a0", "\u3000", " \u0301", "\t", "\u180e", "\u200d", "\ufe0f", "\u0085"]
BEHIND = ["\n", "\n\n", ". ", "\r\n", "\n\n\n ", "   ", ", ", "!!! ", "'s ", "'LL ", "1234567 ", "<|a|>", " <mask>", "<r>  x", " <lr>\n", " whale ", "whale-bone",
          " Café ", " Cafe\u0301 ", "<|ab|>", "<w>", "x<w>", "é<w> ", "     ", "▁▁▁ ▁", "<table>", "   <|endoftext|> ", "½²Ⅷ٣", "ﬁ™ſ K"]


def is_old(c):
    """Known to Unicode 14, which PCRE2 of the reference system knows; that of this Python at most."""
    return ord(c) < 0x560 or unicodedata.category(c) != "Cn"


def novel(size):
    return gzip.open(ROOT / "examples/text/moby-dick.txt.gz").read()[:size]


def code(size):
    return b"".join(p.read_bytes() for p in sorted(ROOT.glob("io/*.c")) + sorted(ROOT.glob("tests/goldens/*.py")))[:size]


def scripts(rng, lines):
    out = []
    for _ in range(lines):
        low, high = rng.choice(SCRIPTS)
        words = ["".join(filter(is_old, (chr(rng.randint(low, high)) for _ in range(rng.randint(1, 9))))) for _ in range(rng.randint(1, 12))]
        out.append(rng.choice(BETWEEN).join(words) + rng.choice(BEHIND))
    return "".join(out)


def any_characters(rng, count):
    kinds = [lambda: rng.randint(0, 0x2FFF), lambda: rng.randint(0, 0xD7FF), lambda: rng.randint(0xE000, 0x10FFFF), lambda: rng.randint(0, 255)]
    return "".join(filter(is_old, (chr(rng.choice(kinds)()) for _ in range(count))))


def marks(rng, count):
    combining = [0x300, 0x301, 0x323, 0x327, 0x308, 0x31B, 0x5B0, 0x11A8, 0x1161, 0x9BE, 0x9CB, 0xDCF]
    return "".join(rng.choice("aeionu가각ㅏ") + "".join(chr(rng.choice(combining)) for _ in range(rng.randint(0, 4))) + rng.choice(["", " ", "x"])
                   for _ in range(count))


def broken(rng, text):
    b = bytearray(text.encode())
    for i in range(0, len(b), 37):
        b[rng.randrange(len(b))] = rng.randrange(256)
    return bytes(b) + bytes(rng.randrange(256) for _ in range(len(b) // 3))


def mixed(rng, prose, source, lines):
    """Prose, code, and about `lines` lines' worth of each of the others; characters that are too new are left out, also where breaking made them."""
    many = scripts(rng, lines)
    parts = [prose, source, many.encode(), any_characters(rng, 16 * lines).encode(), marks(rng, 4 * lines).encode(), broken(rng, many[:40 * lines]),
             ("ab" * lines + " " * lines + "\n" * lines + "x" * lines + " the" * lines + "中" * lines + "zzzz " + " " * 70 + "Ġ" * 70 + " whalebone").encode()]
    text = b"\n".join(parts).decode("utf-8", "surrogateescape")
    return "".join(c for c in text if 0xDC80 <= ord(c) <= 0xDCFF or is_old(c)).encode("utf-8", "surrogateescape")
