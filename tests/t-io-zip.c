/* Zip archives as torch.save writes them, and every way in which one can lie about where its
 * records are. */
#include "io/torch/zip.h"
#include "tests/scratch.h"
#include "tests/stored_zip.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two records: headers at 0 and 38, directory at 74 with entries at 74 and 123, its end at 172. */
static const struct stored_record two[] = {{"a/x", "hello", 5}, {"a/y", "bye", 3}};
enum {
    SECOND = 38,
    DIRECTORY = 74,
    ENTRY = 123,
    END = 172,
    WIDE = END,
    LOCATOR = END + 56,
    WIDE_END = END + 76
};

static void test_records(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        unsigned char file[512];
        size_t size = stored_zip(file, two, 2, wide);
        struct error e = {""};
        struct zip z;
        assert_int_equal(size, (wide ? WIDE_END : END) + 22);
        assert_int_equal(zip_open_memory(&z, "z", file, size, &e), 0);
        assert_int_equal(z.count, 2);
        const struct zip_record *y = zip_find(&z, "a/y", 3);
        assert_non_null(y);
        assert_int_equal(y->size, 3);
        assert_memory_equal(y->data, "bye", 3);
        assert_ptr_equal(z.first, zip_find(&z, "a/x", 3));
        assert_null(zip_find(&z, "a/", 2));
        assert_null(zip_find(&z, "a/yy", 4));
        assert_int_equal(zip_check(&z, y, &e), 0);
        zip_close(&z);
    }
    unsigned char none[64];
    struct error e = {""};
    struct zip z;
    assert_int_equal(zip_open_memory(&z, "z", none, stored_zip(none, two, 0, 0), &e), 0);
    assert_int_equal(z.count, 0);
    assert_null(zip_find(&z, "", 0));
    zip_close(&z);
}

/* What PyTorch wrote: 64-bit end record, padding that only local headers have, sizes that only the
 * directory has. */
static void test_torch(void **state)
{
    (void)state;
    size_t size;
    unsigned char *file = scratch_read("tests/goldens/torch/plain.pt", &size);
    struct error e = {""};
    struct zip z;
    assert_int_equal(zip_open_memory(&z, "z", file, size, &e), 0);
    const struct zip_record *pickle = zip_find(&z, "plain/data.pkl", 14),
                            *version = zip_find(&z, "plain/version", 13);
    assert_non_null(pickle);
    assert_ptr_equal(z.first, pickle);
    assert_int_equal((size_t)(pickle->data - file) % 64, 0);
    assert_int_equal(zip_check(&z, pickle, &e), 0);
    assert_memory_equal(version->data, "3\n", 2);
    file[pickle->data - file] ^= 1;
    assert_int_equal(zip_check(&z, pickle, &e), -1);
    assert_int_equal(check_message("checksum", &e, "z: record plain/data.pkl is damaged"), 0);
    zip_close(&z);
    free(file);
}

/* 64-bit sizes in an extra field of the directory. */
static void test_wide_entry(void **state)
{
    (void)state;
    unsigned char file[512], changed[512];
    size_t size = stored_zip(file, two, 2, 1), entry = DIRECTORY + 46 + 3;
    const unsigned char extra[] = {9, 9, 1, 0, 7, 1, 0, 24, 0, 5, 0, 0, 0, 0, 0, 0, 0,
                                   5, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0};
    struct error e = {""};
    struct zip z;
    /* the first entry grows by the extra field, and with it all behind */
    memcpy(changed, file, entry);
    memcpy(changed + entry, extra, sizeof extra);
    memcpy(changed + entry + sizeof extra, file + entry, size - entry);
    memset(changed + DIRECTORY + 20, 0xFF, 8);
    memset(changed + DIRECTORY + 42, 0xFF, 4);
    changed[DIRECTORY + 30] = sizeof extra;
    size += sizeof extra;
    changed[WIDE + sizeof extra + 40] += sizeof extra;
    changed[LOCATOR + sizeof extra + 8] += sizeof extra;
    assert_int_equal(zip_open_memory(&z, "z", changed, size, &e), 0);
    assert_memory_equal(zip_find(&z, "a/x", 3)->data, "hello", 5);
    assert_int_equal(zip_find(&z, "a/x", 3)->size, 5);
    zip_close(&z);
    static const struct {
        const char *what;
        size_t at;
        unsigned char value;
    } cases[] = {{"another field", 5, 2},
                 {"too short", 7, 23},
                 {"beyond the field", 7, 25},
                 {"first part too long", 2, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char kept = changed[entry + cases[i].at];
        changed[entry + cases[i].at] = cases[i].value;
        assert_int_equal(zip_open_memory(&z, "z", changed, size, &e), -1);
        assert_int_equal(check_message(cases[i].what, &e, "record a/x lacks its 64-bit sizes"), 0);
        changed[entry + cases[i].at] = kept;
    }
    changed[entry + 9 + 7] = 0x80;
    changed[entry + 17 + 7] = 0x80;
    memset(changed + 18, 0, 8); /* its own header says nothing, as torch.save's do */
    assert_int_equal(zip_open_memory(&z, "z", changed, size, &e), -1);
    assert_int_equal(
        check_message("exabytes", &e,
                      "claims 9223372036854775813 bytes, more than lie before the directory"),
        0);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int wide;
        size_t at;
        const char *bytes;
        size_t size;
        const char *words;
    } cases[] = {
        {"end record", 0, END, "X", 1, "does not end as a zip archive"},
        {"comment", 0, END + 20, "\1", 1, "comment of 1 bytes"},
        {"disk", 0, END + 4, "\1", 1, "one part of a zip archive"},
        {"entries on this disk", 0, END + 8, "\1", 1, "one part of a zip archive"},
        {"fewer records", 0, END + 8, "\1\0\1", 3, "49 bytes of its directory describe nothing"},
        {"more records", 0, END + 8, "\3\0\3", 3, "3 records in a directory of 98 bytes"},
        {"directory size", 0, END + 12, "\1", 1, "does not end at its end record"},
        {"directory offset", 0, END + 16, "\x4B", 1, "does not end at its end record"},
        {"directory offset beyond", 0, END + 16, "\xFF\xFF\xFF\x7F", 4,
         "does not end at its end record"},
        {"64-bit directory beyond", 1, WIDE + 48, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8,
         "disagree"},
        {"64-bit directory elsewhere", 1, WIDE + 48, "\x49", 1, "two end records disagree"},
        {"64-bit count", 1, WIDE + 32, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 8,
         "one part of a zip archive"},
        {"64-bit counts", 1, WIDE + 24,
         "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 16,
         "two end records disagree"},
        {"64-bit counts alone", 1, WIDE + 24, "\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16,
         "two end records disagree"},
        {"64-bit end moved", 1, LOCATOR + 8, "\1", 1, "64-bit end of its directory"},
        {"64-bit end beyond", 1, LOCATOR + 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8,
         "64-bit end of its directory"},
        {"64-bit end's size", 1, WIDE + 4, "\x2D", 1, "64-bit end of its directory"},
        {"64-bit end's signature", 1, WIDE, "X", 1, "64-bit end of its directory"},
        {"64-bit disk", 1, WIDE + 16, "\1", 1, "one part of a zip archive"},
        {"entry's signature", 0, ENTRY, "X", 1, "no record is described at byte 123"},
        {"encrypted", 0, DIRECTORY + 8, "\1", 1, "a/x is encrypted"},
        {"masked", 0, DIRECTORY + 9, "\x20", 1, "a/x is encrypted"},
        {"packed", 0, DIRECTORY + 10, "\x08", 1, "a/x is packed by method 8"},
        {"packed size", 0, DIRECTORY + 20, "\4", 1, "stored in 4 bytes but has 5"},
        {"name too long", 0, ENTRY + 28, "\4", 1, "goes beyond the directory"},
        {"extra too long", 0, ENTRY + 30, "\xFF\xFF", 2, "goes beyond the directory"},
        {"comment too long", 0, ENTRY + 32, "\1", 1, "goes beyond the directory"},
        {"NUL in a name", 0, DIRECTORY + 47, "\0", 1, "holds a NUL"},
        {"another name there", 0, DIRECTORY + 46, "b", 1, "record b/x has another name"},
        {"another name here", 0, 30, "b", 1, "record a/x has another name"},
        {"another length here", 0, 26, "\4", 1, "record a/x has another name"},
        {"no header here", 0, SECOND, "X", 1, "record a/y has another name, or none"},
        {"packed here", 0, 8, "\x08", 1, "record a/x is packed or encrypted"},
        {"encrypted here", 0, 6, "\1", 1, "record a/x is packed or encrypted"},
        {"another size here", 0, 18, "\4", 1, "record a/x has 4 bytes by its own header and 5"},
        {"another full size here", 0, 22, "\6", 1,
         "record a/x has 6 bytes by its own header and 5"},
        {"extra beyond here", 0, SECOND + 28, "\xFF\xFF", 2,
         "record a/y has another name, or none"},
        {"header beyond", 0, ENTRY + 42, "\xFF\xFF\xFF\x7F", 4,
         "record a/y begins at byte 2147483647, outside"},
        {"header in the directory", 0, ENTRY + 42, "\x4A", 1,
         "record a/y begins at byte 74, outside"},
        {"header shifted", 0, ENTRY + 42, "\x25", 1, "record a/y has another name, or none"},
        {"the same header", 0, ENTRY + 42, "\0", 1, "another name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char file[512];
        size_t size = stored_zip(file, two, 2, cases[i].wide);
        struct error e = {""};
        struct zip z;
        memcpy(file + cases[i].at, cases[i].bytes, cases[i].size);
        if (zip_open_memory(&z, "z", file, size, &e) == 0)
            fail_msg("%s was accepted", cases[i].what);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
    }
}

static void test_overlap(void **state)
{
    (void)state;
    unsigned char file[512];
    struct error e = {""};
    struct zip z;
    /* sizes of the first that reach over the second, in all three places */
    size_t size = stored_zip(file, two, 2, 0);
    file[18] = file[22] = file[DIRECTORY + 20] = file[DIRECTORY + 24] = 6;
    assert_int_equal(zip_open_memory(&z, "z", file, size, &e), -1);
    assert_int_equal(check_message("overlap", &e, "records a/x and a/y overlap"), 0);
    /* over the directory */
    size = stored_zip(file, two, 2, 0);
    file[SECOND + 18] = file[SECOND + 22] = file[ENTRY + 20] = file[ENTRY + 24] = 4;
    assert_int_equal(zip_open_memory(&z, "z", file, size, &e), -1);
    assert_int_equal(check_message("into the directory", &e,
                                   "record a/y claims 4 bytes, more than lie before the directory"),
                     0);
    const struct stored_record twins[] = {{"a/x", "1", 1}, {"a/x", "2", 1}};
    assert_int_equal(zip_open_memory(&z, "z", file, stored_zip(file, twins, 2, 0), &e), -1);
    assert_int_equal(check_message("twins", &e, "two records a/x (a duplicate name)"), 0);
    const unsigned char behind[] = "x";
    size = stored_zip(file, two, 2, 0);
    memcpy(file + size, behind, 1);
    assert_int_equal(zip_open_memory(&z, "z", file, size + 1, &e), -1);
    assert_int_equal(check_message("behind", &e, "does not end as a zip archive"), 0);
}

/* Every cut and every change of one byte: an error, or records that can all be read. */
static void test_damaged(void **state)
{
    (void)state;
    unsigned char good[512], *copy;
    size_t size = stored_zip(good, two, 2, 1);
    unsigned sum = 0;
    for (size_t i = 0; i < size * 256; i++) {
        size_t n = i % 256 ? size : i / 256;
        struct error e = {""};
        struct zip z;
        copy = malloc(n ? n : 1); /* exactly as long, so that a read beyond is seen */
        memcpy(copy, good, n);
        if (i % 256)
            copy[i / 256] ^= (unsigned char)(i % 256);
        if (zip_open_memory(&z, "z", copy, n, &e) == 0) {
            for (size_t k = 0; k < z.count; k++)
                for (size_t b = 0; b < z.records[k].size; b++)
                    sum += z.records[k].data[b];
            zip_close(&z);
        } else {
            assert_int_equal(check_message("damaged", &e, "z: "), 0);
        }
        free(copy);
    }
    assert_true(sum > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),    cmocka_unit_test(test_torch),
        cmocka_unit_test(test_wide_entry), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_overlap),    cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
