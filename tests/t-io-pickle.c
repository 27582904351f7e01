/* The data-only pickle reader: every opcode it knows, every way to misuse one, and budgets. */
#include "io/torch/pickle.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pickle_global known[] = {{"collections", "OrderedDict"}, {"good", "Class"}};

static int load(struct pickle *p, const void *bytes, size_t size, struct error *e)
{
    return pickle_load_memory(p, "p", "the pickle", bytes, size, known, 2, e);
}

/* A value as text, to compare: 3, 2.5, 'text', (1 2), [..], {key:value}, module.name,
 * module.name(..)state. */
static void write_value(FILE *f, const struct pickle_value *v, int depth)
{
    char text[160];
    if (depth > 8) {
        fputs("...", f);
        return;
    }
    switch (v->kind) {
    case PICKLE_NONE: fputs("None", f); break;
    case PICKLE_BOOL: fputs(v->integer ? "True" : "False", f); break;
    case PICKLE_INTEGER: fprintf(f, "%lld", (long long)v->integer); break;
    case PICKLE_LONG: fprintf(f, "long%zu", v->text.size); break;
    case PICKLE_REAL: fprintf(f, "%g", v->real); break;
    case PICKLE_TEXT: fprintf(f, "'%.*s'", (int)v->text.size, v->text.bytes); break;
    case PICKLE_SET: fputs("set", f); break;
    case PICKLE_GLOBAL: fputs(pickle_describe(v, text), f); break;
    case PICKLE_STORAGE:
        fputs("storage", f);
        write_value(f, v->id, depth + 1);
        break;
    case PICKLE_OBJECT:
        fputs(pickle_describe(v->object.callable, text), f);
        write_value(f, v->object.arguments, depth + 1);
        if (v->object.state)
            write_value(f, v->object.state, depth + 1);
        break;
    default:
        fputc(v->kind == PICKLE_TUPLE ? '(' : v->kind == PICKLE_LIST ? '[' : '{', f);
        for (size_t i = 0; i < v->items.count; i++) {
            fputs(i == 0 ? "" : v->kind == PICKLE_DICT && i % 2 ? ":" : " ", f);
            write_value(f, v->items.item[i], depth + 1);
        }
        fputc(v->kind == PICKLE_TUPLE ? ')' : v->kind == PICKLE_LIST ? ']' : '}', f);
    }
}

#define P "\x80\2"
#define CASE(bytes, words) \
    { \
        bytes, sizeof(bytes) - 1, words \
    }

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *value;
    } cases[] = {
        CASE(P "N.", "None"),
        CASE(P "\x88.", "True"),
        CASE(P "\x89.", "False"),
        CASE(P "K\xFF.", "255"),
        CASE(P "M\xFF\xFF.", "65535"),
        CASE(P "J\xFF\xFF\xFF\xFF.", "-1"),
        CASE(P "J\0\0\0\x80.", "-2147483648"),
        CASE(P "\x8a\0.", "0"),
        CASE(P "\x8a\1\xFF.", "-1"),
        CASE(P "\x8a\2\xFF\0.", "255"),
        CASE(P "\x8a\5\0\0\0\0\1.", "4294967296"),
        CASE(P "\x8a\x08\0\0\0\0\0\0\0\x80.", "-9223372036854775808"),
        CASE(P "\x8a\x09\0\0\0\0\0\0\0\0\1.", "long9"),
        CASE(P "G\x40\x04\0\0\0\0\0\0.", "2.5"),
        CASE(P "X\3\0\0\0abc.", "'abc'"),
        CASE(P "U\0.", "''"),
        CASE(P ").", "()"),
        CASE(P "K\1\x85.", "(1)"),
        CASE(P "K\1K\2\x86.", "(1 2)"),
        CASE(P "K\1K\2K\3\x87.", "(1 2 3)"),
        CASE(P "(K\1(K\2tt.", "(1 (2))"),
        CASE(P "(t.", "()"),
        CASE(P "]K\1a.", "[1]"),
        CASE(P "](K\1K\2e.", "[1 2]"),
        CASE(P "](e.", "[]"),
        CASE(P "}U\1aK\1s.", "{'a':1}"),
        CASE(P "}(U\1aK\1U\1bK\2u.", "{'a':1 'b':2}"),
        CASE(P "}(u.", "{}"),
        CASE(P "\x8f.", "set"),
        CASE(P "]q\0h\0a.", "[[[[[[[[[...]]]]]]]]]"),
        CASE(P "U\1aq\0h\0\x86.", "('a' 'a')"),
        CASE(P "U\1ar\0\0\0\0j\0\0\0\0\x86.", "('a' 'a')"),
        CASE(P "ccollections\nOrderedDict\n)R}U\1aK\1sbU\1bK\2s.", "{'b':2}"),
        CASE(P "ccollections\nOrderedDict\n](]U\1aaK\1a](U\1bK\2ee\x85R.", "{'a':1 'b':2}"),
        CASE(P "cgood\nClass\n.", "good.Class"),
        CASE(P "cgood\nClass\nK\1\x85R.", "good.Class(1)"),
        CASE(P "cgood\nClass\n)\x81}U\1aK\1sb.", "good.Class(){'a':1}"),
        CASE(P "cposix\nsystem\nU\2id\x85R.", "posix.system('id')"),
        CASE(P "cother\nDict\n)R}bU\1aK\1s(U\1bK\2uK\1a(K\2e.",
             "other.Dict(){}"), /* what is given to the unknown is not kept */
        CASE(P "(U\7storagecgood\nClass\nU\0010U\3cpuK\4tQ.",
             "storage('storage' good.Class '0' 'cpu' 4)"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct pickle p;
        char *text = NULL;
        size_t size;
        if (load(&p, cases[i].bytes, cases[i].size, &e))
            fail_msg("case %zu, %s: %s", i, cases[i].value, e.text);
        FILE *f = open_memstream(&text, &size);
        write_value(f, p.root, 0);
        fclose(f);
        assert_string_equal(text, cases[i].value);
        assert_int_equal(p.used, cases[i].size);
        free(text);
        pickle_close(&p);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } cases[] = {
        CASE("", "cut off at byte 0"),
        CASE("N.", "does not begin with its protocol"),
        CASE("\x80\3N.", "pickle protocol 3 (expected 2"),
        CASE("\x80\4\x95\0\0\0\0\0\0\0\0N.", "pickle protocol 4 (expected 2"),
        CASE("\x80", "cut off"),
        CASE(P, "cut off at byte 2"),
        CASE(P "N", "cut off at byte 3"),
        CASE(P ".", "does not end with one value"),
        CASE(P "NN.", "does not end with one value"),
        CASE(P "(N.", "does not end with one value"),
        CASE(P "(.", "does not end with one value"),
        CASE(P "K", "cut off"),
        CASE(P "J\1\2\3", "cut off"),
        CASE(P "G\0\0\0\0\0\0\0", "cut off"),
        CASE(P "X\5\0\0\0abc.", "cut off"),
        CASE(P "X\xFF\xFF\xFF\xFF"
               "abc.",
             "cut off"),
        CASE(P "U\xFFx.", "cut off"),
        CASE(P "\x8a\xFFx.", "cut off"),
        CASE(P "\x85.", "empty stack"),
        CASE(P "N\x86.", "empty stack"),
        CASE(P "N(N\x86.", "empty stack"),
        CASE(P "cos\nsys tem\n.", "the name of a global is not a name"),
        CASE(P "t.", "never begun"),
        CASE(P "Nu.", "never begun"),
        CASE(P "e.", "never begun"),
        CASE(P "(u.", "empty stack"),
        CASE(P "K\1a.", "empty stack"),
        CASE(P "]K\1K\1s.", "sets items of what is not a dict"),
        CASE(P "}K\1a.", "appends to what is not a list"),
        CASE(P "}(K\1u.", "a key without a value"),
        CASE(P ")K\1a.", "appends to what is not a list"),
        CASE(P "U\1a(K\1K\1u.", "sets items of what is not a dict"),
        CASE(P "cgood\nClass\n)RK\1a.", "appends to what is not a list"),
        CASE(P "cgood\nClass\n)RK\1K\1s.", "sets items of what is not a dict"),
        CASE(P "h\0.", "never remembered"),
        CASE(P "Nq\0h\1.", "never remembered"),
        CASE(P "j\xFF\xFF\xFF\xFF.", "never remembered"),
        CASE(P "q\0.", "empty stack"),
        CASE(P "Nq\1.", "number that is too high"),
        CASE(P "Nr\xFF\xFF\xFF\xFF.", "number that is too high"),
        CASE(P "(q\0.", "empty stack"),
        CASE(P "N)R.", "calls what is not a global"),
        CASE(P "cgood\nClass\nNR.", "arguments that are not a tuple"),
        CASE(P "cgood\nClass\n]R.", "arguments that are not a tuple"),
        CASE(P ")R.", "empty stack"),
        CASE(P "cgood\nClass\n)R)R.", "calls what is not a global"),
        CASE(P "ccollections\nOrderedDict\nK\1\x85R.", "something other than pairs"),
        CASE(P "ccollections\nOrderedDict\n]]\x86R.", "something other than pairs"),
        CASE(P "ccollections\nOrderedDict\n]K\1a\x85R.", "something other than pairs"),
        CASE(P "ccollections\nOrderedDict\n]K\1\x85"
               "a\x85R.",
             "something other than pairs"),
        CASE(P "Nb.", "empty stack"),
        CASE(P "NNb.", "gives a state to what has none"),
        CASE(P "}Nb.", "gives a state to what has none"),
        CASE(P "]}b.", "gives a state to what has none"),
        CASE(P "NQ.", "persistent id is not that of a storage"),
        CASE(P "U\7storageQ.", "persistent id is not that of a storage"),
        CASE(P "(U\7storageK\1K\1K\1tQ.", "persistent id is not that of a storage"),
        CASE(P "(U\6moduleK\1K\1K\1K\1tQ.", "persistent id is not that of a storage"),
        CASE(P "Q.", "empty stack"),
        CASE(P "c", "cut off"),
        CASE(P "cmodule\n", "cut off"),
        CASE(P "cmodule\nname", "cut off"),
        CASE(P "c\nname\n.", "empty or too long"),
        CASE(P "cmo dule\nname\n.", "is not a name"),
        CASE(P "cmodule\nna\x1bme\n.", "is not a name"),
        CASE(P "N0.", "opcode 0x30 at byte 3"),
        CASE(P "N2.", "opcode 0x32"),
        CASE(P "(cos\nsystem\nU\2ido.", "opcode 0x6f"),
        CASE(P "(U\2idios\nsystem\n.", "opcode 0x69"),
        CASE(P "U\2osU\6system\x93.", "opcode 0x93"),
        CASE(P "\x82\1.", "opcode 0x82"),
        CASE(P "I01\n.", "opcode 0x49"),
        CASE(P "Pid\n.", "opcode 0x50"),
        CASE(P "\x95\0\0\0\0\0\0\0\0N.", "opcode 0x95"),
        CASE(P "B\1\0\0\0x.", "opcode 0x42"),
        CASE(P "\x8b\1\0\0\0x.", "opcode 0x8b"),
        CASE(P "\x8f(K\1\x90.", "opcode 0x90"),
        CASE(P "\x92.", "opcode 0x92"),
        CASE(P "\0.", "opcode 0x00"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct pickle p;
        if (load(&p, cases[i].bytes, cases[i].size, &e) == 0)
            fail_msg("case %zu (%s) was accepted", i, cases[i].words);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].words, &e, "p: the pickle "), 0);
        assert_null(p.root);
    }
}

/* Sizes that no honest pickle has: refused in little time and memory. */
static void test_budgets(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        char fill, end;
        size_t count;
        const char *words;
    } cases[] = {
        {"marks", '(', '.', 257, "nested too deeply"},
        {"values", 'N', '.', (1 << 20) + 1, "stack grows too large"},
        {"many values", ']', '.', 1 << 22, "stack grows too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bytes = malloc(cases[i].count + 3);
        struct error e = {""};
        struct pickle p;
        memcpy(bytes, P, 2);
        memset(bytes + 2, cases[i].fill, cases[i].count);
        bytes[cases[i].count + 2] = cases[i].end;
        assert_int_equal(load(&p, bytes, cases[i].count + 3, &e), -1);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
        free(bytes);
    }
    /* values that do not stay on the stack: N, N as a tuple, that as a tuple ... */
    size_t size = (1 << 21) + 8;
    char *bytes = malloc(size);
    struct error e = {""};
    struct pickle p;
    memset(bytes, '\x85', size);
    memcpy(bytes, P "N", 3);
    assert_int_equal(load(&p, bytes, size, &e), -1);
    assert_int_equal(check_message("tuples in tuples", &e, "holds more than 2097152 values"), 0);
    free(bytes);
    /* dicts made again and again of one list of 1000 pairs */
    static const char again[] = "h\2h\0\x85R", pair[] = "NN\x86q\1",
                      dict[] = "ccollections\nOrderedDict\nq\2";
    char *bomb = malloc(1 << 16), *at = mempcpy(mempcpy(bomb, P "]q\0(", 6), pair, sizeof pair - 1);
    for (int i = 1; i < 1000; i++)
        at = mempcpy(at, "h\1", 2);
    at = mempcpy(mempcpy(at, "e", 1), dict, sizeof dict - 1);
    for (int i = 0; i < 5000; i++)
        at = mempcpy(at, again, sizeof again - 1);
    assert_int_equal(load(&p, bomb, (size_t)(at - bomb), &e), -1);
    assert_int_equal(check_message("dicts of one list", &e, "holds more than 8388608 items"), 0);
    free(bomb);
    char global[1200] = P "c";
    memset(global + 3, 'm', 513);
    strcpy(global + 3 + 513, "\nname\n.");
    assert_int_equal(load(&p, global, 3 + 513 + 7, &e), -1);
    assert_int_equal(check_message("a long name", &e, "empty or too long"), 0);
}

static void test_look_up(void **state)
{
    (void)state;
    static const char bytes[] = P "}(U\1aK\1U\1aK\2K\3K\4U\2abcother\nx\n)Ru.";
    struct error e = {""};
    struct pickle p;
    char text[160];
    assert_int_equal(load(&p, bytes, sizeof bytes - 1, &e), 0);
    assert_int_equal(pickle_get(p.root, "a")->integer, 2); /* the last wins, as in Python */
    assert_null(pickle_get(p.root, "b"));
    assert_null(pickle_get(NULL, "a"));
    assert_null(pickle_get(pickle_get(p.root, "a"), "a"));
    assert_true(pickle_is_object(pickle_get(p.root, "ab"), "other", "x"));
    assert_false(pickle_is_object(pickle_get(p.root, "ab"), "other", "xy"));
    assert_string_equal(pickle_describe(pickle_get(p.root, "ab"), text), "the object other.x(...)");
    assert_string_equal(pickle_describe(p.first_unknown, text), "other.x");
    pickle_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_budgets),
                                       cmocka_unit_test(test_look_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
