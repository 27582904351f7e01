/* tests/layers.sh: the includes of this tree are those that doc/architecture.md permits, and what
 * it does not permit is found. */
#include "tests/program.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the script prints of a tree, and its exit status; the caller frees. */
static char *look(const char *root, int *status)
{
    char command[512], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size), *in;

    snprintf(command, sizeof command, "sh tests/layers.sh %s 2>&1", root);
    in = popen(command, "r");
    assert_non_null(in);
    for (int c; (c = getc(in)) != EOF;)
        putc(c, out);
    fclose(out);
    *status = WEXITSTATUS(pclose(in));
    return text;
}

static void test_this_tree(void **state)
{
    int status;
    char *said = look(".", &status);

    (void)state;
    if (status != 0 || *said)
        fail_msg("%s", said);
    free(said);
}

/* No two files in analyze/ include each other's headers. */
static void test_no_circle_in_analyze(void **state)
{
    int status;
    char *said = look("--circles .", &status);

    (void)state;
    if (status != 0 || strstr(said, "analyze/"))
        fail_msg("%s", said);
    free(said);
}

static void put(const char *name, const char *text)
{
    char path[64];

    snprintf(path, sizeof path, "%s", name);
    for (char *end = path; (end = strchr(end, '/')); *end++ = '/') {
        *end = 0;
        mkdir(scratch_path(scratch_folder, path), 0777);
    }
    scratch_write(scratch_folder, name, text, strlen(text));
}

static void test_refused(void **state)
{
    static const char rooms[] =
        "## Other\n\n| `a/` | x | b |\n\n## Rooms\n\n| folder | holds | may include "
        "|\n|---|---|---|\n"
        "| `a/` | x | `b/one.h`, c |\n| `b/` | y | nothing |\n| `c/` | z | everything |\n"
        "| `r/` | x | b |\n| `r/low/` | x | `a/y.h` |\n| `r/high/` | x | r, r/low |\n";
    const struct {
        const char *file, *text, *said; /* said: empty, nothing is */
    } cases[] = {
        {"a/x.c",
         "#include \"a/y.h\"\n#include \"b/one.h\"\n#include \"c/any.h\"\n#include "
         "\"made.h\"\n#include <b/two.h>\n",
         ""},
        {"a/x.c", "\n# include \"b/two.h\"\n",
         "a/x.c:2: includes b/two.h (a may include: b/one.h, c)\n"},
        {"b/x.cu", "#include \"c/x.h\"", "b/x.cu:1: includes c/x.h (b may include: nothing)\n"},
        {"c/x.c", "#include \"a/x.h\"\n#include \"b/x.h\"\n", ""},
        {"d/x.c", "#include \"a/x.h\"\n",
         "d/x.c: lies in d/, which the table Rooms of doc/architecture.md does not have\n"},
        {"a/x.h", "#include \"a/y.h\"\n", "a/x.h: a circle of headers: a/x.h a/y.h a/x.h\n"},
        /* folders below: what their own row names, and of other folders what the row above names
           too */
        {"r/low/x.c", "#include \"r/low/y.h\"\n#include \"a/y.h\"\n#include \"b/deep/x.h\"\n", ""},
        {"r/high/x.c", "#include \"r/x.h\"\n#include \"r/low/y.h\"\n#include \"b/x.h\"\n", ""},
        {"r/high/x.c", "#include \"a/y.h\"\n",
         "r/high/x.c:1: includes a/y.h (r/high may include: r, r/low)\n"},
        {"r/low/x.c", "#include \"r/x.h\"\n",
         "r/low/x.c:1: includes r/x.h (r/low may include: a/y.h)\n"},
        {"r/low/x.c", "#include \"r/high/x.h\"\n",
         "r/low/x.c:1: includes r/high/x.h (r/low may include: a/y.h)\n"},
        {"r/x.c", "#include \"r/low/x.h\"\n", "r/x.c:1: includes r/low/x.h (r may include: b)\n"},
        {"r/new/x.c", "#include \"r/x.h\"\n",
         "r/new/x.c: lies in r/new/, which the table Rooms of doc/architecture.md does not have\n"},
    };

    (void)state;
    put("doc/architecture.md", rooms);
    put("a/y.h", "#include \"a/x.h\"\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        char *said;

        put(cases[i].file, cases[i].text);
        said = look(scratch_folder, &status);
        assert_string_equal(said, cases[i].said);
        assert_int_equal(status, *cases[i].said != 0);
        free(said);
        remove(scratch_path(scratch_folder, cases[i].file));
    }
    put("doc/architecture.md", "## Rooms\n\n| `a/` | x | b |\n| `b/` | y | `a/x.h` |\n");
    int status;
    char *circle = look(scratch_folder, &status);
    assert_int_equal(status, 1);
    assert_string_equal(circle, "doc/architecture.md: a circle of rooms: a b a\n");
    free(circle);
    put("doc/architecture.md", "## Rooms\n");
    char *said = look(scratch_folder, &status);
    assert_int_equal(status, 1);
    assert_non_null(strstr(said, "has no table of rooms"));
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_this_tree),
                                       cmocka_unit_test(test_no_circle_in_analyze),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
