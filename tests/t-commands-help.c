/* What is made from the tables of the verbs, or must agree with them: help and manual
 * pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/commands.h"
#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs of blanks and line ends as one blank. */
static char *flatten(const char *text)
{
    char *flat = malloc(strlen(text) + 1), *to = flat;

    assert_non_null(flat);
    for (; *text; text++)
        if (!isspace((unsigned char)*text))
            *to++ = *text;
        else if (to > flat && to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
    return flat;
}

static void help_says_every_row(void **state)
{
    (void)state;
    for (const struct verb *const *v = verbs; *v; v++) {
        char line[64], *flat;
        struct outcome o;

        snprintf(line, sizeof line, "%s --help --all", (*v)->name);
        o = reach(line);
        assert_int_equal(o.status, 0);
        assert_string_equal(o.err, "");
        flat = flatten(o.out);
        for (size_t i = 0; i < (*v)->option_count; i++) {
            const struct option_row *row = &(*v)->options[i];
            char dashed[OPTION_NAME_MAX], help[HELP_MAX], item[HELP_MAX + 100], *flat_item, *first;

            option_help(help, sizeof help, row);
            snprintf(item, sizeof item, " %s%s%s %s", option_dashed(dashed, row->name),
                     row->value ? " " : "", row->value ? row->value : "", help);
            flat_item = flatten(item);
            first = strstr(flat, flat_item);
            if (!first || strstr(first + 1, flat_item))
                fail_msg("reach %s --help does not say, or says twice: %s", (*v)->name, item);
            if (row->standard && !strstr(help, row->standard))
                fail_msg("reach %s --help does not say the default of %s", (*v)->name, dashed);
            free(flat_item);
        }
        for (const char *s = o.out, *end; *s; s = *end ? end + 1 : end) {
            end = s + strcspn(s, "\n");
            if (end - s > 96 && s[strspn(s, " ")] && strspn(s, " ") == 26)
                fail_msg("reach %s --help has a line of %d characters", (*v)->name, (int)(end - s));
        }
        free(flat);
        outcome_free(&o);
    }
}

/* The help without --all fits a screen, with the options that are used most, a line each, under
 * their groups, and says how to see the others. */
static void help_fits_a_screen(void **state)
{
    (void)state;
    for (const struct verb *const *v = verbs; *v; v++) {
        char line[64], last[128];
        struct outcome all, o;

        snprintf(line, sizeof line, "%s --all --help", (*v)->name);
        all = reach(line);
        snprintf(line, sizeof line, "%s --help", (*v)->name);
        o = reach(line);
        assert_int_equal(o.status, 0);
        assert_int_equal(all.status, 0);
        snprintf(last, sizeof last, "\nreach %s --help --all has every option;", (*v)->name);
        if (lines(o.out) > HELP_LINES)
            fail_msg("reach %s has %d lines", line, lines(o.out));
        if (lines(all.out) <= HELP_LINES)
            assert_string_equal(o.out, all.out);
        else if (!strstr(o.out, last) || !strstr(o.out, "\nExamples:\n"))
            fail_msg("reach %s: %s", line, o.out);
        for (size_t i = 0; i < (*v)->option_count && lines(all.out) > HELP_LINES; i++) {
            const struct option_row *row = &(*v)->options[i];
            char dashed[OPTION_NAME_MAX], brief[HELP_MAX], item[HELP_MAX + 100];

            option_brief(brief, sizeof brief, row);
            snprintf(item, sizeof item, "\n  %s%s%s ", option_dashed(dashed, row->name),
                     row->value ? " " : "", row->value ? row->value : "");
            if (!strstr(o.out, item) != !(row->flags & OPTION_COMMON) ||
                (row->flags & OPTION_COMMON && !strstr(o.out, brief)))
                fail_msg("reach %s: %s is %s", line, dashed,
                         row->flags & OPTION_COMMON ? "missing" : "there");
        }
        for (const char *s = o.out, *end; *s; s = *end ? end + 1 : end) {
            end = s + strcspn(s, "\n");
            if (end - s > 80)
                fail_msg("reach %s has a line of %d characters: %.*s", line, (int)(end - s),
                         (int)(end - s), s);
        }
        snprintf(line, sizeof line, "help %s", (*v)->name);
        outcome_free(&all);
        all = reach(line);
        assert_string_equal(all.out, o.out);
        outcome_free(&all);
        outcome_free(&o);
    }
    expect("help erf --all", 0, "\nModel changes:\n");
    expect("help erf --more", 2, "expected reach help VERB [--all]");
    expect("erf --all", 2, "--all: unknown option");
}

static void help_is_in_groups(void **state)
{
    static const char *const titles[] = {"\nCommon options:\n",   "\nInput:\n",
                                         "\nWhat is measured:\n", "\nModel changes:\n",
                                         "\nMachine:\n",          "\nOutput:\n",
                                         "\nRun control:\n",      "\nExamples:\n"};
    struct outcome o = reach("erf --help --all");
    const char *at = o.out;
    int common = 0;

    (void)state;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (!(at = strstr(at, titles[i])))
            fail_msg("reach erf --help lacks, or has not in its place: %s", titles[i]);
    for (size_t i = 0; i < erf_verb.option_count; i++)
        common += (erf_verb.options[i].flags & OPTION_COMMON) != 0;
    assert_in_range(common, 8, 16);
    outcome_free(&o);
    o = reach("--help");
    for (const struct verb *const *v = verbs; *v; v++)
        if (!strstr(o.out, (*v)->name) || !strstr(o.out, (*v)->summary))
            fail_msg("reach --help does not list %s", (*v)->name);
    outcome_free(&o);
}

/* ---- manual pages ---- */

/* The part of a page that is about the verb, without roff's backslashes. The caller frees. */
static char *page_of(const struct verb *v)
{
    char name[64], title[64], *text, *plain, *from, *end;

    snprintf(name, sizeof name, "doc/reach-%s.1", v->name);
    if (access(name, F_OK) != 0)
        snprintf(name, sizeof name, "doc/reach.1");
    text = plain = slurp(name, NULL);
    if (!text)
        fail_msg("%s cannot be read", name);
    for (const char *p = text; *p; p++) /* \- is a dash, Fl the one before it */
        if (*p != '\\')
            *plain++ = *p;
    *plain = 0;
    if (strcmp(name, "doc/reach.1") != 0)
        return text;
    snprintf(title, sizeof title, "\n.Sh REACH %s\n", v->name);
    for (char *c = title; *c; c++)
        *c = (char)(c > title + 4 ? toupper((unsigned char)*c) : *c);
    from = strstr(text, title);
    if (!from) {
        if (v->option_count)
            fail_msg("doc/reach.1 has no section%s", title);
        *text = 0;
        return text;
    }
    end = strstr(from + 1, "\n.Sh ");
    memmove(text, from, (size_t)(end - from));
    text[end - from] = 0;
    return text;
}

/* The item of an option in a page, up to the next one; its end in *end. NULL: there is none. */
static const char *item_of(const char *page, const char *name, const char **end)
{
    char item[64];
    const char *at;

    snprintf(item, sizeof item, "\n.It Fl %s%s", strlen(name) == 1 ? "" : "-", name);
    for (at = strstr(page, item); at && !isspace((unsigned char)at[strlen(item)]);
         at = strstr(at + 1, item))
        ;
    if (!at)
        return NULL;
    *end = strstr(at + 1, "\n.It ");
    if (!*end)
        *end = strstr(at + 1, "\n.El");
    return at + 1;
}

/* Paths of this tree that a page names exist. */
static void pages_name_paths_that_exist(void **state)
{
    static const char *const folders[] = {"examples/", "doc/", "tests/", "python/", "bench/"};
    glob_t pages;
    size_t found = 0;

    (void)state;
    assert_int_equal(glob("doc/*.[17]", 0, NULL, &pages), 0);
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *text = slurp(pages.gl_pathv[i], NULL), *plain = text;

        for (const char *p = text; *p; p++)
            if (*p != '\\')
                *plain++ = *p;
        *plain = 0;
        for (size_t k = 0; k < sizeof folders / sizeof *folders; k++)
            for (const char *at = text; (at = strstr(at, folders[k])); at++) {
                char path[256];
                size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789-_./");

                while (length && at[length - 1] == '.') /* ends a sentence */
                    length--;
                if (at > text && (isalnum((unsigned char)at[-1]) || strchr("-_./", at[-1])))
                    continue; /* the end of a longer path */
                snprintf(path, sizeof path, "%.*s", (int)length, at);
                found++;
                if (access(path, F_OK) != 0)
                    fail_msg("%s names %s, which does not exist", pages.gl_pathv[i], path);
            }
        free(text);
    }
    globfree(&pages);
    assert_true(found > 10);
}

static void pages_list_the_options_and_no_others(void **state)
{
    (void)state;
    for (const struct verb *const *v = verbs; *v; v++) {
        char *page = page_of(*v);

        for (size_t i = 0; i < (*v)->option_count; i++) {
            const struct option_row *row = &(*v)->options[i];
            const char *end = NULL, *item = item_of(page, row->name, &end);
            char *text;

            if (!item)
                fail_msg("the manual page of reach %s does not list %s", (*v)->name, row->name);
            text = strndup(item, (size_t)(end - item));
            if (row->standard && !strstr(text, row->standard))
                fail_msg("the manual page of reach %s does not say that the default of %s is %s",
                         (*v)->name, row->name, row->standard);
            if ((strstr(text, " Ar ") || strstr(text, " Cm ")) && !row->value &&
                strcspn(text, "\n") > strlen(row->name) + 10)
                fail_msg("the manual page of reach %s gives %s a value", (*v)->name, row->name);
            free(text);
        }
        for (const char *at = strstr(page, "\n.It Fl "); at; at = strstr(at + 1, "\n.It Fl ")) {
            const char *name = at + 8 + (at[8] == '-');
            char known[64];

            snprintf(known, sizeof known, "%.*s", (int)strcspn(name, " \n"), name);
            if (strcmp(known, "h") != 0 && !option_find(*v, known))
                fail_msg("the manual page of reach %s lists %s", (*v)->name, known);
        }
        free(page);
    }
}

static int open_base(void **state)
{
    (void)state;
    return program_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_says_every_row),
        cmocka_unit_test(help_fits_a_screen),
        cmocka_unit_test(help_is_in_groups),
        cmocka_unit_test(pages_list_the_options_and_no_others),
        cmocka_unit_test(pages_name_paths_that_exist),
    };

    return cmocka_run_group_tests(tests, open_base, program_close);
}
