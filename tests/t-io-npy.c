/* .npy files of every integer type, and those that must be refused. */
#include "io/tokens/tokens.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A file with the given header text, padded to 64 bytes as NumPy does, and data. */
static const char *write_npy(const char *name, int version, const char *header, const void *data,
                             size_t data_bytes)
{
    unsigned char file[4096] = "\x93NUMPY";
    size_t start = version == 1 ? 10 : 12, length = strlen(header) + 1,
           padded = (start + length + 63) / 64 * 64 - start;
    file[6] = (unsigned char)version;
    for (size_t i = 8; i < start; i++)
        file[i] = (unsigned char)(padded >> 8 * (i - 8));
    memset(file + start, ' ', padded);
    memcpy(file + start, header, strlen(header));
    file[start + padded - 1] = '\n';
    if (data_bytes)
        memcpy(file + start + padded, data, data_bytes);
    return scratch_write(scratch_folder, name, file, start + padded + data_bytes);
}

static int read_one(struct tokens *t, const char *path, struct error *e)
{
    return tokens_read_files(t, &path, 1, e);
}

static void test_types(void **state)
{
    (void)state;
    const struct {
        const char *type;
        size_t size;
        int big_endian;
        int32_t values[3];
    } cases[] = {
        {"|u1", 1, 0, {0, 7, 255}},           {"|i1", 1, 0, {0, 7, 127}},
        {"<u2", 2, 0, {0, 258, 65535}},       {">u2", 2, 1, {0, 258, 65535}},
        {"<i2", 2, 0, {0, 258, 32767}},       {">i2", 2, 1, {0, 258, 32767}},
        {"<u4", 4, 0, {1, 66051, INT32_MAX}}, {">u4", 4, 1, {1, 66051, INT32_MAX}},
        {"<i4", 4, 0, {1, 66051, INT32_MAX}}, {">i4", 4, 1, {1, 66051, INT32_MAX}},
        {"<u8", 8, 0, {1, 66051, INT32_MAX}}, {">u8", 8, 1, {1, 66051, INT32_MAX}},
        {"<i8", 8, 0, {1, 66051, INT32_MAX}}, {">i8", 8, 1, {1, 66051, INT32_MAX}},
        {"=i4", 4, 0, {1, 66051, INT32_MAX}}, {"<u1", 1, 0, {1, 2, 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 3; version++) {
            struct error e = {""};
            struct tokens t;
            unsigned char data[24];
            char header[128];
            for (size_t k = 0; k < 3; k++)
                for (size_t b = 0; b < cases[i].size; b++) {
                    size_t place = cases[i].big_endian ? cases[i].size - 1 - b : b;
                    data[k * cases[i].size + place] =
                        (unsigned char)((uint64_t)cases[i].values[k] >> 8 * b);
                }
            snprintf(header, sizeof header,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", cases[i].type);
            if (read_one(&t, write_npy("t.npy", version, header, data, 3 * cases[i].size), &e)) {
                print_error("%s: %s\n", cases[i].type, e.text);
                fail();
            }
            assert_int_equal(t.total, 3);
            assert_int_equal(t.columns, 0);
            assert_memory_equal(t.ids, cases[i].values, sizeof cases[i].values);
            tokens_free(&t);
        }
}

static void test_headers(void **state)
{
    (void)state;
    const char *const good[] = {
        "{'descr':'|u1','fortran_order':False,'shape':(6,)}",
        "{\"shape\": ( 6 , ), \"fortran_order\": True, \"descr\": \"|u1\" , }  ",
        "{'shape': (6L,), 'fortran_order': False, 'descr': '|u1'}",
    };
    const unsigned char data[6] = {1, 2, 3, 4, 5, 6};
    struct error e = {""};
    struct tokens t;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (read_one(&t, write_npy("t.npy", 1, good[i], data, 6), &e)) {
            print_error("%s: %s\n", good[i], e.text);
            fail();
        }
        for (int k = 0; k < 6; k++)
            assert_int_equal(t.ids[k], k + 1);
        tokens_free(&t);
    }
    /* two dimensions, in both orders */
    const int32_t by_column[] = {1, 3, 5, 2, 4, 6};
    assert_int_equal(
        read_one(&t,
                 write_npy("t.npy", 2,
                           "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }", data, 6),
                 &e),
        0);
    assert_true(t.rows == 3 && t.columns == 2 && t.total == 6);
    for (int k = 0; k < 6; k++)
        assert_int_equal(t.ids[k], k + 1);
    tokens_free(&t);
    assert_int_equal(
        read_one(&t,
                 write_npy("t.npy", 2, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                           data, 6),
                 &e),
        0);
    assert_true(t.rows == 2 && t.columns == 3 && t.total == 6);
    assert_memory_equal(t.ids, by_column, sizeof by_column);
    tokens_free(&t);
}

static void test_several(void **state)
{
    (void)state;
    const unsigned char data[6] = {1, 2, 3, 4, 5, 6};
    struct error e = {""};
    struct tokens t;
    const char *stream =
        write_npy("s.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", data, 2);
    const char *table =
        write_npy("a.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}", data, 6);
    const char *turned = write_npy("b.npy", 1,
                                   "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 3)}",
                                   data + 3, 3);
    const char *narrow =
        write_npy("n.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2)}", data, 6);
    const char *streams[] = {stream, stream, stream}, *tables[] = {table, turned, table},
               *mixed[] = {stream, table}, *uneven[] = {table, narrow};
    assert_int_equal(tokens_read_files(&t, streams, 3, &e), 0);
    const int32_t joined[] = {1, 2, 1, 2, 1, 2},
                  rows[] = {1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 4, 5, 6};
    assert_true(t.total == 6 && t.columns == 0);
    assert_memory_equal(t.ids, joined, sizeof joined);
    tokens_free(&t);
    assert_int_equal(tokens_read_files(&t, tables, 3, &e), 0);
    assert_true(t.total == 15 && t.columns == 3 && t.rows == 5);
    assert_memory_equal(t.ids, rows, sizeof rows);
    tokens_free(&t);
    assert_int_equal(tokens_read_files(&t, mixed, 2, &e), -1);
    assert_int_equal(check_message("mixed", &e, "a.npy: has 3 columns, the file before it 0"), 0);
    assert_int_equal(tokens_read_files(&t, uneven, 2, &e), -1);
    assert_int_equal(check_message("uneven", &e, "n.npy: has 2 columns, the file before it 3"), 0);
    assert_null(t.ids);
    assert_int_equal(tokens_read_files(&t, NULL, 0, &e), -1);

    /* packed by gzip */
    gzFile packed = gzopen(scratch_path(scratch_folder, "z.npy.gz"), "wb");
    size_t size;
    unsigned char *bytes = scratch_read(table, &size);
    assert_int_equal(gzwrite(packed, bytes, (unsigned)size), size);
    gzclose(packed);
    free(bytes);
    assert_int_equal(read_one(&t, scratch_path(scratch_folder, "z.npy.gz"), &e), 0);
    assert_true(t.total == 6 && t.columns == 3);
    tokens_free(&t);
}

#define HEADER(type, shape) "{'descr': " type ", 'fortran_order': False, 'shape': " shape ", }"

static void test_refused(void **state)
{
    (void)state;
    const struct {
        const char *header;
        size_t data_bytes; /* all 0xFF */
        const char *words;
    } cases[] = {
        {HEADER("'|O'", "(1,)"), 8, "pickled Python objects, type |O"},
        {HEADER("'O'", "(1,)"), 8, "pickled Python objects"},
        {HEADER("'<f4'", "(1,)"), 4, "floating-point numbers, type <f4"},
        {HEADER("'<f8'", "(1,)"), 8, "floating-point numbers, type <f8"},
        {HEADER("'<c8'", "(1,)"), 8, "floating-point numbers, type <c8"},
        {HEADER("[('a', '<i4'), ('b', '<i4')]", "(1,)"), 8, "structured type"},
        {HEADER("'|b1'", "(1,)"), 1, "holds the type '|b1'"},
        {HEADER("'|S4'", "(1,)"), 4, "holds the type '|S4'"},
        {HEADER("'<U4'", "(1,)"), 16, "holds the type '<U4'"},
        {HEADER("'<M8[s]'", "(1,)"), 8, "holds the type '<M8[s]'"},
        {HEADER("'|i4'", "(1,)"), 4, "holds the type '|i4'"},
        {HEADER("'<i3'", "(1,)"), 3, "holds the type '<i3'"},
        {HEADER("'<i16'", "(1,)"), 16, "holds the type '<i16'"},
        {HEADER("''", "(1,)"), 0, "holds the type ''"},
        {HEADER("'<'", "(1,)"), 0, "holds the type '<'"},
        {HEADER("7", "(1,)"), 1, "malformed at '7|expected text in quotes"},
        {HEADER("'<i4", "(1,)"), 1, "holds the type"},
        {HEADER("'|u1'", "()"), 1, "has 0 dimensions"},
        {HEADER("'|u1'", "(1, 1, 1)"), 1, "has 3 dimensions"},
        {HEADER("'|u1'", "(0,)"), 0, "holds no tokens"},
        {HEADER("'|u1'", "(3, 0)"), 0, "holds no tokens"},
        {HEADER("'|u1'", "(1)"), 1, "malformed|comma"},
        {HEADER("'|u1'", "[1]"), 1, "malformed|shape as (..)"},
        {HEADER("'|u1'", "(-1,)"), 1, "malformed|whole number"},
        {HEADER("'|u1'", "(1.0,)"), 1, "malformed"},
        {HEADER("'|u1'", "(1,,)"), 1, "malformed"},
        {HEADER("'|u1'", "(,)"), 1, "malformed"},
        {HEADER("'|u1'", "(1"), 1, "malformed"},
        {HEADER("'|u1'", "(18446744073709551616,)"), 1, "shape overflows 64 bits"},
        {HEADER("'|u1'", "(4294967296, 4294967296)"), 1, "shape overflows 64 bits"},
        {HEADER("'<u8'", "(2305843009213693953,)"), 8, "shape overflows 64 bits"},
        {HEADER("'|u1'", "(1000000000000,)"), 5, "ends after 5 of 1000000000000 elements"},
        {HEADER("'<u2'", "(3,)"), 5, "ends after 2 of 3 elements"},
        {HEADER("'|u1'", "(3,)"), 4, "bytes follow the last element"},
        {HEADER("'<u4'", "(1,)"), 4,
         "element 0 is 4294967295 (expected a token id from 0 to 2147483647)"},
        {HEADER("'<u8'", "(1,)"), 8, "element 0 is 18446744073709551615"},
        {HEADER("'|i1'", "(1,)"), 1, "element 0 is -1 ("},
        {HEADER("'<i2'", "(1,)"), 2, "element 0 is -1 ("},
        {HEADER("'>i4'", "(2, 2)"), 16, "element [0, 0] is -1 ("},
        {HEADER("'<i8'", "(1,)"), 8, "element 0 is -1 ("},
        {"", 0, "malformed|expected {"},
        {"{", 0, "malformed"},
        {"{}", 0, "has no descr"},
        {"{'descr': '|u1', 'fortran_order': False}", 1, "has no shape"},
        {"{'descr': '|u1', 'shape': (1,)}", 1, "has no fortran_order"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'x': 1}", 1,
         "unexpected key 'x'"},
        {"{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", 1,
         "unexpected key 'descr'"},
        {"{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}", 1, "True or False"},
        {"{'descr' '|u1'}", 1, "malformed"},
        {"{'descr': '|u1' 'fortran_order': False, 'shape': (1,)}", 1, "malformed"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x", 1, "nothing after }"},
        {"{'a very long key that is in no such file, ever': 1}", 1, "a short text in quotes"},
    };
    unsigned char data[16];
    memset(data, 0xFF, sizeof data);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokens t;
        int result =
            read_one(&t, write_npy("bad.npy", 1, cases[i].header, data, cases[i].data_bytes), &e);
        if (result == 0)
            print_error("%s was accepted\n", cases[i].header);
        assert_int_equal(result, -1);
        assert_null(t.ids);
        assert_int_equal(check_message(cases[i].header, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].header, &e, "bad.npy: "), 0);
    }
    /* indices count in the array, not in the order of storage */
    struct error e = {""};
    struct tokens t;
    const signed char turned[] = {1, 2, 3, -4, 5, 6};
    assert_int_equal(read_one(&t,
                              write_npy("bad.npy", 1,
                                        "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3)}",
                                        turned, 6),
                              &e),
                     -1);
    assert_int_equal(check_message("turned", &e, "element [1, 1] is -4"), 0);
    assert_int_equal(read_one(&t, write_npy("bad.npy", 1, HEADER("'|i1'", "(6,)"), turned, 6), &e),
                     -1);
    assert_int_equal(check_message("stream", &e, "element 3 is -4"), 0);
}

static void test_damaged(void **state)
{
    (void)state;
    struct error e = {""};
    struct tokens t;
    const unsigned char data[2] = {1, 2};
    size_t size;
    unsigned char *good = scratch_read(write_npy("g.npy", 1, HEADER("'|u1'", "(2,)"), data, 2),
                                       &size);
    for (size_t n = 0; n < size; n++) {
        assert_int_equal(read_one(&t, scratch_write(scratch_folder, "cut.npy", good, n), &e), -1);
        assert_int_equal(check_message("cut", &e, "cut.npy: "), 0);
    }
    const unsigned char values[] = {0,   '\'', '(', ')', ',', '0', '9',
                                    '-', 'L',  ' ', '{', '}', 0xFF};
    int accepted = 0;
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            unsigned char kept = good[i];
            good[i] = values[k];
            if (read_one(&t, scratch_write(scratch_folder, "changed.npy", good, size), &e) == 0)
                accepted++;
            else
                assert_int_equal(check_message("changed", &e, "changed.npy: "), 0);
            tokens_free(&t);
            good[i] = kept;
        }
    assert_true(accepted > 0);
    good[6] = 4;
    assert_int_equal(read_one(&t, scratch_write(scratch_folder, "version.npy", good, size), &e),
                     -1);
    assert_int_equal(check_message("version", &e, "has .npy version 4.0 (expected 1, 2 or 3)"), 0);
    memcpy(good, "\x93NUMPY\2\0\1\0\x10\0", 12);
    assert_int_equal(read_one(&t, scratch_write(scratch_folder, "header.npy", good, size), &e), -1);
    assert_int_equal(check_message("header", &e,
                                   "header of 1048577 bytes (expected at most 1048576)"),
                     0);
    good[0] = 'P';
    assert_int_equal(read_one(&t, scratch_write(scratch_folder, "other.npy", good, size), &e), -1);
    assert_int_equal(check_message("other", &e, "is not a token file"), 0);
    free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),   cmocka_unit_test(test_headers),
        cmocka_unit_test(test_several), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
