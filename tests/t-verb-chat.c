/* Chat templates: `reach info --chat`, and what `reach explain` says to prompts of a model that has
 * one. python/tests/test_chat.py compares them with transformers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/tokenizer/chat.h"
#include "tests/program.h"
#include "tests/scratch.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LLAMA "goldens/saved/llama"

/* One line: NAME=TEXT of templates, a bar, and NAME=TEXT of tokens. */
static void write_out(char *out, size_t size, const struct chat *c)
{
    size_t at = 0;

    for (size_t i = 0; i < c->template_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s=%s ", c->template[i].name,
                               c->template[i].text);
    at += (size_t)snprintf(out + at, size - at, "|");
    for (size_t i = 0; i < c->token_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, " %s=%s", c->token[i].name,
                               c->token[i].text ? c->token[i].text : "(none)");
}

struct files {
    const char *settings, *jinja, *named; /* NULL: no such file */
    const char *found; /* part of the line above, or of the message */
};

static void check_folder(const struct files *f)
{
    char *folder = scratch_make(), line[1000] = "";
    struct chat c;
    struct error e = {""};
    int rc;

    if (f->settings)
        scratch_write(folder, "tokenizer_config.json", f->settings, strlen(f->settings));
    if (f->jinja)
        scratch_write(folder, "chat_template.jinja", f->jinja, strlen(f->jinja));
    mkdir(scratch_path(folder, "additional_chat_templates"), 0700);
    if (f->named)
        scratch_write(folder, "additional_chat_templates/rag.jinja", f->named, strlen(f->named));
    scratch_write(folder, "additional_chat_templates/other.txt", "x", 1);
    rc = chat_read(&c, folder, &e);
    if (rc == 0)
        write_out(line, sizeof line, &c);
    if (!strstr(rc == 0 ? line : e.text, f->found))
        fail_msg("%s, %s: %d, %s%s (expected %s)", f->settings, f->jinja, rc, line, e.text,
                 f->found);
    if (rc == 0)
        chat_free(&c);
    scratch_remove(folder);
}

static void files_of_a_folder(void **state)
{
    static const struct files rows[] = {
        {.found = "|"},
        {.settings = "{\"chat_template\": \"a\\nb\"}", .found = "default=a\nb |"},
        {.settings = "{\"chat_template\": null}", .found = "|"},
        {.settings = "{\"chat_template\": \"a\"}", .jinja = "b", .found = "default=b |"},
        {.settings = "{\"chat_template\": \"a\"}", .named = "r", .found = "rag=r |"},
        {.jinja = "b", .named = "r", .found = "default=b rag=r |"},
        {.settings = "{\"chat_template\": [{\"name\": \"default\", \"template\": \"d\"},"
                     " {\"name\": \"tool_use\", \"template\": \"t\"}]}",
         .found = "default=d tool_use=t |"},
        {.settings = "{\"chat_template\": [\"d\"]}",
         .found = "tokenizer_config.json: chat_template 1 has no name and template"},
        {.settings = "{\"chat_template\": 3}", .found = "neither a text nor a list"},
        {.settings = "{", .found = "tokenizer_config.json: "},
        {.jinja = "\xff",
         .found = "chat_template.jinja: the chat template or token default is not"},
        {.settings = "{\"eos_token\": {\"content\": \"</s>\"}, \"add_bos_token\": true, "
                     "\"image_token\": \"<i>\", \"extra_special_tokens\": {\"video_token\": "
                     "\"<v>\"}, \"tokenizer_class\": \"LlamaTokenizer\", \"bos_token\": null}",
         .found = "| eos_token=</s> image_token=<i> bos_token=(none) video_token=<v>"},
        {.settings = "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"eos_token\": \"e\"}",
         .found = "| eos_token=e bos_token=(none) unk_token=(none) sep_token=(none)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_folder(&rows[i]);
}

static void info_shows_it(void **state)
{
    (void)state;
    expect("info " LLAMA " --chat", 0, "default:\n{% for m in messages %}<|{{ m['role'] }}|>\n");
    expect("info " LLAMA " --chat", 0, "bos_token      <s>\n");
    expect("info " LLAMA " --chat --json", 0, "\"templates\": [\n    {\"name\": \"default\", ");
    expect("info " LLAMA " --chat --length 9", 2, "--length");
    expect("info goldens/gguf/gpt2.gguf --chat", 1, "has no chat template (expected ");
    expect("info goldens/gguf/gpt2.gguf --chat --json", 0, "\"templates\": [],");
    expect("info shape:layers=1,hidden=8,heads=1 --chat", 2, "has no tokenizer");
}

/* Runs LINE and returns 1 if it says that the model has a template. */
static int is_told(const char *line)
{
    struct outcome o = reach(line);
    int told = strstr(o.err, "llama: has a chat template, and prompts are taken as they are "
                             "(`reach info " LLAMA " --chat`") != NULL;

    if (o.status != 0)
        fail_msg("reach %s: %s", line, o.err);
    outcome_free(&o);
    return told;
}

static void prompts_are_told(void **state)
{
    static const char plain[] = "{\"prompt\": \"a cat\"}\n{\"prompt\": \"</s>a cat\"}\n",
                      chat[] = "{\"prompt\": \"<s>a cat\"}\n{\"prompt\": \"</s>a cat\"}\n";

    (void)state;
    scratch_write(base, "plain", plain, sizeof plain - 1);
    scratch_write(base, "chat", chat, sizeof chat - 1);
    scratch_write(base, "text", "a cat", 5);
    assert_true(is_told("explain " LLAMA " --prompt a~cat"));
    assert_true(is_told("explain " LLAMA " --prompts plain"));
    assert_false(is_told("explain " LLAMA " --prompts chat"));
    assert_false(is_told("explain " LLAMA " --prompt a~</s>~cat"));
    assert_false(is_told("explain " LLAMA " --prompt <s>a~cat --bos never"));
    assert_false(is_told("explain " LLAMA " --text text"));
}

/* A converted folder keeps it. */
static void convert_keeps_it(void **state)
{
    (void)state;
    succeed("convert " LLAMA " converted --force");
    assert_true(exists(at("converted/chat_template.jinja")));
}

static int make_inputs(void **state)
{
    char *goldens = realpath("tests/goldens", NULL);
    int rc;

    (void)state;
    rc = program_open() == 0 && goldens ? symlink(goldens, at("goldens")) : -1;
    free(goldens);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_folder),
        cmocka_unit_test(info_shows_it),
        cmocka_unit_test(prompts_are_told),
        cmocka_unit_test(convert_keeps_it),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
