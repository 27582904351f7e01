/* What `reach completion` prints: the shells themselves are asked what they offer, and where one is
 * missing the script's text is compared with the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/commands.h"
#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- asking a shell ---- */

struct shell {
    const char *name;
    /* a script that prints a line <WORD> for each word offered after the line in $1, and may print
     * more; it reads ./NAME.script */
    const char *ask;
};

static const struct shell bash = {
    "bash", ". ./bash.script\ncompopt() { :; }\nIFS=' ' read -ra COMP_WORDS <<< \"$1\"\n"
            "[ \"${1% }\" = \"$1\" ] || COMP_WORDS+=('')\n"
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_reach\n"
            "[ ${#COMPREPLY[@]} = 0 ] || printf '<%s>\\n' \"${COMPREPLY[@]}\"\n"};
/* its completion works in an interactive shell alone: in one of its own, where compadd tells what
 * it was given */
static const struct shell zsh = {
    "zsh", "cat > offered.zsh <<'END'\n"
           "autoload -Uz compinit\n"
           "compinit -C -d ./zsh.dump\n"
           "source ./zsh.script\n"
           "compadd() {\n"
           "    [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] && { builtin compadd \"$@\"; return }\n"
           "    local -a found\n"
           "    builtin compadd -A found \"$@\"\n"
           "    for word in $found; do print -r -- \"<$word>\"; done\n"
           "    builtin compadd \"$@\"\n"
           "}\n"
           "offer() { _main_complete; print END; exit }\n"
           "zle -C offered complete-word offer\n"
           "bindkey '^I' offered\n"
           "print BEGIN\n"
           "END\n"
           "zmodload zsh/zpty\n"
           "zpty inner zsh -f -i\n"
           "zpty -w inner \"cd ${(q)PWD}; source ./offered.zsh\"\n"
           "zpty -r -m inner said '*BEGIN*'\n"
           "zpty -w -n inner \"$1\"$'\\t'\n"
           "zpty -r -m inner said '*END*'\n"
           "print -r -- \"$said\"\n"};
static const struct shell fish = {
    "fish",
    "source ./fish.script\n"
    "for word in (complete -C $argv[1]); echo '<'(string split -f1 \\t -- $word)'>'; end\n"};

static int is_here(const struct shell *s)
{
    char command[64];

    snprintf(command, sizeof command, "command -v %s > /dev/null", s->name);
    return system(command) == 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(at("%s", name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Makes the script. */
static char *script_of(const struct shell *s)
{
    char line[64], name[64];
    struct outcome o;

    snprintf(line, sizeof line, "completion %s", s->name);
    o = reach(line);
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    snprintf(name, sizeof name, "%s.script", s->name);
    write_file(name, o.out);
    free(o.err);
    return o.out;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The words that the shell offers behind LINE, sorted, as <a><b>. A blank at the end of LINE:
 * behind an empty word. The caller frees. */
static char *offered(const struct shell *s, const char *line)
{
    enum { WORDS = 200 };
    char command[1000], *said, *word[WORDS], *text;
    size_t count = 0;

    write_file("ask", s->ask);
    snprintf(command, sizeof command, "cd '%s' && TERM=dumb %s ask '%s' > offered 2>&1", base,
             s->name, line);
    assert_int_equal(system(command), 0);
    said = slurp(at("offered"), NULL);
    assert_non_null(said);
    for (char *begin = strchr(said, '<'), *end; begin && count < WORDS;
         begin = strchr(end + 1, '<')) {
        if (!(end = strchr(begin, '>')))
            break;
        *end = 0;
        word[count++] = begin + 1;
    }
    qsort(word, count, sizeof *word, by_text);
    text = calloc(1, 40 * WORDS);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(word[i], word[i - 1]) != 0)
            sprintf(text + strlen(text), "<%.30s>", word[i]);
    free(said);
    return text;
}

static void expect_offers(const struct shell *s, const char *const (*cases)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *text = offered(s, cases[i][0]);

        if (strcmp(text, cases[i][1]) != 0)
            fail_msg("%s: %s: %s (expected %s)", s->name, cases[i][0], text, cases[i][1]);
        free(text);
    }
}

/* What every shell offers. */
static void expect_all_offers(const struct shell *s)
{
    static const char *const cases[][2] = {
        {"reach er", "<erf>"},
        {"reach comp", "<completion>"},
        {"reach --v", "<--version>"},
        {"reach erf --dt", "<--dtype>"},
        {"reach erf --dtype ", "<bf16><bf16x3><f32><f64><tf32>"},
        {"reach erf --dtype bf16x", "<bf16x3>"},
        {"reach erf m --layer al", "<all>"},
        {"reach erf --length ", ""},
        {"reach erf --text a-fi", "<a-file>"},
        {"reach erf a-fi", "<a-file>"},
        {"reach ppl --protocol s", "<sliding>"},
        {"reach ppl --positions ", "<none>"},
        {"reach bias alibi_e", "<alibi_equal>"},
        {"reach completion f", "<fish>"},
    };
    char *text;

    expect_offers(s, cases, sizeof cases / sizeof *cases);
    text = offered(s, "reach erf --");
    for (size_t i = 0; i < erf_verb.option_count; i++) {
        char dashed[OPTION_NAME_MAX], word[OPTION_NAME_MAX + 2];

        snprintf(word, sizeof word, "<%s>", option_dashed(dashed, erf_verb.options[i].name));
        if (!strstr(text, word) && dashed[1] == '-')
            fail_msg("%s does not offer %s: %s", s->name, word, text);
    }
    free(text);
    text = offered(s, "reach erf -o a-");
    assert_true(strstr(text, "a-folder") && !strstr(text, "a-file"));
    free(text);
}

/* Without the shell: a line that holds the option, what it is and its choices, for each of every
 * verb. */
static void expect_text(const struct shell *s, const char *script)
{
    for (const struct verb *const *v = verbs; *v; v++)
        for (size_t i = 0; i < (*v)->option_count; i++) {
            const struct option_row *o = &(*v)->options[i];
            char name[OPTION_NAME_MAX + 16], brief[HELP_MAX];

            option_brief(brief, sizeof brief, o);
            if (strcmp(s->name, "zsh") == 0)
                snprintf(name, sizeof name, "--%s%s[", o->name, o->value ? "=" : "");
            else
                snprintf(name, sizeof name, " -%c %s ", o->name[1] ? 'l' : 's', o->name);
            if (o->name[1] && !strstr(script, name))
                fail_msg("the script for %s lacks '%s' of %s", s->name, name, (*v)->name);
            if (!strpbrk(brief, "[]'\\") && !strstr(script, brief))
                fail_msg("the script for %s lacks '%s' of %s", s->name, brief, (*v)->name);
        }
}

/* ---- the shells ---- */

static void bash_completes(void **state)
{
    static const char *const cases[][2] = {
        {"reach erf --dtype = t", "<tf32>"}, /* --name=VALUE is three words */
        {"reach erf --dtype =", "<bf16><bf16x3><f32><f64><tf32>"},
        {"reach version --", "<--help><--json><--quiet>"},
        {"reach nonsense --", ""},
    };

    (void)state;
    free(script_of(&bash));
    expect_all_offers(&bash);
    expect_offers(&bash, cases, sizeof cases / sizeof *cases);
    expect("completion", 2, "no SHELL is given (expected bash, zsh or fish)");
    expect("completion csh", 2, "\"csh\" is not valid (expected bash, zsh or fish)");
}

static void zsh_completes(void **state)
{
    static const char *const cases[][2] = {{"reach erf --dtype=t", "<tf32>"},
                                           {"reach nonsense --", ""}};
    char *script = script_of(&zsh);

    (void)state;
    expect_text(&zsh, script);
    free(script);
    if (!is_here(&zsh))
        skip();
    expect_all_offers(&zsh);
    expect_offers(&zsh, cases, sizeof cases / sizeof *cases);
}

static void fish_completes(void **state)
{
    static const char *const cases[][2] = {{"reach erf --dtype=t", "<--dtype=tf32>"},
                                           {"reach version --", "<--help><--json><--quiet>"}};
    char *script = script_of(&fish);

    (void)state;
    expect_text(&fish, script);
    free(script);
    if (!is_here(&fish))
        skip();
    setenv("HOME", base, 1); /* where it keeps its history */
    expect_all_offers(&fish);
    expect_offers(&fish, cases, sizeof cases / sizeof *cases);
}

/* What an option is fits a line of a shell's list, and of the short help. */
static void briefs_are_short(void **state)
{
    (void)state;
    for (const struct verb *const *v = verbs; *v; v++)
        for (size_t i = 0; i < (*v)->option_count; i++) {
            char brief[HELP_MAX];

            option_brief(brief, sizeof brief, &(*v)->options[i]);
            if (strlen(brief) > BRIEF_MAX)
                fail_msg("reach %s --%s: %zu characters: %s", (*v)->name, (*v)->options[i].name,
                         strlen(brief), brief);
        }
}

static int setup(void **state)
{
    (void)state;
    if (program_open() != 0)
        return -1;
    write_file("a-file", "");
    return mkdir(at("a-folder"), 0777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bash_completes),
                                       cmocka_unit_test(zsh_completes),
                                       cmocka_unit_test(fish_completes),
                                       cmocka_unit_test(briefs_are_short)};

    return cmocka_run_group_tests(tests, setup, program_close);
}
