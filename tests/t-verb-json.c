/* The documents of --json: each verb prints one, and its tables hold what the CSV files of the same
 * run hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/commands.h"
#include "io/formats/json.h"
#include "run/results.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* A line for each verb, with a folder where it has -o; and what is in the document then. */
static const struct {
    const char *verb, *line; /* without the verb, -o and --json */
    const char *members; /* of the verb's own, in order */
} cases[] = {
    {"erf",
     "model \xe4=other --text text --length 24 --segments 3 --bootstrap 20 --layer all --attention "
     "--validate 2 --growth",
     "models differences notes note curve summary attention validation"},
    {"erf", "model --text text --length 24 --segments 2 --check-precision 1",
     "models differences notes precision note curve summary"},
    {"merge", "part-1 part-2", "models differences notes note curve summary"},
    {"explain", "model --prompt to~be,~or --against a",
     "targets against others fields note explain"},
    {"explain", "model --prompt to~be,~or --against a --attribution ig",
     "targets against others fields completeness note explain"},
    {"explain", "whole --segment 2", "targets others fields note explain"},
    {"ppl", "model other --text text --protocol last --context 4,8 --segments 9 --gain",
     "models notes ppl gain"},
    {"ppl", "model --text text --protocol sliding --context 8", "models notes ppl"},
    {"trf", "alibi -2*ln(1+t) rope:16 --length 100 --epsilon 0.1 --explain",
     "arguments heads ranking trf rotary weights"},
    {"trf", "model", "arguments heads ranking trf weights"},
    {"bias", "alibi alibi+window(4) --length 8", "biases bias"},
    {"fit", "sandwich --heads 2 --range 0:99", "fits readings fit"},
    {"fit", "alibi --form a+b*t", "fits fit"},
    {"info", "model --length 16", "model trf estimate"},
    {"tokenize", "model text ids.npy --force", "written"},
    {"families", "", "families refused"},
    {"version", "", "build libraries kernel_sets choices"},
};

static json_t *parse(const char *line, const char *text)
{
    struct error e = {""};
    json_t *object = json_parse_object(line, "the document", text, strlen(text), &e);

    if (!object)
        fail_msg("%s", e.text);
    return object;
}

/* The cell of a CSV that holds the value. */
static const char *cell_of(char out[64], const json_t *value)
{
    if (json_is_null(value))
        return "";
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value)) {
        snprintf(out, 64, "%lld", (long long)json_integer_value(value));
        return out;
    }
    assert_true(json_is_real(value));
    return csv_format_real(out, json_real_value(value));
}

static int is_kind(const struct csv_column *c, const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_null(value))
        return c->may_be_empty;
    return c->kind == CSV_WHOLE  ? json_is_integer(value)
           : c->kind != CSV_REAL ? text != NULL
           : text                ? strstr(text, "inf") || strcmp(text, "nan") == 0
                                 : json_is_number(value);
}

/* The members of an object are the columns. */
static void check_object(const char *line, const struct csv_layout *l, json_t *object)
{
    assert_true(json_is_object(object));
    if (json_object_size(object) != l->count)
        fail_msg("reach %s: %s: %zu members", line, l->file, json_object_size(object));
    for (size_t k = 0; k < l->count; k++)
        if (!is_kind(&l->columns[k], json_object_get(object, l->columns[k].name)))
            fail_msg("reach %s: %s: %s is missing, or of another kind", line, l->file,
                     l->columns[k].name);
}

/* `rows` are those of the file. Bytes of it that are not UTF-8 are U+FFFD in the document. */
static void compare(const char *line, const char *path, const json_t *rows)
{
    struct csv_table t = read_table(path);

    if (json_array_size(rows) != t.rows)
        fail_msg("reach %s: %zu rows, and %s has %zu", line, json_array_size(rows), path, t.rows);
    for (size_t i = 0; i < t.rows; i++)
        for (size_t k = 0; k < t.columns; k++) {
            char text[64];
            const char *found = cell_of(text,
                                        json_object_get(json_array_get(rows, i), t.header[k])),
                       *of_file = t.cell[i * t.columns + k];

            if (strcmp(found, strcmp(of_file, "\xe4") == 0 ? "\xef\xbf\xbd" : of_file) != 0)
                fail_msg("reach %s: row %zu, %s: \"%s\", and %s has \"%s\"", line, i, t.header[k],
                         found, path, of_file);
        }
    csv_table_free(&t);
}

static const struct verb *verb_of(const char *name)
{
    const struct verb *const *v = verbs;

    while (*v && strcmp((*v)->name, name) != 0)
        v++;
    assert_non_null(*v);
    return *v;
}

static const struct results_file *find_table(const struct verb *v, const char *member)
{
    const struct results_file *const *lists[] = {v->shown, v->files};
    char name[CSV_MEMBER];

    for (size_t i = 0; i < 2; i++)
        for (const struct results_file *const *t = lists[i]; t && *t; t++)
            if ((*t)->layout && strcmp(csv_member(name, (*t)->layout), member) == 0)
                return *t;
    return NULL;
}

/* The document of a run, written to BASE/stdout too. */
static void check_document(const struct verb *v, const char *line, const char *text,
                           const char *members, const char *folder)
{
    json_t *document = parse(line, text), *value;
    const char *member;
    char *found = NULL;
    size_t size;
    FILE *f = open_memstream(&found, &size);

    assert_string_equal(json_string_value(json_object_get(document, "verb")), v->name);
    assert_int_equal(json_integer_value(json_object_get(document, "schema")), 1);
    assert_non_null(json_string_value(json_object_get(document, "reach")));
    assert_true(strncmp(json_string_value(json_object_get(document, "command")), "reach ", 6) == 0);
    json_object_foreach(document, member, value)
    {
        const struct results_file *t = find_table(v, member);
        size_t i;
        json_t *row;

        if (strcmp(member, "folder") == 0)
            assert_string_equal(folder ? folder : "null",
                                json_is_null(value) ? "null" : json_string_value(value));
        if (strcmp(member, "settings") == 0)
            assert_true(json_is_object(value));
        if (strcmp(member, "note") == 0 || t)
            fprintf(f, "%s%s", ftell(f) ? " " : "", member);
        else if (!strstr("reach schema verb command settings folder", member))
            fail_msg("reach %s: %s is no member that is known", line, member);
        if (t && t->single)
            check_object(line, t->layout, value);
        else if (t) {
            assert_true(json_is_array(value));
            json_array_foreach(value, i, row) check_object(line, t->layout, row);
            if (folder && strstr(t->layout->file, ".csv"))
                compare(line, at("%s/%s", folder, t->layout->file), value);
        }
    }
    fclose(f);
    if (strcmp(found, members) != 0)
        fail_msg("reach %s: has %s (expected %s)", line, found, members);
    free(found);
    json_decref(document);
}

static struct outcome run(const char *format, ...)
{
    char line[1000];
    va_list arguments;
    struct outcome o;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    o = finish(start(line, "/nonexistent")); /* without pictures */
    if (o.status != 0)
        fail_msg("reach %s: exit %d\n%s%s", line, o.status, o.err, o.out);
    return o;
}

static void documents_hold_what_files_hold(void **state)
{
    int have_python = system("python3 -c '' 2>/dev/null") == 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct verb *v = verb_of(cases[i].verb);
        char folder[32];
        struct outcome o;

        snprintf(folder, sizeof folder, "out-%zu", i);
        if (!option_find(v, "o")) {
            o = run("%s %s --json", v->name, cases[i].line);
            check_document(v, cases[i].line, o.out, cases[i].members, NULL);
        } else {
            o = run("%s %s -o %s --json", v->name, cases[i].line, folder);
            check_document(v, cases[i].line, o.out, cases[i].members, folder);
        }
        if (have_python) {
            char command[600];

            snprintf(command, sizeof command, "python3 -m json.tool '%s' >/dev/null", at("stdout"));
            if (system(command) != 0)
                fail_msg("reach %s %s: python3 -m json.tool", v->name, cases[i].line);
        }
        outcome_free(&o);
    }
}

/* Without -o nothing is written, and the tables are the same. */
static void nothing_is_written_without_a_folder(void **state)
{
    struct outcome with, without;
    const char *tables;
    int before = scratch_count(base);

    (void)state;
    without = run("ppl model --text text --protocol sliding --context 8 --json");
    assert_int_equal(scratch_count(base), before);
    with = run("ppl model --text text --protocol sliding --context 8 --json -o again");
    tables = strstr(with.out, "\"models\"");
    assert_non_null(tables);
    assert_non_null(strstr(without.out, "\"folder\": null"));
    assert_non_null(strstr(without.out, tables));
    outcome_free(&with);
    outcome_free(&without);
}

static void every_verb_with_documents_is_tested(void **state)
{
    (void)state;
    for (const struct verb *const *v = verbs; *v; v++) {
        size_t i = 0;

        assert_int_equal(option_find(*v, "json") != NULL, (*v)->shown || (*v)->files);
        while (i < sizeof cases / sizeof *cases && strcmp(cases[i].verb, (*v)->name) != 0)
            i++;
        if ((*v)->shown && i == sizeof cases / sizeof *cases)
            fail_msg("reach %s --json is not tested", (*v)->name);
    }
}

static void errors_are_one_line(void **state)
{
    (void)state;
    expect("ppl absent --text text --context 8 --json", 1, "absent");
    expect("ppl model --text text --context 8 -o whole/erf.h5 --json", 1, "erf.h5");
    expect("explain whole --segment 99 --json", 1, "segment");
    expect("trf -ln(0*t) --json", 1, "");
    expect("info absent --json", 1, "absent");
    expect("info model --length 16 --memory 1K --json", 1, "");
    expect("erf model --text text --json=1", 2, "takes no value");
    expect("plot whole --json", 2, "--json: unknown option");
    expect("report whole --json", 2, "--json: unknown option");
    expect("convert model other.h5 --json", 2, "--json: unknown option");
    expect("completion bash --json", 2, "--json: unknown option");
}

/* The common members, and that there are no others, as the document says. */
static void the_page_lists_the_common_members(void **state)
{
    char *page = slurp("doc/outputs.md", NULL), *from, *to;

    (void)state;
    assert_non_null(page);
    assert_non_null(from = strstr(page, "## The document of --json\n"));
    assert_non_null(to = strstr(from, "<!-- document -->"));
    *to = 0;
    for (const char *const *m = (const char *const[]){"reach", "schema", "verb", "command",
                                                      "settings", "folder", "note", NULL};
         *m; m++) {
        char row[32];

        snprintf(row, sizeof row, "\n| `%s` |", *m);
        if (!strstr(from, row))
            fail_msg("doc/outputs.md does not list %s", *m);
    }
    free(page);
}

static int make_inputs(void **state)
{
    (void)state;
    if (program_open() != 0 ||
        tiny_checkpoint(
            at("model"),
            &(struct tiny){.seed = 1,
                           .settings = "\"position_bias\": \"alibi\", \"train_length\": 16,"}) !=
            0 ||
        tiny_checkpoint(at("other"), &(struct tiny){.seed = 2}) != 0 ||
        tiny_text(at("text"), 400, 3) != 0)
        return -1;
    succeed("erf model --text text --length 24 --segments 4 --bootstrap 20 -o whole");
    for (int i = 1; i <= 2; i++)
        succeed("erf model --text text --length 24 --segments 4 --bootstrap 20 --shard %d/2 -o "
                "part-%d",
                i, i);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_hold_what_files_hold),
        cmocka_unit_test(nothing_is_written_without_a_folder),
        cmocka_unit_test(every_verb_with_documents_is_tested),
        cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(the_page_lists_the_common_members),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
