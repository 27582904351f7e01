#!/usr/bin/env python3
"""Folders exactly as model.save_pretrained and tokenizer.save_pretrained leave them, one for each family, and what they give for text.txt.

    python3 tests/goldens/saved/make.py [FAMILY...]

FAMILY/ is a small random model with a tokenizer trained on text.txt: nothing in it is edited. Beside it:

    FAMILY-ids.npy       int32 [n], the text as the tokenizer that transformers loads from the folder reads it, without special tokens
    FAMILY-expected.npy  float64 [S, L], of each segment ||d log p(last token) / d e_m|| of L-1 positions, then log p of the last token, from
                         transformers widened to float64. Segments of L tokens start at 0, STRIDE, ... of the text; where the tokenizer puts a
                         beginning-of-text token before a text it is the first of the L.

Versions: transformers 5.23.0, tokenizers, PyTorch 2.15.0 (CPU). As they are made, log p is compared with that of the folder as transformers loads
it in float32. Read by tests/t-verb-saved-folders.c.
"""

import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (AutoConfig, AutoModelForCausalLM, AutoTokenizer, CodeGenTokenizer, GemmaTokenizer, GPT2Tokenizer, GPTNeoXTokenizer,
                          LlamaTokenizer, PreTrainedTokenizerFast, Qwen2Tokenizer)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "tokenizer")]
from make_goldens import generator, random_weight      # noqa: E402
from styles import BLOOM, LLAMA3                       # noqa: E402
from transformers_oracle import oracle                 # noqa: E402

VOCABULARY, LENGTH, STRIDE, SEGMENTS = 512, 40, 30, 2
TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}\n{% endfor %}"


# --- tokenizers ---------------------------------------------------------------------------------

def read_text():
    with open(os.path.join(HERE, "text.txt"), encoding="utf-8") as file:
        return file.read()


def trained(splitter, special, normalizer=None, alphabet=None):
    """Vocabulary and merges of byte pair encoding, trained on the text; special tokens first."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = splitter
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator([read_text()], trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet is None else alphabet))
    return t.get_vocab(), [tuple(merge) for merge in json.loads(t.to_str())["model"]["merges"]]


def by_bytes(*special):
    return trained(pre_tokenizers.ByteLevel(add_prefix_space=False), list(special))


def whole(splitter, special, **settings):
    """A tokenizer that has no class of its own."""
    vocabulary, merges = trained(splitter, special)
    t = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    t.pre_tokenizer = splitter
    t.decoder = decoders.ByteLevel()
    if "bos_token" in settings:
        t.post_processor = processors.TemplateProcessing(single=settings["bos_token"] + " $A", pair=settings["bos_token"] + " $A $B",
                                                         special_tokens=[(settings["bos_token"], vocabulary[settings["bos_token"]])])
    return PreTrainedTokenizerFast(tokenizer_object=t, **settings)


def split_then_spell(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(**settings):
    vocabulary, merges = by_bytes("<|endoftext|>")
    return GPT2Tokenizer(vocab=vocabulary, merges=merges, model_max_length=1024, **settings)


def gptj():
    vocabulary, merges = by_bytes("<|endoftext|>")
    return GPT2Tokenizer(vocab=vocabulary, merges=merges)


def phi():
    vocabulary, merges = by_bytes("<|endoftext|>")
    return CodeGenTokenizer(vocab=vocabulary, merges=merges, model_max_length=2048)


def opt():
    vocabulary, merges = by_bytes("<s>", "<pad>", "</s>", "<unk>")
    return GPT2Tokenizer(vocab=vocabulary, merges=merges, bos_token="</s>", eos_token="</s>", unk_token="</s>", pad_token="<pad>", add_bos_token=True)


def gpt_neox():
    vocabulary, merges = by_bytes("<|endoftext|>", "<|padding|>")
    return GPTNeoXTokenizer(vocab=vocabulary, merges=merges)


def mpt():
    vocabulary, merges = by_bytes("<|endoftext|>", "<|padding|>")
    return GPTNeoXTokenizer(vocab=vocabulary, merges=merges, model_max_length=2048)


def bloom():
    return whole(split_then_spell(BLOOM), ["<unk>", "<s>", "</s>", "<pad>"], unk_token="<unk>", eos_token="</s>", pad_token="<pad>")


def falcon():
    splitter = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                                        pre_tokenizers.Digits(False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    return whole(splitter, ["<|endoftext|>"], eos_token="<|endoftext|>", model_max_length=2048)


def sentencepiece(special):
    bytes_ = ["<0x%02X>" % i for i in range(256)]
    return trained(pre_tokenizers.Metaspace(), special + bytes_, alphabet=[])


def llama():
    vocabulary, merges = sentencepiece(["<unk>", "<s>", "</s>"])
    return LlamaTokenizer(vocab=vocabulary, merges=merges, add_bos_token=True, chat_template=TEMPLATE)


def gemma2():
    vocabulary, merges = sentencepiece(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"])
    return GemmaTokenizer(vocab=vocabulary, merges=merges, add_bos_token=True, chat_template=TEMPLATE)


def mistral():
    return whole(split_then_spell(LLAMA3), ["<unk>", "<s>", "</s>"], bos_token="<s>", eos_token="</s>", unk_token="<unk>", chat_template=TEMPLATE)


def qwen():
    pattern = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
    vocabulary, merges = trained(split_then_spell(pattern), ["<|endoftext|>"], normalizers.NFC())
    return Qwen2Tokenizer(vocab=vocabulary, merges=merges, chat_template=TEMPLATE, additional_special_tokens=["<|im_start|>", "<|im_end|>"])


# --- models -------------------------------------------------------------------------------------

SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
GATED = dict(SMALL, num_key_value_heads=2, intermediate_size=20)
FLOAT, HALF, SHORT = torch.float32, torch.float16, torch.bfloat16

# family: its tokenizer, arguments of its configuration, type of the stored weights
FAMILIES = {
    "bloom": (bloom, dict(hidden_size=16, n_layer=2, n_head=4), SHORT),
    "falcon": (falcon, dict(SMALL), SHORT),
    "gemma2": (gemma2, dict(GATED, head_dim=8, sliding_window=16, query_pre_attn_scalar=8), SHORT),
    "gpt2": (gpt2, dict(n_embd=16, n_layer=2, n_head=4, n_positions=64), FLOAT),
    "gpt_neox": (gpt_neox, dict(SMALL, num_attention_heads=2, intermediate_size=24), HALF),
    "gptj": (gptj, dict(n_embd=16, n_layer=2, n_head=2, n_positions=64, rotary_dim=4), HALF),
    "llama": (llama, dict(GATED), SHORT),
    "mistral": (mistral, dict(GATED, sliding_window=16), SHORT),
    "mpt": (mpt, dict(d_model=16, n_heads=4, n_layers=2, max_seq_len=64), SHORT),
    "opt": (opt, dict(SMALL, ffn_dim=24, word_embed_proj_dim=16), HALF),
    "phi": (phi, dict(SMALL, num_attention_heads=2, intermediate_size=24), HALF),
    "qwen2": (qwen, dict(GATED), SHORT),
    "qwen3": (qwen, dict(GATED, head_dim=8), SHORT),
    "gemma": (gemma2, dict(GATED, head_dim=8), SHORT),
    "phi3": (mistral, dict(GATED, sliding_window=16), SHORT),
    "starcoder2": (gpt2, dict(GATED, sliding_window=16), SHORT),
    "gpt_neo": (gpt2, dict(hidden_size=16, num_layers=2, num_heads=4, max_position_embeddings=64, window_size=8, attention_types=[[["global", "local"], 1]]), FLOAT),
    "gpt_bigcode": (gpt2, dict(n_embd=16, n_layer=2, n_head=4, n_positions=64), HALF),
    "codegen": (phi, dict(n_embd=16, n_layer=2, n_head=4, n_positions=64, n_ctx=64, rotary_dim=4), HALF),
    "olmo": (gpt_neox, dict(GATED), SHORT),
    "stablelm": (gpt_neox, dict(GATED, num_attention_heads=2, num_key_value_heads=1, use_qkv_bias=True), HALF),
    "nemotron": (gpt_neox, dict(GATED, num_attention_heads=2, num_key_value_heads=1), SHORT),
    "arcee": (llama, dict(GATED), SHORT),
    "ministral": (mistral, dict(GATED, head_dim=4, sliding_window=16), SHORT),
    "seed_oss": (llama, dict(GATED, head_dim=4), SHORT),
    "internlm3": (llama, dict(GATED, head_dim=4), SHORT),
    "glm": (llama, dict(GATED, head_dim=8), SHORT),
    "glm4": (llama, dict(GATED, head_dim=8), SHORT),
    "ernie4_5": (llama, dict(GATED, head_dim=4), SHORT),
    "helium": (llama, dict(GATED, head_dim=4), SHORT),
    "granite": (gpt2, dict(GATED, embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.25, logits_scaling=8.0), SHORT),
    "xglm": (opt, dict(d_model=16, num_layers=2, attention_heads=4, ffn_dim=24, max_position_embeddings=64), HALF),
    "biogpt": (opt, dict(SMALL, intermediate_size=24), HALF),
    "gemma3_text": (gemma2, dict(GATED, head_dim=8, sliding_window=16, query_pre_attn_scalar=8), SHORT),
    "smollm3": (mistral, dict(GATED, no_rope_layers=[1, 0]), SHORT),
    "cohere": (gpt2, dict(GATED, use_qk_norm=True), SHORT),
    "cohere2": (gpt2, dict(GATED, sliding_window=16, layer_types=["sliding_attention", "full_attention"]), SHORT),
    "olmo2": (gpt_neox, dict(GATED, tie_word_embeddings=True), SHORT),
    "olmo3": (gpt_neox, dict(GATED, tie_word_embeddings=True, sliding_window=16, layer_types=["sliding_attention", "full_attention"]), SHORT),
    "exaone4": (gpt2, dict(GATED, tie_word_embeddings=True, sliding_window=16, layer_types=["sliding_attention", "full_attention"]), SHORT),
    "hunyuan_v1_dense": (qwen, dict(GATED, tie_word_embeddings=True, head_dim=4), SHORT),
    "ministral3": (mistral, dict(GATED, tie_word_embeddings=True, head_dim=4), SHORT),
    "granite_swa": (gpt2, dict(GATED, sliding_window=16, attention_multiplier=0.25, layer_rope_theta=[0, 10000.0]), SHORT),
    "cwm": (mistral, dict(GATED, tie_word_embeddings=True, head_dim=4, sliding_window=16), SHORT),
    "mixtral": (mistral, dict(GATED, intermediate_size=8, num_local_experts=4, sliding_window=16), SHORT),
    "qwen2_moe": (qwen, dict(GATED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=12), SHORT),
    "qwen3_moe": (qwen, dict(GATED, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, norm_topk_prob=True), SHORT),
    "glm4_moe": (llama, dict(GATED, head_dim=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, use_qk_norm=True), SHORT),
    "granitemoe": (gpt2, dict(GATED, intermediate_size=8, num_local_experts=4, embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.25, logits_scaling=8.0), SHORT),
    "gpt_oss": (gpt2, dict(GATED, head_dim=8, intermediate_size=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=16), SHORT),
    "olmoe": (gpt_neox, dict(GATED, intermediate_size=8, num_experts=4, num_experts_per_tok=2, clip_qkv=1.5), SHORT),
}
FEWER = 300     # tokens of the families from smollm3 on


def save(family, folder):
    """Write the folder; returns the weights and their type."""
    global VOCABULARY
    make_tokenizer, settings, stored = FAMILIES[family]
    VOCABULARY = FEWER if list(FAMILIES).index(family) >= list(FAMILIES).index("smollm3") else 512
    tokenizer = make_tokenizer()
    ids = {key: getattr(tokenizer, key) for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, vocab_size=VOCABULARY, **settings, **ids))
    rng = generator("saved-" + family)
    state = {name: random_weight(name, tuple(p.shape), model.config, rng).to(stored) for name, p in sorted(model.named_parameters())}
    model.load_state_dict(state, strict=False)
    model.to(stored).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o644)
    return state, stored


def make(family):
    folder = os.path.join(HERE, family)
    shutil.rmtree(folder, ignore_errors=True)
    state, stored = save(family, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = read_text()
    ids, marked = tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer(text)["input_ids"]
    before = marked[:-len(ids)]
    assert marked == before + ids and before in ([], [tokenizer.bos_token_id]) and max(ids) < VOCABULARY
    tokens = np.array([before + ids[i * STRIDE:][:LENGTH - len(before)] for i in range(SEGMENTS)], dtype=np.int32)
    norm, logprob = oracle(folder, state, stored, tokens)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager").eval()
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(tokens[:, :-1].astype(np.int64)), use_cache=False).logits[:, -1].double()
    single = torch.log_softmax(logits, -1).numpy()[np.arange(SEGMENTS), tokens[:, -1]]
    print(f"{family}: {type(tokenizer).__name__}, {len(ids)} tokens, {tokenizer.convert_ids_to_tokens(before)} before; "
          f"log p of the folder in float32 differs by {np.abs(single - logprob).max():.1e}")
    assert np.abs(single - logprob).max() < 2e-4
    np.save(os.path.join(HERE, family + "-ids.npy"), np.array(ids, dtype=np.int32))
    np.save(os.path.join(HERE, family + "-expected.npy"), np.concatenate([norm, logprob[:, None]], 1))


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    for name in sys.argv[1:] or FAMILIES:
        make(name)
