/* Checkpoints in HDF5: h5py's, our own, and files that lead elsewhere or lie. */
#include "io/checkpoint/checkpoint.h"
#include "io/tensors/store.h"
#include "tests/expected.h"
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

#define GOLDENS "tests/goldens/torch/"
enum { STEP = 29 }; /* of the bytes that are changed; HDF5 takes milliseconds to open a file */

static void test_goldens(void **state)
{
    (void)state;
    static const char *const paths[] = {GOLDENS "hdf-plain.h5", GOLDENS "hdf-packed.h5"};
    for (size_t i = 0; i < 2; i++) {
        struct error e = {""};
        struct checkpoint c;
        long hidden;
        if (checkpoint_open(&c, paths[i], &e))
            fail_msg("%s: %s", paths[i], e.text);
        expect_tensors(c.tensors, GOLDENS "hdf.json");
        assert_int_equal(config_int(c.config, "hidden", 1, 9, &hidden, &e), 0);
        assert_int_equal(hidden, 4);
        assert_string_equal(config_path(c.config), paths[i]);
        /* what lies in one piece is a view; what is packed is not, and survives the release of its
         * pages */
        const struct tensor *w = tensors_find(c.tensors, "a.weight");
        const struct mapped *file = store_file(w);
        int view = (const unsigned char *)w->data >= file->bytes &&
                   (const unsigned char *)w->data < file->bytes + file->size;
        assert_int_equal(view, i == 0);
        for (size_t k = 0; k < tensors_count(c.tensors); k++)
            tensors_release_pages((const void *)((uintptr_t)tensors_at(c.tensors, k)->data &
                                                 ~(uintptr_t)4095),
                                  4096);
        expect_tensors(c.tensors, GOLDENS "hdf.json");
        checkpoint_close(&c);
    }
}

/* Written and read again: the same tensors of every type, the same config, the same bytes each
 * time. */
static void test_round_trip(void **state)
{
    (void)state;
    static const char *const sources[] = {GOLDENS "plain.pt", GOLDENS "hdf-packed.h5"};
    scratch_write(scratch_folder, "config.json", "{\"a\": 1}", 8);
    for (size_t i = 0; i < 2; i++) {
        struct error e = {""};
        struct checkpoint c = {0}, back;
        struct config *own;
        const char *first = scratch_path(scratch_folder, "first.h5"),
                   *second = scratch_path(scratch_folder, "second.hdf5");
        c.tensors = checkpoint_tensors(sources[i], &own, &e);
        c.config = own ? own : config_open(scratch_path(scratch_folder, "config.json"), &e);
        assert_non_null(c.config);
        if (checkpoint_write(&c, first, 1, &e) || checkpoint_write(&c, second, 1, &e) ||
            checkpoint_open(&back, first, &e))
            fail_msg("%s: %s", sources[i], e.text);
        expect_same_tensors(c.tensors, back.tensors);
        size_t size, other;
        const char *text = config_text(c.config, &size),
                   *text_back = config_text(back.config, &other);
        assert_int_equal(size, other);
        assert_memory_equal(text, text_back, size);
        unsigned char *one = scratch_read(first, &size), *two = scratch_read(second, &other);
        assert_int_equal(size, other);
        assert_memory_equal(one, two, size);
        free(one);
        free(two);
        assert_int_equal(checkpoint_write(&c, first, 0, &e), -1);
        assert_int_equal(check_message("exists", &e, "first.h5: exists (expected --force"), 0);
        checkpoint_close(&back);
        checkpoint_close(&c);
    }
    assert_int_equal(scratch_count(scratch_folder), 3);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct error e = {""};
    struct checkpoint c, back;
    const char *path = scratch_path(scratch_folder, "first.h5");
    size_t before;
    unsigned char *kept = scratch_read(path, &before);
    assert_int_equal(checkpoint_open(&c, path, &e), 0);
    /* too little for the frame, for the data, for the last byte */
    const size_t limits[] = {0, 1, 100, 1000, before / 2, before - 1};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        scratch_limit(limits[i]);
        int result = checkpoint_write(&c, path, 1, &e);
        scratch_unlimit();
        assert_int_equal(result, -1);
        assert_int_equal(check_message("full", &e, "first.h5: cannot be written"), 0);
    }
    checkpoint_close(&c);
    assert_int_equal(scratch_count(scratch_folder), 3);
    assert_int_equal(checkpoint_open(&back, path, &e), 0);
    checkpoint_close(&back);
    free(kept);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"link", "w is a link to elsewhere"},
        {"soft", "w is a link to elsewhere"},
        {"storage", "tensor w is not stored in the file itself"},
        {"endian", "tensor w is stored as a type that is not supported (expected little-endian"},
        {"type", "tensor w is stored as a type that is not supported"},
        {"text", "tensor w is stored as a type that is not supported"},
        {"cycle", "groups within themselves"},
        {"twice", "holds tensor a.b twice"},
        {"config", "the attribute config is not text"},
        {"json", "its config is not valid JSON"},
        {"filter", "tensor w is not stored in the file itself, plain or by deflate"},
        {"unwritten", "tensor w claims 16 bytes, more than the file can hold (0 are stored)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256];
        struct error e = {""};
        struct checkpoint c;
        snprintf(path, sizeof path, GOLDENS "hdf-bad-%s.h5", cases[i][0]);
        if (checkpoint_open(&c, path, &e) == 0)
            fail_msg("%s: was accepted", path);
        assert_int_equal(check_message(cases[i][0], &e, cases[i][1]), 0);
        assert_int_equal(check_message(cases[i][0], &e, "hdf-bad-"), 0);
    }
    struct error e = {""};
    struct checkpoint c;
    assert_int_equal(checkpoint_open(&c,
                                     scratch_write(scratch_folder, "cut.h5",
                                                   "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16),
                                     &e),
                     -1);
    assert_int_equal(check_message("cut", &e, "cut.h5: is not a readable HDF5 file"), 0);
}

/* Addresses of contiguous data that lead out of the file: 3, 1, address, size is the layout message
 * of a.weight. */
static void test_outside(void **state)
{
    (void)state;
    size_t size, at = 0;
    unsigned char *file = scratch_read(GOLDENS "hdf-plain.h5", &size);
    while (at + 18 < size &&
           memcmp(file + at, "\3\1", 2) | memcmp(file + at + 10, "\x60\0\0\0\0\0\0", 8))
        at++;
    assert_true(at + 18 < size);
    const uint64_t addresses[] = {size - 95, size, UINT64_MAX - 1, UINT64_MAX - 95, UINT64_MAX};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        struct error e = {""};
        struct checkpoint c;
        memcpy(file + at + 2, &addresses[i], 8);
        if (checkpoint_open(&c, scratch_write(scratch_folder, "outside.h5", file, size), &e) == 0)
            fail_msg("address %llu was accepted", (unsigned long long)addresses[i]);
        assert_int_equal(check_message("outside", &e, "outside.h5: "), 0);
    }
    free(file);
}

/* Bytes of a file changed: an error, or tensors that can all be read. */
static void test_damaged(void **state)
{
    (void)state;
    static const unsigned char changes[] = {1, 0x80, 0xFF, 0x10};
    struct error e = {""};
    struct checkpoint c;
    size_t size, opened = 0;
    unsigned char out[64];
    assert_int_equal(checkpoint_open(&c, GOLDENS "shards", &e), 0);
    assert_int_equal(checkpoint_write(&c, scratch_path(scratch_folder, "whole.h5"), 0, &e), 0);
    checkpoint_close(&c);
    unsigned char *file = scratch_read(scratch_path(scratch_folder, "whole.h5"), &size);
    for (size_t i = 0; i < size; i += STEP) {
        file[i] ^= changes[i % 4];
        if (checkpoint_open(&c, scratch_write(scratch_folder, "damaged.h5", file, size), &e) == 0) {
            opened++;
            for (size_t k = 0; k < tensors_count(c.tensors); k++)
                tensor_copy(out, tensors_at(c.tensors, k), 0,
                            tensors_at(c.tensors, k)->count < 8 ? tensors_at(c.tensors, k)->count
                                                                : 8);
            checkpoint_close(&c);
        } else {
            assert_int_equal(check_message("damaged", &e, "damaged.h5: "), 0);
        }
        file[i] ^= changes[i % 4];
    }
    assert_true(opened > 10);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens),
                                       cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_full_disk),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_outside),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
