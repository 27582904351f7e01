"""Models of SentencePiece of many kinds, trained on texts of our own, and what they become: tokenizer.json of the Unigram family, in the forms that published
models have, and GGUF. Imported by make.py and study.py. Needs sentencepiece (0.2.3), tokenizers and gguf (0.19.0)."""
import base64
import io
import json
import os
import re
import tempfile

import sentencepiece
from tokenizers import Tokenizer

USER = ["<ab>", "ing", "▁▁", "whale", "the ", "  x"]
PLAIN = dict(normalization_rule_name="identity", remove_extra_whitespaces=False)

# name: what the trainer is told beside the texts and the size
MODELS = {
    "unigram": dict(model_type="unigram"),
    "unigram-bytes": dict(model_type="unigram", byte_fallback=True, add_dummy_prefix=False, **PLAIN),
    "unigram-user": dict(model_type="unigram", user_defined_symbols=USER, normalization_rule_name="nfkc_cf", treat_whitespace_as_suffix=True),
    "unigram-unsplit": dict(model_type="unigram", split_by_whitespace=False, split_by_unicode_script=False, max_sentencepiece_length=24,
                            normalization_rule_name="nfkc", remove_extra_whitespaces=False),
    "bpe": dict(model_type="bpe"),
    "bpe-bytes": dict(model_type="bpe", byte_fallback=True, split_digits=True, **PLAIN),
    "bpe-user": dict(model_type="bpe", byte_fallback=True, add_dummy_prefix=False, allow_whitespace_only_pieces=True,
                     user_defined_symbols=["<ab>", "ing", "▁▁", "▁▁▁▁", "whale", "\n"], **PLAIN),
    "bpe-unsplit": dict(model_type="bpe", normalization_rule_name="nmt_nfkc_cf", split_by_whitespace=False, treat_whitespace_as_suffix=True,
                        user_defined_symbols=["ing", "A"]),
}


# normal forms for small files: the library's own maps have 200 kB and more
RULES = {"\u00c9": "\u00e9", "e\u0301": "\u00e9", "\ufb01": "fi", "\u2026": "...", "\u3000": " ", "\u00a0": " ", "\t": " ", "\r\n": " ", "\r": " ",
         "\u200b": "", "\u0301": "", "\u00bd": "1 2 ", "\u2167": "VIII", "\u30ab\u3099": "\u30ac", "\U0001f600": ":)", "\n": " ", "A": "a", "\u0915": "\u0915\u093c"}


def train(name, texts, size, coverage=0.985, small=False):
    """tokenizer.model, of about `size` tokens."""
    lines = [line for text in texts for line in text.split("\n") if line]
    options = dict(MODELS[name])
    with tempfile.TemporaryDirectory() as folder:
        if small and options.get("normalization_rule_name") != "identity":
            path = os.path.join(folder, "rules.tsv")
            with open(path, "w") as file:
                for before, after in RULES.items():
                    print(" ".join("%X" % ord(c) for c in before), " ".join("%X" % ord(c) for c in after), sep="\t", file=file)
            options["normalization_rule_tsv"] = path
            options.pop("normalization_rule_name", None)
        return train_lines(lines, size, coverage, options)


def train_lines(lines, size, coverage, options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, minloglevel=2, hard_vocab_limit=False, num_threads=1,
                                             character_coverage=coverage, vocab_size=size, max_sentence_length=20000, **options)
    return out.getvalue()


def encode(model, raw, finds_controls=False):
    """The ids that define what is right: of the text that Python makes of the bytes. In files of GGUF control tokens are found in the text; SentencePiece does
    not find them."""
    processor, text = sentencepiece.SentencePieceProcessor(model_proto=model), raw.decode("utf-8", errors="replace")
    if not finds_controls:
        return processor.encode(text)
    controls = {piece.piece: i for i, piece in enumerate(proto(model).pieces) if piece.type in (2, 3)}
    parts = re.split("(" + "|".join(map(re.escape, controls)) + ")", text)
    return [i for part in parts for i in ([controls[part]] if part in controls else processor.encode(part))]


# ---- tokenizer.json ----

def proto(model):
    from sentencepiece import sentencepiece_model_pb2
    p = sentencepiece_model_pb2.ModelProto()
    p.ParseFromString(model)
    return p


def sequence(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def metaspace(scheme="always", split=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


MAP = {"type": "Precompiled"}
SPACES = replace(" {2,}", " ", "Regex")
WORDS = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace()]}

# name: the model of it, normalizer, pre-tokenizer
FORMS = {
    "t5": ("unigram", MAP, metaspace()),
    "t5-words": ("unigram-user", MAP, WORDS),
    "xlm-r": ("unigram", sequence(MAP, SPACES), metaspace()),
    "albert": ("unigram", sequence(replace("``", '"'), replace("''", '"'), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, MAP, SPACES), WORDS),
    "strip": ("unigram-unsplit", sequence({"type": "Strip", "strip_left": False, "strip_right": True}, MAP, replace(" {2,}", "▁", "Regex")), metaspace("first")),
    "fallback": ("unigram-bytes", sequence({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), None),
    "unsplit": ("unigram-unsplit", {"type": "Strip", "strip_left": True, "strip_right": True}, metaspace("never", False)),
}


def with_map(step, charsmap):
    if step["type"] == "Sequence":
        return sequence(*[with_map(s, charsmap) for s in step["normalizers"]])
    return dict(step, precompiled_charsmap=base64.b64encode(charsmap).decode()) if step["type"] == "Precompiled" else step


def tokenizer_json(name, model):
    """The tokenizer.json of a form, of its model."""
    p = proto(model)
    _, normalizer, splitter = FORMS[name]
    unknown = next(i for i, piece in enumerate(p.pieces) if piece.type == 2)
    text = json.dumps({
        "version": "1.0",
        "added_tokens": [{"id": i, "content": piece.piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                         for i, piece in enumerate(p.pieces) if piece.type in (2, 3)],
        "normalizer": with_map(normalizer, p.normalizer_spec.precompiled_charsmap),
        "pre_tokenizer": splitter,
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": [[piece.piece, piece.score] for piece in p.pieces],
                  "byte_fallback": p.trainer_spec.byte_fallback},
    }, ensure_ascii=False, separators=(",", ":"))
    Tokenizer.from_str(text)
    return text


# ---- GGUF ----

def gguf_file(model):
    """The tokenizer as GGUF, as converters write it; it has no tokens of the user's, whose blanks they change."""
    import gguf
    p = proto(model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.gguf")
        w = gguf.GGUFWriter(path, "llama")
        w.add_tokenizer_model("llama" if p.trainer_spec.model_type == 2 else "t5")
        w.add_tokenizer_pre("default")
        w.add_token_list([piece.piece.encode() for piece in p.pieces])
        w.add_token_scores([piece.score for piece in p.pieces])
        w.add_token_types([piece.type for piece in p.pieces])
        w.add_bos_token_id(1)
        w.add_add_space_prefix(p.normalizer_spec.add_dummy_prefix)
        w.add_remove_extra_whitespaces(p.normalizer_spec.remove_extra_whitespaces)
        if p.normalizer_spec.precompiled_charsmap:
            w.add_precompiled_charsmap(p.normalizer_spec.precompiled_charsmap)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.close()
        with open(path, "rb") as file:
            return file.read()


IN_GGUF = [name for name, options in MODELS.items() if "user_defined_symbols" not in options and "treat_whitespace_as_suffix" not in options]
