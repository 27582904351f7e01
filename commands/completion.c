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

/* The choices of a row, without an empty one that means none. */
static const char *const *choices_of(const struct option_row *o)
{
    return o->choices ? o->choices + !**o->choices : NULL;
}

static int takes(const struct option_row *o, const char *what)
{
    return o->value && !o->choices && strcmp(o->value, what) == 0;
}

/* 1 if options and operands of the verb may be files. */
static int takes_files(const struct verb *v)
{
    return v->operand_count && !v->operands[0].choices;
}

static void print_presets(const struct verb *v)
{
    for (int i = 0;
         v->operand_count && v->operands[0].flags & OPERAND_FORMULA && i < formula_preset_count;
         i++)
        printf(" %s", formula_presets[i].name);
}

/* ---- bash ---- */

static void bash_verb(const struct verb *v)
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
            print_words("", choices_of(o));
            fputs("'", stdout);
        } else
            fputs(takes(o, "FILE") ? " files=-f" : takes(o, "DIR") ? " files=-d" : "", stdout);
        fputs(" ;;\n", stdout);
    }
    fputs("        *)\n            words='--help", stdout);
    for (size_t i = 0; i < v->option_count; i++)
        printf(" %s", option_dashed(name, v->options[i].name));
    for (size_t i = 0; i < v->operand_count; i++)
        if (v->operands[i].choices)
            print_words(" ", v->operands[i].choices);
    print_presets(v);
    printf("'%s ;;\n        esac ;;\n", takes_files(v) ? " files=-f" : "");
}

static void bash_script(void)
{
    fputs("_reach()\n"
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
        bash_verb(*v);
    fputs("    esac\n"
          "    [ -z \"$files\" ] || compopt -o filenames 2> /dev/null\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"; [ -z \"$files\" ] || "
          "compgen $files -- \"$word\")\n"
          "}\n"
          "complete -F _reach reach\n",
          stdout);
}

/* ---- zsh and fish ---- */

/* TEXT inside single quotes, with a backslash before each of `special`. */
static void print_quoted(const char *text, const char *special, const char *apostrophe)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs(apostrophe, stdout);
        else
            printf(strchr(special, *text) ? "\\%c" : "%c", *text);
}

static void zsh_option(const struct option_row *o)
{
    char name[OPTION_NAME_MAX], brief[HELP_MAX];
    int is_long = strlen(o->name) > 1;

    option_dashed(name, o->name);
    option_brief(brief, sizeof brief, o);
    printf(" \\\n        '%s%s%s[", o->type == OPTION_LIST || o->flags & OPTION_REPEATED ? "*" : "",
           name, o->value && is_long ? "=" : "");
    print_quoted(brief, "[]\\", "'\\''");
    fputs("]", stdout);
    if (o->value) {
        fputs(":", stdout);
        print_quoted(o->value, ":\\", "'\\''");
        fputs(":", stdout);
    }
    if (o->choices) {
        fputs("(", stdout);
        print_words("", choices_of(o));
        fputs(")", stdout);
    } else if (o->value)
        fputs(takes(o, "FILE") ? "_files" : takes(o, "DIR") ? "_directories" : " ", stdout);
    fputs("'", stdout);
}

static void zsh_verb(const struct verb *v)
{
    printf("    %s) _arguments '(- *)'{-h,--help}'[help]'", v->name);
    for (size_t i = 0; i < v->option_count; i++)
        zsh_option(&v->options[i]);
    for (size_t i = 0; i < v->operand_count; i++) {
        const struct operand_row *o = &v->operands[i];

        printf(" \\\n        '%s:", o->flags & OPERAND_LIST ? "*" : "");
        print_quoted(o->name, ":\\", "'\\''");
        if (o->choices) {
            fputs(":(", stdout);
            print_words("", o->choices);
            fputs(")'", stdout);
        } else if (o->flags & OPERAND_FORMULA) {
            fputs(": _alternative \"presets:preset:(", stdout);
            print_presets(v);
            fputs(")\" files:file:_files'", stdout);
        } else
            fputs(":_files'", stdout);
    }
    fputs(" ;;\n", stdout);
}

static void zsh_script(void)
{
    fputs("_reach()\n{\n    local -a verbs=(", stdout);
    for (const struct verb *const *v = verbs; *v; v++) {
        printf("\n        '%s:", (*v)->name);
        print_quoted((*v)->summary, ":\\", "'\\''");
        fputs("'", stdout);
    }
    fputs(")\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _arguments '--help[help]' '--version[version]' '*: :{_describe verb verbs}'\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $verb in\n",
          stdout);
    for (const struct verb *const *v = verbs; *v; v++)
        zsh_verb(*v);
    fputs("    esac\n"
          "}\n"
          "# read by compinit as a function's file, or by a shell's start-up file\n"
          "if [ \"$funcstack[1]\" = _reach ]; then _reach \"$@\"; else compdef _reach reach; fi\n",
          stdout);
}

static void fish_described(const char *text)
{
    fputs(" -d '", stdout);
    print_quoted(text, "\\", "\\'");
    fputs("'\n", stdout);
}

static void fish_verb(const struct verb *v)
{
    char brief[HELP_MAX];

    printf("complete -c reach -n __reach_first -a %s", v->name);
    fish_described(v->summary);
    printf("complete -c reach -n '__reach_verb %s' -s h -l help -d help\n", v->name);
    for (size_t i = 0; i < v->option_count; i++) {
        const struct option_row *o = &v->options[i];

        option_brief(brief, sizeof brief, o);
        printf("complete -c reach -n '__reach_verb %s' %s %s%s", v->name,
               strlen(o->name) > 1 ? "-l" : "-s", o->name,
               !o->value          ? ""
               : takes(o, "FILE") ? " -r -F"
                                  : " -x");
        if (o->choices) {
            fputs(" -a '", stdout);
            print_words("", choices_of(o));
            fputs("'", stdout);
        } else if (takes(o, "DIR"))
            fputs(" -a '(__fish_complete_directories)'", stdout);
        fish_described(brief);
    }
    for (size_t i = 0; i < v->operand_count; i++)
        if (v->operands[i].choices) {
            printf("complete -c reach -n '__reach_verb %s' -a '", v->name);
            print_words("", v->operands[i].choices);
            fputs("'\n", stdout);
        }
    if (v->operand_count && v->operands[0].flags & OPERAND_FORMULA) {
        printf("complete -c reach -n '__reach_verb %s' -a '", v->name);
        print_presets(v);
        fputs("' -d preset\n", stdout);
    }
    if (takes_files(v))
        printf("complete -c reach -n '__reach_verb %s' -F\n", v->name);
}

static void fish_script(void)
{
    fputs("function __reach_first\n"
          "    test (count (commandline -opc)) -eq 1\n"
          "end\n"
          "function __reach_verb\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
          "end\n"
          "complete -c reach -f\n"
          "complete -c reach -n __reach_first -l help -d help\n"
          "complete -c reach -n __reach_first -l version -d version\n",
          stdout);
    for (const struct verb *const *v = verbs; *v; v++)
        fish_verb(*v);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

struct completion_options {
    const char *shell;
    struct shown_options shown;
};

static int completion_call(struct call *c, struct error *e)
{
    const struct completion_options *o = c->options;

    (void)e;
    if (strcmp(o->shell, "zsh") == 0)
        puts("#compdef reach");
    printf("# Completion of reach's command lines in %s; made by `reach completion %s`.\n",
           o->shell, o->shell);
    if (strcmp(o->shell, "bash") == 0)
        bash_script();
    else if (strcmp(o->shell, "zsh") == 0)
        zsh_script();
    else
        fish_script();
    return 0;
}

#define OPTIONS struct completion_options

static const struct option_row rows[] = {QUIET_ROW};

static const struct operand_row operands[] = {
    {.name = "SHELL", .expected = "bash, zsh or fish", .at = AT(shell), .choices = shells}};

const struct verb completion_verb = {
    .name = "completion",
    .summary = "a script that completes command lines in bash, zsh or fish",
    .synopsis = "bash | zsh | fish [options]",
    .description = "Prints a script for a shell that completes verbs, options, values that are "
                   "choices, presets, files and folders, in zsh and fish with what each is. `make "
                   "install` installs all three. The lines below load one into a shell: of bash, "
                   "of zsh after compinit, of fish.\n",
    .examples = "  . <(reach completion bash)\n"
                "  . <(reach completion zsh)\n"
                "  reach completion fish | source\n",
    .operands = operands,
    .operand_count = 1,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(OPTIONS),
    .run = completion_call,
};
