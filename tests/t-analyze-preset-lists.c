/* doc/formula.md and doc/reach-formula.7 list the presets as analyze/presets.c has them.
 * `t-analyze-preset-lists --write` writes them so. */
#include "analyze/formula.h"
#include "tests/written.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARAMETERS_SHOWN = 30,
    BODY_SHOWN = 90
}; /* characters: as `reach bias --help` prints them */

/* "alibi(delta=0)", "t5(w0, ..., w31)"; the caller frees. */
static char *call_of(const struct formula_preset *p)
{
    const char *last = strrchr(p->parameters, ',');
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    fputs(p->name, f);
    if (strlen(p->parameters) > PARAMETERS_SHOWN)
        fprintf(f, "(%.*s, ..., %s)", (int)strcspn(p->parameters, ","), p->parameters,
                last ? last + 1 : "");
    else if (*p->parameters)
        fprintf(f, "(%s)", p->parameters);
    fclose(f);
    return text;
}

static void write_table(FILE *f, const void *unused)
{
    (void)unused;
    fputs("\n| preset | formula | what it is |\n|---|---|---|\n", f);
    for (int i = 0; i < formula_preset_count; i++) {
        const struct formula_preset *p = &formula_presets[i];
        char *call = call_of(p);

        assert_null(strpbrk(p->body, "`|"));
        fprintf(f, "| `%s` | ", call);
        if (strlen(p->body) <= BODY_SHOWN)
            fprintf(f, "`%s` ", p->body);
        fprintf(f, "| %s |\n", p->summary);
        free(call);
    }
    fputs("\n", f);
}

/* With what roff would take for something else escaped. */
static void put_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '-': fputs("\\-", f); break;
        case ',': fputs(",\\:", f); break; /* where a line may end */
        case '\'': fputs("\\(aq", f); break;
        case '\\': fputs("\\e", f); break;
        default: putc(*text, f);
        }
}

static void write_manual(FILE *f, const void *unused)
{
    (void)unused;
    for (int i = 0; i < formula_preset_count; i++) {
        const struct formula_preset *p = &formula_presets[i];
        char *call = call_of(p);

        fputs(".It ", f);
        put_escaped(f, call);
        putc('\n', f);
        put_escaped(f, p->summary);
        putc('\n', f);
        if (strlen(p->body) <= BODY_SHOWN) {
            fputs(".br\n", f);
            put_escaped(f, p->body); /* begins with none of roff's control characters */
            putc('\n', f);
        }
        free(call);
    }
}

static const struct written parts[] = {
    {"doc/formula.md", "<!-- presets, by make outputs -->\n", "<!-- end of presets -->\n",
     write_table, NULL},
    {"doc/reach-formula.7", ".\\\" presets, by make outputs\n", ".\\\" end of presets\n",
     write_manual, NULL},
};
enum { PARTS = sizeof parts / sizeof *parts };

static void test_pages(void **state)
{
    (void)state;
    written_check(parts, PARTS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages)};

    return written_wanted(argc, argv) ? written_write(parts, PARTS)
                                      : cmocka_run_group_tests(tests, NULL, NULL);
}
