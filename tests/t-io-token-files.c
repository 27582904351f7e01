/* Token files other than .npy: indexed data sets, llm.c's, HDF5; how they are told apart; writing.
 * Goldens: tests/goldens/tokens.
 */
#include "io/tokens/formats.h"
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
#include <unistd.h>

#define GOLDENS "tests/goldens/tokens/"

static int read_one(struct tokens *t, const char *path, struct error *e)
{
    return tokens_read_files(t, &path, 1, e);
}

static void test_goldens(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t columns;
        int first;
    } cases[] = {
        {GOLDENS "mmididx-1.idx", 0, 100},  {GOLDENS "mmididx-3.idx", 0, 1000},
        {GOLDENS "mmididx-4.idx", 0, 1000}, {GOLDENS "mmididx-5.idx", 0, 1000},
        {GOLDENS "mmididx-8.idx", 0, 1000}, {GOLDENS "tntidx-8.idx", 0, 1000},
        {GOLDENS "llmc-1.bin", 0, 1000},    {GOLDENS "llmc-7.bin", 0, 1000},
        {GOLDENS "named.h5", 0, 1000},      {GOLDENS "only.h5", 0, 1000},
        {GOLDENS "only.h5:/ids", 0, 1000},  {GOLDENS "table.h5:/split/valid", 5, 1000},
        {GOLDENS "two.h5:/b", 0, 1000},     {GOLDENS "refused.h5:/group//inner/", 0, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokens t;
        if (read_one(&t, cases[i].path, &e)) {
            print_error("%s: %s\n", cases[i].path, e.text);
            fail();
        }
        if (t.total != 10 || t.columns != cases[i].columns ||
            t.rows != (cases[i].columns ? 2 : 0)) {
            print_error("%s: %zu ids, %zu rows of %zu\n", cases[i].path, t.total, t.rows,
                        t.columns);
            fail();
        }
        for (int k = 0; k < 10; k++)
            if (t.ids[k] != cases[i].first + k) {
                print_error("%s: id %d is %d (expected %d)\n", cases[i].path, k, t.ids[k],
                            cases[i].first + k);
                fail();
            }
        tokens_free(&t);
    }
    /* several formats are one stream */
    const char *files[] = {GOLDENS "mmididx-8.idx", GOLDENS "llmc-1.bin", GOLDENS "two.h5:/a"};
    struct error e = {""};
    struct tokens t;
    assert_int_equal(tokens_read_files(&t, files, 3, &e), 0);
    assert_int_equal(t.total, 30);
    tokens_free(&t);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *words;
    } cases[] = {
        {GOLDENS "make.py", "is not a token file (expected .npy, .h5"},
        {GOLDENS "mmididx-8.bin", "is not a token file"},
        {GOLDENS "two.h5", "has no dataset tokens and 2 others of integers"},
        {GOLDENS "table.h5", "table.h5: has its datasets of integers in groups: /split/train, "
                             "/split/valid (expected one of them"},
        {GOLDENS "refused.h5", "has no dataset tokens and"},
        {GOLDENS "two.h5:/absent", "has no dataset at /absent"},
        {GOLDENS "two.h5:/", "has no dataset at /"},
        {GOLDENS "two.h5:/a/b", "has no dataset at /a/b"},
        {GOLDENS "absent.h5:/a", "absent.h5: cannot be opened"},
        {GOLDENS "make.py:/a", "make.py: is not an HDF5 file"},
        {GOLDENS "refused.h5:/group", "has no dataset at /group"},
        {GOLDENS "refused.h5:/floats",
         "/floats is not a dataset of integers with 1 or 2 dimensions"},
        {GOLDENS "refused.h5:/cube", "/cube is not a dataset of integers with 1 or 2 dimensions"},
        {GOLDENS "refused.h5:/scalar",
         "/scalar is not a dataset of integers with 1 or 2 dimensions"},
        {GOLDENS "refused.h5:/nothing", "/nothing holds no tokens"},
        {GOLDENS "refused.h5:/negative",
         "element 1 is -1 (expected a token id from 0 to 2147483647)"},
        {GOLDENS "refused.h5:/large", "element 1 is 2147483648 (expected"},
        {GOLDENS "refused.h5:/huge", "element 0 is 9223372036854775808 (expected"},
        {GOLDENS "refused.h5:/bomb", "/bomb claims|more than the file can hold"},
        {GOLDENS "refused.h5:/soft", "has no dataset at /soft"},
        {GOLDENS "refused.h5:/away", "has no dataset at /away"},
        {GOLDENS "refused.h5:/outside", "/outside is not stored in the file itself"},
        {GOLDENS "refused.h5:/twice", "/twice is not stored in the file itself"},
        {GOLDENS "virtual.h5", "tokens is not stored in the file itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokens t;
        if (read_one(&t, cases[i].path, &e) == 0)
            print_error("%s was accepted\n", cases[i].path);
        else
            assert_int_equal(check_message(cases[i].path, &e, cases[i].words), 0);
        assert_null(t.ids);
    }
    struct error e = {""};
    struct tokens t;
    const char *files[] = {GOLDENS "named.h5", GOLDENS "table.h5:/split/valid"};
    assert_int_equal(tokens_read_files(&t, files, 2, &e), -1);
    assert_int_equal(check_message("mixed", &e, "has 5 columns, the file before it 0"), 0);
    /* an index without its tokens, and one that does not say where they are */
    size_t size;
    unsigned char *index = scratch_read(GOLDENS "mmididx-8.idx", &size);
    assert_int_equal(read_one(&t, scratch_write(scratch_folder, "alone.idx", index, size), &e), -1);
    assert_int_equal(check_message("alone", &e, "alone.bin: cannot be opened"), 0);
    assert_int_equal(read_one(&t, scratch_write(scratch_folder, "index", index, size), &e), -1);
    assert_int_equal(check_message("no .idx", &e,
                                   "index: is an index of tokens (expected a name with .idx"),
                     0);
    free(index);
}

/* -- indexes -- */

/* Numbers of 1 to 8 bytes one behind the other: "8:1 1:8" is a u64 and a byte. */
static size_t write_numbers(unsigned char *out, const char *text)
{
    size_t size = 0;
    int bytes, taken;
    long long value;
    for (; sscanf(text, " %d:%lld%n", &bytes, &value, &taken) == 2; text += taken)
        for (int b = 0; b < bytes; b++)
            out[size++] = (unsigned char)((uint64_t)value >> 8 * b);
    return size;
}

static int read_index(struct ids *a, const unsigned char *index, size_t index_size,
                      const unsigned char *data, size_t data_size, struct error *e)
{
    struct stored_tokens s = {0};
    struct input *i = input_memory(index, index_size, "index", e),
                 *d = input_memory(data, data_size, "data", e);
    int result = indexed_read(a, &s, i, d, e);
    input_close(i);
    input_close(d);
    return result;
}

static void test_indexes(void **state)
{
    (void)state;
    static const struct {
        const char *magic;
        size_t magic_size;
        const char *numbers; /* behind the magic */
        size_t data_bytes; /* 7, 0, 7, 0 ... */
        const char *words; /* NULL: accepted */
    } cases[] = {
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:0 8:2", 6, NULL},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:0 4:1 4:2 8:0 8:2", 6, NULL},
        {"MMIDIDX\0\0", 9, "8:2 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:0 8:2", 6,
         "index: has version 2 (expected 1)"},
        {"MMIDIDX\0\0", 9, "8:1 1:0 8:2 8:2", 6,
         "index: has the type code 0 (expected 1, 2, 3, 4, 5 or 8)"},
        {"MMIDIDX\0\0", 9, "8:1 1:6 8:2 8:2", 6,
         "index: holds floating-point numbers, type code 6"},
        {"MMIDIDX\0\0", 9, "8:1 1:7 8:2 8:2", 6,
         "index: holds floating-point numbers, type code 7"},
        {"MMIDIDX\0\0", 9, "8:1 1:9 8:2 8:2", 6, "index: has the type code 9"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:-1 8:2 4:1 4:2", 6, "index: ends within its header"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:-1 4:1 4:2 8:0 8:2 8:0", 6,
         "index: ends within its header"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:-2 8:0 8:2", 6, "index: sequence 1 states"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:4", 6,
         "index: the place of sequence 1 is 4 (expected 2"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:-2 8:2", 6,
         "index: the place of sequence 0 is -2 (expected 0"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:1 8:2", 6,
         "index: document 0 begins at sequence 1"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:0 8:3", 6,
         "index: document 1 begins at sequence 3"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:3 4:1 4:2 8:0 8:2 8:0 8:2 8:1", 6,
         "index: document 2 begins at sequence 1"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:0 8:2 1:0", 6,
         "index: bytes follow the last document"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:0 8:2", 5,
         "data: ends after 2 of 3 elements"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:2 8:2 4:1 4:2 8:0 8:2 8:0 8:2", 7,
         "data: bytes follow the last element"},
        {"MMIDIDX\0\0", 9, "8:1 1:8 8:0 8:0", 0, "data: holds no tokens"},
        {"MMIDIDX\0x", 9, "8:1 1:8 8:0 8:0", 0, "index: is not an index of tokens"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:2 8:2 8:0 8:1 8:2 8:0 8:1 8:3 8:1 8:2 8:0 8:2", 6,
         NULL},
        {"TNTIDX\0\0", 8, "8:0 8:8 8:2 8:2 8:2 8:2", 6, "index: has version 0 (expected 1)"},
        {"TNTIDX\0\0", 8, "8:1 8:4 8:2 8:2 8:2 8:2", 6,
         "index: has elements of 2 bytes (expected 4 for the type code 4)"},
        {"TNTIDX\0\0", 8, "8:1 8:264 8:2 8:2 8:2 8:2", 6, "index: has the type code 264"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:3 8:2", 6, "index: has 3 sizes for 2 sequences"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:2 8:2 8:0 8:2", 6,
         "index: the first dimension of sequence 1 is 2 (expected 1"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:2 8:2 8:0 8:1 8:2 8:1", 6,
         "index: the place of sequence 0 is 1 (expected 0"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:2 8:2 8:0 8:1 8:2 8:0 8:3 8:1", 6,
         "index: the place of sequence 2 is 1 (expected 3"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:2 8:2 8:0 8:1 8:2 8:0 8:1 8:-1", 6,
         "index: sequence 1 states -2 tokens"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:2 8:2 8:2 8:0 8:1 8:2 8:0 8:1 8:3 8:1 8:1", 6,
         "index: the size of sequence 1 is 1 (expected 2"},
        {"TNTIDX\0\0", 8, "8:1 8:8 8:2 8:-1 8:-1 8:2", 6, "index: ends within its header"},
    };
    unsigned char index[512], data[16];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = i % 2 ? 0 : 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct ids a = {0};
        memcpy(index, cases[i].magic, cases[i].magic_size);
        size_t size = cases[i].magic_size +
                      write_numbers(index + cases[i].magic_size, cases[i].numbers);
        int result = read_index(&a, index, size, data, cases[i].data_bytes, &e);
        if (result != (cases[i].words ? -1 : 0))
            print_error("case %zu, %s: %d %s\n", i, cases[i].numbers, result, e.text);
        assert_int_equal(result, cases[i].words ? -1 : 0);
        if (cases[i].words) {
            assert_int_equal(check_message(cases[i].numbers, &e, cases[i].words), 0);
        } else {
            assert_int_equal(a.count, 3);
            for (size_t n = 0; n < size; n++) { /* a whole index is needed */
                struct ids b = {0};
                int cut = read_index(&b, index, n, data, cases[i].data_bytes, &e);
                assert_int_equal(cut, -1);
                free(b.id);
            }
        }
        free(a.id);
    }
}

static void test_llmc(void **state)
{
    (void)state;
    static const struct {
        const char *numbers; /* the header's first; zeros follow */
        size_t data_bytes;
        const char *words;
    } cases[] = {
        {"4:20240520 4:1 4:3", 6, NULL},
        {"4:20240801 4:7 4:3", 12, NULL},
        {"4:20240520 4:7 4:3", 6, "has version 7 (expected 1)"},
        {"4:20240801 4:1 4:3", 12, "has version 1 (expected 7)"},
        {"4:20240520 4:1 4:3", 5, "ends after 2 of 3 elements"},
        {"4:20240520 4:1 4:3", 7, "bytes follow the last element"},
        {"4:20240520 4:1 4:0", 0, "holds no tokens"},
        {"4:20240520 4:1 4:-1", 6, "states -1 tokens"},
        {"4:20240326 4:3 4:1024", 6, "is not a token file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokens t;
        unsigned char file[1024 + 16] = {0};
        write_numbers(file, cases[i].numbers);
        memset(file + 1024, 1, 16);
        int result = read_one(
            &t, scratch_write(scratch_folder, "llmc.bin", file, 1024 + cases[i].data_bytes), &e);
        if (result != (cases[i].words ? -1 : 0))
            print_error("%s: %d %s\n", cases[i].numbers, result, e.text);
        assert_int_equal(result, cases[i].words ? -1 : 0);
        if (cases[i].words)
            assert_int_equal(check_message(cases[i].numbers, &e, cases[i].words), 0);
        tokens_free(&t);
    }
    struct error e = {""};
    struct tokens t;
    unsigned char short_file[1023] = {0};
    write_numbers(short_file, "4:20240520 4:1 4:3");
    assert_int_equal(
        read_one(&t, scratch_write(scratch_folder, "llmc.bin", short_file, sizeof short_file), &e),
        -1);
    assert_int_equal(check_message("short", &e, "llmc.bin: ends within its header"), 0);
}

/* Bytes of the small HDF5 files changed, one at a time: refused, or read; nothing worse. */
static void test_damaged_hdf(void **state)
{
    (void)state;
    static const char *const files[] = {GOLDENS "named.h5", GOLDENS "only.h5"};
    for (size_t k = 0; k < 2; k++) {
        struct error e = {""};
        struct tokens t;
        size_t size;
        unsigned char *bytes = scratch_read(files[k], &size);
        for (size_t i = 0; i < size; i++) {
            if (i % 7 ||
                (bytes[i] == 0 &&
                 i % 16)) /* each read takes two processes; and most of a file is empty space */
                continue;
            unsigned char kept = bytes[i];
            bytes[i] ^= 0x55;
            const char *path = scratch_write(scratch_folder, "damaged.h5", bytes, size);
            if (read_one(&t, path, &e) == 0)
                tokens_free(&t);
            else
                assert_null(t.ids);
            bytes[i] = kept;
        }
        free(bytes);
    }
}

/* -- writing -- */

static void test_writing(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t largest;
        size_t count, width;
    } cases[] = {
        {"a.npy", 65535, 3, 2},           {"a.npy", 65536, 3, 4},          {"b.h5", 65535, 3, 2},
        {"b.hdf5", INT32_MAX, 200000, 4}, {"c.npy", INT32_MAX, 200000, 4}, {"c.npy", 7, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct tokens t = {.ids = malloc(cases[i].count * sizeof(int32_t)),
                           .total = cases[i].count},
                      back;
        const char *path = scratch_path(scratch_folder, cases[i].name);
        size_t size;
        for (size_t k = 0; k < t.total; k++)
            t.ids[k] = (int32_t)(k % 1000);
        t.ids[t.total - 1] = cases[i].largest;
        assert_int_equal(tokens_write(path, &t, &e), 0);
        if (read_one(&back, path, &e)) {
            print_error("%s: %s\n", cases[i].name, e.text);
            fail();
        }
        assert_int_equal(back.total, t.total);
        assert_memory_equal(back.ids, t.ids, t.total * sizeof *t.ids);
        tokens_free(&back);
        unsigned char *bytes = scratch_read(path, &size);
        if (!tokens_is_hdf_name(path)) {
            assert_int_equal(size, 128 + cases[i].count * cases[i].width);
            assert_int_equal(bytes[127], '\n');
        }
        /* the same tokens are the same bytes */
        unsigned char *again;
        size_t again_size;
        assert_int_equal(tokens_write(path, &t, &e), 0);
        again = scratch_read(path, &again_size);
        assert_int_equal(size, again_size);
        assert_memory_equal(bytes, again, size);
        free(again);
        free(bytes);
        tokens_free(&t);
    }
}

static void test_full_disk(void **state)
{
    (void)state;
    static const char *const names[] = {"full.npy", "full.h5"};
    for (size_t i = 0; i < 2; i++) {
        struct error e = {""};
        struct tokens t = {.ids = malloc(400000 * sizeof(int32_t)), .total = 400000};
        const char *path = scratch_path(scratch_folder, names[i]);
        int before = scratch_count(scratch_folder);
        for (size_t k = 0; k < t.total; k++)
            t.ids[k] = (int32_t)(k * 2654435761u >> 2);
        scratch_limit(1000);
        int result = tokens_write(path, &t, &e);
        scratch_unlimit();
        assert_int_equal(result, -1);
        assert_int_equal(check_message(names[i], &e, "cannot be written"), 0);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(scratch_count(scratch_folder), before);
        tokens_free(&t);
    }
    struct error e = {""};
    assert_int_equal(tokens_write(scratch_path(scratch_folder, "none.npy"), &(struct tokens){0},
                                  &e),
                     -1);
    assert_int_equal(check_message("none", &e, "none.npy: there are no tokens to write"), 0);
}

/* -- input -- */

static void test_peek(void **state)
{
    (void)state;
    unsigned char data[100], out[100];
    for (int i = 0; i < 100; i++)
        data[i] = (unsigned char)(i + 1);
    for (size_t size = 0; size <= 100; size += 7)
        for (size_t first = 0; first <= 20; first += 5) {
            struct error e = {""};
            size_t got, peeked;
            struct input *in = input_memory(data, size, "memory", &e);
            assert_string_equal(input_name(in), "memory");
            for (int time = 0; time < 2; time++) {
                assert_int_equal(input_peek(in, out, INPUT_PEEK_MAX, &peeked, &e), 0);
                assert_int_equal(peeked, size < INPUT_PEEK_MAX ? size : INPUT_PEEK_MAX);
                assert_memory_equal(out, data, peeked);
            }
            assert_int_equal(input_read(in, out, first, &got, &e), 0);
            assert_int_equal(got, first < size ? first : size);
            size_t rest;
            assert_int_equal(input_read(in, out + got, 100, &rest, &e), 0);
            assert_int_equal(got + rest, size);
            assert_memory_equal(out, data, size);
            input_close(in);
        }
}

/* Bare integers of every type, over more than one piece; what is not a token id is refused. */
static void test_bare(void **state)
{
    static const struct {
        enum token_type type;
        size_t bytes;
    } types[] = {{TOKENS_UINT8, 1}, {TOKENS_UINT16, 2}, {TOKENS_UINT32, 4}, {TOKENS_UINT64, 8},
                 {TOKENS_INT16, 2}, {TOKENS_INT32, 4},  {TOKENS_INT64, 8}};
    static const struct {
        enum token_type type;
        const char *bytes;
        size_t size;
        const char *words;
    } bad[] = {
        {TOKENS_UINT16, "", 0, "holds no tokens"},
        {TOKENS_UINT16, "\1\0\2", 3, "ends within an integer (expected 2 bytes for each token)"},
        {TOKENS_INT16, "\1\0\xff\xff", 4, "element 1 is -1 (expected a token id"},
        {TOKENS_UINT32, "\0\0\0\x80", 4, "element 0 is 2147483648"},
        {TOKENS_UINT64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "element 0 is 18446744073709551615"},
        {TOKENS_UINT16, "\x93NUMPY\1\0", 8, "says itself of which type|without --tokens-dtype"},
        {TOKENS_BY_CONTENT, "\1\0\2\0", 4, "is not a token file|--tokens-dtype reads bare"},
    };
    enum { COUNT = 70000 };
    unsigned char *raw = malloc(8 * COUNT);
    struct error e = {""};
    struct tokens t;
    (void)state;
    assert_non_null(raw);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t k = 0; k < COUNT; k++)
            for (size_t b = 0; b < types[i].bytes; b++)
                raw[k * types[i].bytes + b] = b < 2 ? (unsigned char)(k % 101 >> 8 * b) : 0;
        const char *path = scratch_write(scratch_folder, "bare.bin", raw, COUNT * types[i].bytes),
                   *twice[] = {path, path};
        if (tokens_read_raw(&t, twice, 2, types[i].type, &e))
            fail_msg("%s", e.text);
        assert_true(t.total == 2 * COUNT && t.rows == 0);
        for (size_t k = 0; k < 2 * COUNT; k++)
            assert_int_equal(t.ids[k], k % COUNT % 101);
        tokens_free(&t);
    }
    free(raw);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = scratch_write(scratch_folder, "bad.bin", bad[i].bytes, bad[i].size);
        assert_int_equal(tokens_read_raw(&t, &path, 1, bad[i].type, &e), -1);
        assert_int_equal(check_message(bad[i].words, &e, bad[i].words), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_indexes),     cmocka_unit_test(test_llmc),
        cmocka_unit_test(test_writing),     cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_damaged_hdf), cmocka_unit_test(test_peek),
        cmocka_unit_test(test_bare),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
