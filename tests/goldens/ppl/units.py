"""Bytes, characters and words of targets: units.csv, from units.txt and tokenizers of ../tokenizer.

    python3 tests/goldens/ppl/units.py

By the offsets that the package tokenizers (0.23) gives, in the text itself: no text of a token is
looked up. `sliding`: all tokens but the first, and with `begins` the first too. `last`: the tokens
at 8, 15, 22, 29, 36, which are whole characters.
"""
import pathlib

from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent
SPACE = " \t\n\v\f\r"
LEAST, STRIDE, SEGMENTS = 8, 7, 5


def units(text, spans):
    words = 0
    for begin, end in spans:
        words += sum(text[i] not in SPACE and (i == 0 or text[i - 1] in SPACE) for i in range(begin, end))
    parts = [text[begin:end] for begin, end in spans]
    return [sum(len(p.encode()) for p in parts), sum(map(len, parts)), words]


def main():
    text = (HERE / "units.txt").read_text()
    rows = ["tokenizer,protocol,begins,tokens,bytes,characters,words"]
    for name in ("gpt2", "llama2", "llama3"):
        tokenizer = Tokenizer.from_file(str(HERE.parent / "tokenizer" / f"{name}.json"))
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        assert max(end for _, end in offsets) == len(text)
        first = offsets[0][1]
        assert offsets[1][0] >= first  # the first token ends with a character
        rows.append(f"{name},sliding,0,{len(offsets) - 1}," + ",".join(map(str, units(text, [(first, len(text))]))))
        rows.append(f"{name},sliding,1,{len(offsets)}," + ",".join(map(str, units(text, [(0, len(text))]))))
        taken = range(LEAST, LEAST + STRIDE * SEGMENTS, STRIDE)
        spans = [offsets[i] for i in taken]
        assert all(offsets[i] != offsets[i - 1] and offsets[i] != offsets[i + 1] for i in taken)
        rows.append(f"{name},last,0,{len(spans)}," + ",".join(map(str, units(text, spans))))
    (HERE / "units.csv").write_text("\n".join(rows) + "\n")


main()
