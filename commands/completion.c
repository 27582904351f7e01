/* `reach completion`: the tables of the verbs as a script that completes command lines. */
#include "commands/commands.h"
#include "commands/rows.h"
#include "commands/verb.h"

#include "analyze/formula.h"

#include <string.h>

static void print_words(const char *before, const char *const *words)
{
    for (; *words; words++, before = " ")
        printf("%s%s", before, *words);
}

/* Completion of a value without choices. */
static const char *kind_of(const char *value)
{
    return strcmp(value, "FILE") == 0 ? " files=-f" : strcmp(value, "DIR") == 0 ? " files=-d" : "";
}

static void print_verb(const struct verb *v)
{
    char name[OPTION_NAME_MAX];

    printf("    *:%s)\n        case $before in\n", v->name);
    for (size_t i = 0; i < v->option_count; i++) {
        const struct option_row *o = &v->options[i];

        if (!o->value)
            continue;
        printf("        %s)", option_dashed(name, o->name));
        if (o->choices) {
            fputs(" words='", stdout);
            print_words("", o->choices + !**o->choices);
            fputs("'", stdout);
        } else
            fputs(kind_of(o->value), stdout);
        fputs(" ;;\n", stdout);
    }
    fputs("        *)\n            words='--help", stdout);
    for (size_t i = 0; i < v->option_count; i++)
        printf(" %s", option_dashed(name, v->options[i].name));
    for (size_t i = 0; i < v->operand_count; i++)
        if (v->operands[i].choices)
            print_words(" ", v->operands[i].choices);
    for (int i = 0;
         v->operand_count && v->operands[0].flags & OPERAND_FORMULA && i < formula_preset_count;
         i++)
        printf(" %s", formula_presets[i].name);
    printf("'%s ;;\n        esac ;;\n",
           v->operand_count && !v->operands[0].choices ? " files=-f" : "");
}

static int completion_call(struct call *c, struct error *e)
{
    (void)c;
    (void)e;
    fputs("# Completion of reach's command lines in bash; made by `reach completion bash`.\n"
          "_reach()\n"
          "{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= "
          "files=\n"
          "\n"
          "    # --name=VALUE is three words here\n"
          "    if [ \"$word\" = = ]; then\n"
          "        word=\n"
          "    elif [ \"$before\" = = ]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case $COMP_CWORD:${COMP_WORDS[1]} in\n"
          "    1:*) words='--help --version",
          stdout);
    for (const struct verb *const *v = verbs; *v; v++)
        printf(" %s", (*v)->name);
    fputs("' ;;\n", stdout);
    for (const struct verb *const *v = verbs; *v; v++)
        print_verb(*v);
    fputs("    esac\n"
          "    [ -z \"$files\" ] || compopt -o filenames 2> /dev/null\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"; [ -z \"$files\" ] || "
          "compgen $files -- \"$word\")\n"
          "}\n"
          "complete -F _reach reach\n",
          stdout);
    return 0;
}

static const char *const shells[] = {"bash", NULL};

struct completion_options {
    const char *shell;
    struct shown_options shown;
};

#define OPTIONS struct completion_options

static const struct option_row rows[] = {QUIET_ROW};

static const struct operand_row operands[] = {
    {.name = "SHELL", .expected = "bash", .at = AT(shell), .choices = shells}};

const struct verb completion_verb = {
    .name = "completion",
    .summary = "a script that completes command lines in bash",
    .synopsis = "bash [options]",
    .description = "Prints a script for bash that completes verbs, options, values that are "
                   "choices, presets, files and folders. "
                   "`make install` installs it; the line below loads it into a shell.\n",
    .examples = "  . <(reach completion bash)\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .run = completion_call,
};
