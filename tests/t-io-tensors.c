/* The store of tensors: elements through any strides, shapes, memory of its own, names. */
#include "io/tensors/store.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every begin and length of a copy against a plain loop over indices. */
static void test_copy(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        int rank;
        size_t shape[3], stride[3];
    } cases[] = {
        {"U8", 0, {0}, {0}},
        {"F16", 1, {7}, {1}},
        {"F32", 1, {5}, {3}},
        {"F64", 2, {3, 4}, {4, 1}},
        {"F32", 2, {3, 4}, {1, 3}},
        {"U8", 3, {2, 3, 4}, {12, 4, 1}},
        {"BF16", 3, {2, 3, 4}, {1, 2, 6}},
        {"I16", 3, {3, 1, 5}, {2, 99, 7}},
        {"F32", 2, {4, 1}, {5, 9}},
    };
    unsigned char bytes[1024], out[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct tensor t = {.name = "t"};
        struct error e = {""};
        assert_int_equal(store_shape(&t, stored_type_find(cases[c].type), cases[c].rank,
                                     cases[c].shape, "f", &e),
                         0);
        memcpy(t.stride, cases[c].stride, sizeof cases[c].stride);
        t.data = bytes + 1; /* of no alignment */
        size_t size = t.stored->bytes;
        for (size_t first = 0; first < t.count; first++)
            for (size_t count = 0; first + count <= t.count; count++) {
                memset(out, 0xEE, sizeof out);
                tensor_copy(out, &t, first, count);
                for (size_t k = 0; k < count; k++) {
                    size_t left = first + k, at = 0;
                    for (int d = t.rank - 1; d >= 0; d--) {
                        at += left % t.shape[d] * t.stride[d];
                        left /= t.shape[d];
                    }
                    if (memcmp(out + k * size, bytes + 1 + at * size, size))
                        fail_msg("case %zu: elements %zu to %zu: the %zu-th is wrong", c, first,
                                 first + count, k);
                }
                assert_int_equal(out[count * size], 0xEE);
            }
    }
}

static void test_shape(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        int rank;
        size_t shape[9];
        const char *words;
    } cases[] = {
        {"F8_E4M3FNUZ", 1, {1}, "tensor t is stored as F8_E4M3FNUZ, which is not supported"},
        {"C64", 0, {0}, "C64, which is not supported"},
        {"F32", 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "9 dimensions (expected at most 8)"},
        {"U8", 2, {1ULL << 33, 1ULL << 33}, "more elements than can be counted"},
        {"F32", 1, {1ULL << 62}, "more bytes than can be counted"},
    };
    struct tensor t = {.name = "t"};
    struct error e = {""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(store_shape(&t, stored_type_find(cases[i].type), cases[i].rank,
                                     cases[i].shape, "f", &e),
                         -1);
        assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
    }
    const size_t shape[] = {2, 3, 4}, empty[] = {1ULL << 40, 0, 1ULL << 40};
    assert_int_equal(store_shape(&t, stored_type_find("F16"), 3, shape, "f", &e), 0);
    assert_true(t.count == 24 && t.bytes == 48 && t.stride[0] == 12 && t.stride[1] == 4 &&
                t.stride[2] == 1 && t.type == ELEMENT_F16 && !t.integer && !t.used);
    assert_int_equal(store_shape(&t, stored_type_find("BOOL"), 1, shape, "f", &e), 0);
    assert_true(t.integer && t.used);
    /* an overflow before the zero is one, as in the reference reader of safetensors; here 2^40 * 0
     * comes first */
    assert_int_equal(store_shape(&t, stored_type_find("F32"), 3, empty, "f", &e), 0);
    assert_int_equal(t.count, 0);
    assert_null(stored_type_find("f32"));
    assert_null(stored_type_find(""));
}

static void test_store(void **state)
{
    (void)state;
    struct error e = {""};
    struct tensors *t = store_create("somewhere", &e);
    const struct mapped *one = store_map(t, scratch_write(scratch_folder, "one", "abcdefgh", 8),
                                         &e);
    const struct mapped *none = store_map(t, scratch_write(scratch_folder, "none", "", 0), &e);
    assert_non_null(one);
    assert_non_null(none);
    assert_non_null(none->bytes);
    assert_int_equal(none->size, 0);
    assert_null(store_map(t, scratch_path(scratch_folder, "absent"), &e));
    assert_int_equal(check_message("absent", &e, "absent: cannot be opened"), 0);
    const size_t shape[] = {1000};
    float *memory = store_memory(t, 400000, "test", &e);
    for (size_t i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", 199 - i);
        struct tensor *added = store_add(t, one, name, strlen(name), &e);
        assert_int_equal(store_shape(added, stored_type_find(i == 5 ? "I64" : "F32"), 1, shape, "f",
                                     &e),
                         0);
        added->data = memory;
    }
    assert_null(store_add(t, one, "a\0b", 3, &e));
    assert_int_equal(check_message("NUL", &e, "one: a tensor's name holds a NUL"), 0);
    char long_name[1025];
    memset(long_name, 'n', sizeof long_name);
    assert_null(store_add(t, one, long_name, sizeof long_name, &e));
    assert_int_equal(check_message("long", &e, "name has 1025 bytes (expected at most 1024)"), 0);
    assert_int_equal(store_finish(t, &e), 0);
    assert_int_equal(tensors_count(t), 200);
    assert_string_equal(tensors_at(t, 1)->name, "t1");
    assert_string_equal(tensors_at(t, 2)->name, "t10");
    assert_ptr_equal(store_file(tensors_at(t, 2)), one);
    assert_null(tensors_find(t, "t194"));
    assert_true(tensors_find_any(t, "t194")->integer);
    assert_string_equal(tensors_find(t, "t193")->name, "t193");
    assert_null(tensors_find_any(t, "t200"));
    assert_string_equal(tensors_path(t), "somewhere");
    /* memory of the store's own comes back as it was */
    for (size_t i = 0; i < 100000; i++)
        memory[i] = (float)i;
    tensors_release_pages(memory, 400000);
    for (size_t i = 0; i < 100000; i++)
        if (memory[i] != (float)i)
            fail_msg("element %zu is %g after its page was released", i, memory[i]);
    tensors_close(t);
}

/* Tensors may share data, but not so that a small file stands for a large one; more memory than
 * there is is refused. */
static void test_claims(void **state)
{
    (void)state;
    for (size_t count = 64; count <= 66; count += 2)
        for (int file = 0; file < 2;
             file++) { /* the data in a file, or in memory that the store owns */
            struct error e = {""};
            struct tensors *t = store_create("somewhere", &e);
            static const unsigned char data[4096] = {1};
            const size_t shape[] = {1024};
            const struct mapped *one =
                store_map(t, scratch_write(scratch_folder, "one", data, file ? sizeof data : 1),
                          &e);
            const void *bytes = file ? one->bytes : store_memory(t, sizeof data, "test", &e);
            for (size_t i = 0; i < count; i++) {
                char name[16];
                snprintf(name, sizeof name, "t%zu", i);
                struct tensor *added = store_add(t, one, name, strlen(name), &e);
                assert_int_equal(store_shape(added, stored_type_find("F32"), 1, shape, "f", &e), 0);
                added->data = bytes;
            }
            assert_int_equal(store_finish(t, &e), count == 64 ? 0 : -1);
            if (count > 64)
                assert_int_equal(
                    check_message("shared", &e,
                                  "somewhere: its tensors claim more than 64 times the bytes"),
                    0);
            assert_null(store_memory(t, (size_t)1 << 50, "a bomb", &e));
            assert_int_equal(
                check_message("memory", &e,
                              "a bomb: needs 1125899906842624 bytes of memory, and|are free"),
                0);
            tensors_close(t);
        }
}

static void test_twice(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct error e = {""};
        struct tensors *t = store_create("somewhere", &e);
        const struct mapped *one = store_map(t, scratch_write(scratch_folder, "one", "1", 1), &e);
        const struct mapped *two = store_map(t, scratch_write(scratch_folder, "two", "2", 1), &e);
        assert_non_null(store_add(t, one, "w", 1, &e));
        assert_non_null(store_add(t, i ? two : one, "w", 1, &e));
        assert_int_equal(store_finish(t, &e), -1);
        assert_int_equal(check_message("twice", &e,
                                       i ? "tensor w is also in" : "one: holds tensor w twice"),
                         0);
        tensors_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy), cmocka_unit_test(test_shape),
                                       cmocka_unit_test(test_store), cmocka_unit_test(test_claims),
                                       cmocka_unit_test(test_twice)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
