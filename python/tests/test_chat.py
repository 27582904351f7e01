"""messages=: texts and token ids against apply_chat_template of transformers, on templates of the shapes that models have; its limits."""

import json
import os
import shutil
import subprocess
import sys
import unittest
from importlib.util import find_spec
from unittest import mock

import reach_erf as reach
from reach_erf.chat import render

from common import ROOT, Case, torch

HAS_BOTH = torch and find_spec("transformers") and find_spec("jinja2")
FOLDER = ROOT / "tests/goldens/saved/llama"

ASK = {"role": "user", "content": "What is 6 x 7?  \n"}
SHORT = [ASK]
LONG = [{"role": "system", "content": " Be brief.\n"}, ASK, {"role": "assistant", "content": "42 <b>&"}, {"role": "user", "content": "Why? Ünïcode"}]
TOOLS = [{"type": "function", "function": {"name": "f", "description": "a < b & 'c'", "parameters": {"é": [1, 2.5, None, True]}}}]
CALLS = [ASK, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": "<1>"}}}]},
         {"role": "tool", "content": "7"}]
THOUGHT = [ASK, {"role": "assistant", "thinking": "six sevens", "content": "42"}, ASK]

# what a template is like: itself, the chats that it is tried on, what it is given besides
SHAPES = {
    "turns between special tokens, a system text where there is none": ("""
{%- for message in messages %}
    {%- if loop.first and messages[0]['role'] != 'system' %}
        {{- '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
    {%- endif %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""", (SHORT, LONG), {}),
    "a beginning-of-text token, trimmed turns, a date by a fixed format": ("""{{ bos_token }}
{%- set date = strftime_now('%Y') if strftime_now is defined else '2024' %}
{% for m in messages %}
    {% set content = '<|start|>' + m.role + '<|end|>\n\n' + m['content'] | trim + '<|eot|>' %}
    {{ content }}
{% endfor %}
Year {{ date }}
{% if add_generation_prompt %}<|start|>assistant<|end|>

{% endif %}""", (SHORT, LONG), {}),
    "instructions in brackets, exceptions, a system text in the first turn": ("""
{%- if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set system = false %}{% endif %}
{%- for m in rest %}
{%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles have to alternate') }}{% endif %}
{%- if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + m['content'] %}
{%- else %}{% set content = m['content'] %}{% endif %}
{%- if m['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
{%- else %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""", (SHORT, LONG), {}),
    "other names of roles, a namespace, loop controls": ("""{{ bos_token }}{% set ns = namespace(turns=0, last='') %}
{% for m in messages %}
    {% if m.role == 'system' %}{% continue %}{% endif %}
    {% if ns.turns > 5 %}{% break %}{% endif %}
    {% set ns.turns = ns.turns + 1 %}
    {% set ns.last = m.role %}
<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}
{{ m.content | trim }}<end_of_turn>
{% endfor %}
{{ ns.turns }}{{ ns.last }}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}""", (SHORT, LONG), {}),
    "a macro, tools as JSON in three forms, calls": ("""{%- macro turn(role, body) -%}<|{{ role }}|>{{ body }}{{ eos_token }}{%- endmacro -%}
{%- if tools %}{{ turn('tools', tools | tojson) }}{{ tools | tojson(indent=2) }}{{ tools[0].function | tojson(sort_keys=true) }}{% endif %}
{%- for m in messages %}
{%- if m.tool_calls is defined %}{% for c in m.tool_calls %}{{ turn('call', c.function.arguments | tojson) }}{% endfor %}
{%- else %}{{ turn(m.role, m.content if m.content is defined else 'none') }}{% endif %}
{%- for k, v in m.items() | sort %}{{ k }};{% endfor %}{% endfor %}""", (SHORT, LONG, CALLS), {"tools": TOOLS}),
    "what the assistant wrote is marked, reasoning under its own name": ("""{% for m in messages %}
{% if m.role == 'assistant' %}{% generation %}{{ m.reasoning_content | default('no thought') }}:{{ m['content'] }}{{ eos_token }}
{% endgeneration %}{% else %}{{ m['content'] }}{% endif %}
{% endfor %}{{ thinking | default('?') }}""", (SHORT, LONG, THOUGHT), {"thinking": False}),
    "tokens that the tokenizer does not have, dict, undefined variables": (
        "{{ sep_token }}|{{ pad_token }}|{{ dict(a=1).a }}|{{ nothing }}|{{ messages | length }}|{{ documents is none }}", (SHORT,), {}),
}


def tokenizer(template):
    """One with special tokens that puts a beginning-of-text token before every text by itself."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start|>", "<|end|>", "<|eot|>", "<start_of_turn>", "<end_of_turn>"]
    letters = special + sorted(pre_tokenizers.ByteLevel.alphabet())
    found = Tokenizer(models.BPE({one: i for i, one in enumerate(letters)}, []))
    found.pre_tokenizer, found.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    found.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=found, bos_token="<s>", eos_token="</s>", pad_token="</s>",
                                                additional_special_tokens=special[2:], chat_template=template)


def document(folder, program=None):
    """What the program says of the templates in a folder."""
    from reach_erf.program import run

    return json.loads(run(["info", "--chat", "--json", str(folder)], program=program).text)


class Chat(Case):
    def folder(self, template="{{ messages[0].content }}", **settings):
        """A copy of a model's folder with a template in tokenizer_config.json."""
        made = self.scratch / f"model-{len(list(self.scratch.iterdir()))}"
        made.mkdir()
        for one in FOLDER.iterdir():
            if one.name != "chat_template.jinja":
                shutil.copy(one, made)
        old = json.loads((made / "tokenizer_config.json").read_text())
        new = {**old, "chat_template": template, **settings}
        (made / "tokenizer_config.json").write_text(json.dumps({name: value for name, value in new.items() if value != "absent"}))
        return made

    @unittest.skipUnless(HAS_BOTH, "torch, transformers or jinja2 is not there")
    def test_texts_are_those_of_transformers(self):
        for shape, (template, chats, values) in SHAPES.items():
            theirs, folder = tokenizer(template), self.scratch / str(len(shape))
            theirs.save_pretrained(folder)
            (folder / "config.json").write_text("{}")
            found = document(folder)
            for chat in chats:
                for prompt in (True, False):
                    with self.subTest(shape, messages=len(chat), add_generation_prompt=prompt):
                        wanted = theirs.apply_chat_template(chat, add_generation_prompt=prompt, tokenize=False, **values)
                        self.assertGreater(len(wanted), 8)
                        self.assertEqual(render(found, chat, {"add_generation_prompt": prompt, **values}, "it"), wanted)
        with self.refused("it: its chat template: roles have to alternate"):
            template = SHAPES["instructions in brackets, exceptions, a system text in the first turn"][0]
            render({"templates": [{"name": "default", "text": template}], "special_tokens": found["special_tokens"]}, [ASK, ASK], {}, "it")

    @unittest.skipUnless(HAS_BOTH, "torch, transformers or jinja2 is not there")
    def test_token_ids_are_those_of_transformers(self):
        """Of models in memory: special tokens are tokens, and there is one beginning-of-text token at most."""
        import transformers

        torch.manual_seed(4)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=265, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, initializer_range=0.3))
        for shape in list(SHAPES)[:4]:
            template, chats, values = SHAPES[shape]
            for chat in chats:
                with self.subTest(shape, messages=len(chat)):
                    theirs = tokenizer(template)
                    wanted = theirs.apply_chat_template(chat, add_generation_prompt=True, **values)["input_ids"]
                    found = reach.explain(model, tokenizer=theirs, messages=chat, chat=values)
                    self.assertEqual(found["id"].tolist(), wanted)
                    self.assertEqual("".join(found.pieces), theirs.decode(wanted))
                    self.assertFalse([line for line in found.messages if "chat template" in line or "beginning-of-text" in line])
        with self.refused("its chat template writes <s> itself (expected messages= without bos='always')"):
            reach.explain(model, tokenizer=theirs, messages=SHORT, bos="always")
        found = reach.explain(model, tokenizer=tokenizer("[{{ messages[0].content }}]"), messages=SHORT, bos="always", answer="42")
        self.assertEqual(("".join(found.parts[0].pieces), found.target.text), ("<s>[What is 6 x 7?  \n]", "42"))

    @unittest.skipUnless(find_spec("jinja2"), "jinja2 is not there")
    def test_files_and_names(self):
        text = {"a": "A{{ messages[0].content }}", "b": "B{{ tools }}"}
        named = self.folder([{"name": "default", "template": text["a"]}, {"name": "tool_use", "template": text["b"]}])
        files = self.folder("not this one")
        (files / "chat_template.jinja").write_text(text["a"])
        (files / "additional_chat_templates").mkdir()
        (files / "additional_chat_templates/tool_use.jinja").write_text(text["b"])
        for folder in (named, files):
            for chat, wanted in (({}, "A" + ASK["content"]), ({"tools": []}, "B[]"), ({"chat_template": "tool_use"}, "BNone"),
                                 ({"chat_template": "C{{ eos_token }}"}, "C</s>"), ({"chat_template": "{{ bos_token }}", "bos_token": "X"}, "X")):
                with self.subTest(folder.name, **chat):
                    self.assertEqual(render(document(folder), SHORT, chat, "it"), wanted)
                    if HAS_BOTH:
                        import transformers

                        theirs = transformers.AutoTokenizer.from_pretrained(folder)
                        self.assertEqual(theirs.apply_chat_template(SHORT, add_generation_prompt=True, tokenize=False, **chat), wanted)
        self.assertEqual("".join(reach.explain(files, messages=SHORT).pieces), " A" + ASK["content"])  # its blank is SentencePiece's
        with self.refused("has the chat templates rag, json (expected chat={'chat_template': one of them})"):
            found = [{"name": name, "text": ""} for name in ("rag", "json")]
            render({"templates": found, "special_tokens": []}, SHORT, {}, "it")

    @unittest.skipUnless(find_spec("gguf"), "gguf is not there")
    def test_gguf(self):
        import gguf

        path = self.scratch / "model.gguf"
        writer = gguf.GGUFWriter(str(path), "llama")
        writer.add_token_list(["<unk>", "<s>", "</s>", "a"])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_chat_template([{"name": "default", "template": "é{{ bos_token }}"}, {"name": "rag", "template": "R"}])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        found = document(path)
        self.assertEqual({one["name"]: one["text"] for one in found["templates"]}, {"default": "é{{ bos_token }}", "rag": "R"})
        self.assertEqual({one["name"]: one["text"] for one in found["special_tokens"]},
                         {"bos_token": "<s>", "eos_token": "</s>", "unk_token": None, "pad_token": None})

    @unittest.skipUnless(find_spec("jinja2"), "jinja2 is not there")
    def test_templates_are_confined(self):
        for template in ("{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{{ dict.__init__ }}", "{{ cycler.__init__.__globals__ }}",
                         "{% set n = namespace(__class__=1) %}", "{% set n = namespace() %}{% set n._x = 1 %}", "{% include '/etc/passwd' %}",
                         "{{ messages[0].content.__class__ }}", "{{ 1 / 0 }}", "{{ 'x' + 1 }}", "{% for %}", "{{ nothing.more }}"):
            with self.subTest(template):
                found = {"templates": [{"name": "default", "text": template}], "special_tokens": []}
                try:
                    self.assertEqual(render(found, SHORT, {}, "it"), "")  # it learns nothing
                except reach.ReachError as error:
                    self.assertIn("it: its chat template: ", str(error))

    @unittest.skipUnless(find_spec("jinja2"), "jinja2 is not there")
    def test_what_is_refused(self):
        for given, parts in (({"messages": []}, ["messages are empty (expected [{"]),
                             ({"messages": ["hello"]}, ["messages are not a list of dicts"]),
                             ({"messages": [{"role": "user", "content": object()}]}, ["messages: ", "(expected texts, numbers, lists and dicts)"]),
                             ({"messages": SHORT, "prompt": "x"}, ["both given"]), ({"messages": SHORT, "tokens": [1, 2]}, ["both given"]),
                             ({"prompt": "x", "chat": {}}, ["chat is given without messages"])):
            with self.subTest(given), self.refused(*parts):
                reach.explain(FOLDER, **given)
        with self.refused("has no chat template (expected chat_template.jinja, chat_template in tokenizer_config.json"):
            reach.explain(self.folder("absent"), messages=SHORT)
        with self.refused("its chat template writes bos_token, which no file of its tokenizer names (expected chat={'bos_token': TEXT})"):
            reach.explain(self.folder("{{ bos_token }}", bos_token="absent"), messages=SHORT)
        with mock.patch("jinja2.__version__", "3.1.5"), self.refused("jinja2 is 3.1.5", "expected 3.1.6 or later"):
            reach.explain(FOLDER, messages=SHORT)

    def test_what_is_not_there(self):
        """jinja2 is named, and nothing else needs it; transformers and torch are never imported."""
        for hidden in ("jinja2", "transformers"):
            wanted = "<|user|>" if hidden != "jinja2" and find_spec("jinja2") else "messages= needs jinja2"
            code = f"""
import sys
sys.modules[{hidden!r}] = sys.modules["torch"] = None
import reach_erf as reach
reach.explain({str(FOLDER)!r}, prompt="</s> a")
try:
    print("".join(reach.explain({str(FOLDER)!r}, messages=[{{"role": "user", "content": "a"}}]).pieces))
except reach.ReachError as error:
    print(error)
"""
            done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
            with self.subTest(hidden):
                self.assertIn(wanted, done.stdout)

    def test_a_prompt_of_such_a_model(self):
        """A warning says what to do, unless the turns are written out."""
        with self.assertWarnsRegex(reach.ReachWarning, "has a chat template, and prompts are taken as they are .* messages= in Python"):
            reach.explain(FOLDER, prompt="the cat")


if __name__ == "__main__":
    unittest.main()
