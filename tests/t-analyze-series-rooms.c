/* What must be believed of the series: its room includes nothing of the search, and the rules of
 * doc/series.md and the functions that apply them name each other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROOF "analyze/series/proof/"

static char *slurp_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!f || !text || fread(text, 1, (1 << 20) - 1, f) == 0)
        fail_msg("%s cannot be read", path);
    fclose(f);
    return text;
}

/* Calls look(path, text) for every file of the pattern. */
static void each_file(const char *pattern, void (*look)(const char *path, const char *text))
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = slurp_text(found.gl_pathv[i]);
        look(found.gl_pathv[i], text);
        free(text);
    }
    globfree(&found);
}

/* ---- includes ---- */

static void believed_alone(const char *path, const char *text)
{
    static const char *const allowed[] = {PROOF, "analyze/series.h\"", "analyze/formula.h\"",
                                          "analyze/formula_private.h\""};
    for (const char *p = text; (p = strstr(p, "#include \"")) != NULL;) {
        int may = 0;
        p += strlen("#include \"");
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            may |= strncmp(p, allowed[i], strlen(allowed[i])) == 0;
        if (!may)
            fail_msg("%s includes \"%.*s\"", path, (int)strcspn(p, "\n"), p);
    }
}

static void public_face_alone(const char *path, const char *text)
{
    if (strstr(text, "#include \"analyze/series/"))
        fail_msg("%s includes a file of analyze/series/ (expected analyze/series.h alone)", path);
}

static void test_includes(void **state)
{
    (void)state;
    each_file(PROOF "*.[ch]", believed_alone);
    each_file("analyze/*.[ch]", public_face_alone);
    each_file("model/*.[ch]", public_face_alone);
    each_file("plots/*.[ch]", public_face_alone);
    each_file("commands/*.[ch]", public_face_alone);
}

/* ---- rules ---- */

static char *page;

/* The definition of a function in a file: the start of its line. NULL: it is not there. */
static const char *definition(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = text; (p = strstr(p, name)) != NULL; p += length) {
        const char *line = p, *end = p + strcspn(p, "{;");
        while (line > text && line[-1] != '\n')
            line--;
        if (p[length] == '(' && !isalnum((unsigned char)p[-1]) && p[-1] != '_' &&
            isalpha((unsigned char)*line) && *end == '{')
            return line;
    }
    return NULL;
}

static const char *wanted_name, *wanted_rule;
static int applied;

/* Counts the definition of wanted_name with the number of wanted_rule in the comment above it. */
static void count_applied(const char *path, const char *text)
{
    const char *at = definition(text, wanted_name), *comment = at;
    (void)path;
    if (!at)
        return;
    while (comment > text && strncmp(comment, "\n\n", 2) != 0)
        comment--;
    const char *tag = strstr(comment, "/* ["), *number = tag ? strstr(tag, wanted_rule) : NULL;
    applied += number && number < at && number < strchr(tag, ']') &&
               !isdigit((unsigned char)number[strlen(wanted_rule)]);
}

/* Every number above a function is a rule that names the function. */
static void named_by_rule(const char *path, const char *text)
{
    for (const char *p = text; (p = strstr(p, "\n/* [")) != NULL;) {
        p += strlen("\n/* [");
        for (const char *n = p; n < p + strcspn(p, "]"); n += strspn(n, ", ")) {
            char title[16], name[64];
            size_t digits = strspn(n, "0123456789.");
            const char *end = strstr(p, "*/\n"), *open = strchr(end, '('), *first = open;
            snprintf(title, sizeof title, "\n**%.*s ", (int)digits, n);
            while (isalnum((unsigned char)first[-1]) || first[-1] == '_')
                first--;
            snprintf(name, sizeof name, "`%.*s`", (int)(open - first), first);
            const char *rule = strstr(page, title), *stop = rule ? strchr(rule, ')') : NULL,
                       *found = rule ? strstr(rule, name) : NULL;
            if (!found || found > stop)
                fail_msg("%s: [%.*s] is above %s, but doc/series.md names it not there", path,
                         (int)digits, n, name);
            n += digits;
        }
    }
}

static void test_rules(void **state)
{
    (void)state;
    int rules = 0;
    page = slurp_text("doc/series.md");
    each_file(PROOF "*.c", named_by_rule);
    for (const char *p = page; (p = strstr(p, "\n**")) != NULL;) {
        char number[16];
        p += 3;
        if (!isdigit((unsigned char)*p)) /* an example */
            continue;
        snprintf(number, sizeof number, "%.*s", (int)strspn(p, "0123456789."), p);
        const char *stop = strchr(p, ')');
        assert_true(number[0] && stop);
        rules++;
        int functions = 0;
        for (const char *q = p; (q = strchr(q, '`')) != NULL && q < stop; q++) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(q + 1, "`"), q + 1);
            wanted_name = name;
            wanted_rule = number;
            applied = 0;
            each_file(PROOF "*.c", count_applied);
            if (applied != 1)
                fail_msg("rule %s names %s, which has [%s] above it %d times in " PROOF, number,
                         name, number, applied);
            q += strlen(name) + 1;
            functions++;
        }
        if (!functions)
            fail_msg("rule %s names no function", number);
    }
    assert_true(rules >= 40);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
