/* Damage that opening a checkpoint leaves unseen, and tensors_verify finds. */
#include "io/checkpoint/checkpoint.h"
#include "io/checkpoint/verify.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS "tests/goldens/torch/"

/* Opens PATH with every tensor asked for, and verifies it; the message in *e. */
static int verify(struct verified *v, const char *path, struct error *e)
{
    struct config *own;
    struct tensors *t = checkpoint_tensors(path, &own, e);
    int result = -1;

    if (!t)
        fail_msg("%s", e->text);
    for (size_t i = 0; i < tensors_count(t); i++)
        tensors_at(t, i)->used = 1;
    result = tensors_verify(v, t, e);
    config_close(own);
    tensors_close(t);
    return result;
}

static size_t find(const unsigned char *bytes, size_t size, const char *text, size_t from)
{
    for (size_t i = from; i + strlen(text) <= size; i++)
        if (memcmp(bytes + i, text, strlen(text)) == 0)
            return i;
    fail_msg("no %s", text);
    return 0;
}

/* The offset of a stored record's data. */
static size_t data_of(const unsigned char *bytes, size_t size, const char *name)
{
    size_t at = find(bytes, size, name, 0) - 30;

    return at + 30 + (size_t)(bytes[at + 26] | bytes[at + 27] << 8) +
           (size_t)(bytes[at + 28] | bytes[at + 29] << 8);
}

static void a_flipped_bit_of_a_record_is_found(void **state)
{
    static const char *const records[] = {"plain/data/0", "plain/data/1"};
    size_t size;
    unsigned char *bytes = scratch_read(GOLDENS "plain.pt", &size);
    struct verified v;
    struct error e = {""};

    (void)state;
    if (verify(&v, GOLDENS "plain.pt", &e) != 0)
        fail_msg("%s", e.text);
    assert_int_equal(v.files, 1);
    assert_int_equal(v.bytes, size);
    assert_true(v.right > 4 && v.unguarded == 0 && v.tensors > 2);
    for (size_t i = 0; i < 2; i++) {
        size_t at = data_of(bytes, size, records[i]);
        const char *path;
        char said[128];

        bytes[at] ^= 1;
        path = scratch_write(scratch_folder, "flipped.pt", bytes, size);
        bytes[at] ^= 1;
        snprintf(said, sizeof said, "flipped.pt: record %s is damaged", records[i]);
        assert_int_equal(verify(&v, path, &e), -1);
        assert_int_equal(check_message(records[i], &e, said), 0);
    }
    free(bytes);
}

/* Without checksums, as torch.save leaves them on request: said, not refused. */
static void records_without_a_checksum_are_counted(void **state)
{
    size_t size, at = 0;
    unsigned char *bytes = scratch_read(GOLDENS "plain.pt", &size);
    struct verified v;
    struct error e = {""};

    (void)state;
    at = find(bytes, size, "PK\1\2", 0);
    for (size_t left = size - at; left > 46 && memcmp(bytes + at, "PK\1\2", 4) == 0;
         left = size - at) {
        memset(bytes + at + 16, 0, 4);
        at += 46 + (size_t)(bytes[at + 28] | bytes[at + 29] << 8) +
              (size_t)(bytes[at + 30] | bytes[at + 31] << 8) +
              (size_t)(bytes[at + 32] | bytes[at + 33] << 8);
    }
    if (verify(&v, scratch_write(scratch_folder, "bare.pt", bytes, size), &e) != 0)
        fail_msg("%s", e.text);
    assert_int_equal(v.right, 1); /* of no bytes */
    assert_true(v.unguarded > 4);
    free(bytes);
}

/* A safetensors file of one tensor of this type and shape, its element `at` spoiled. */
static const char *spoiled(const char *type, const char *shape, size_t count, size_t bytes,
                           size_t at, const void *value)
{
    static unsigned char file[1 << 20];
    char header[256];
    uint64_t length =
        (uint64_t)snprintf(header, sizeof header,
                           "{\"w\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[0,%zu]}}", type,
                           shape, count * bytes);

    assert_true(8 + length + count * bytes <= sizeof file);
    memset(file, 0, sizeof file);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    if (value)
        memcpy(file + 8 + length + at * bytes, value, bytes);
    return scratch_write(scratch_folder, "spoiled.safetensors", file, 8 + length + count * bytes);
}

static void numbers_that_are_not_finite_are_placed(void **state)
{
    static const float nan32 = __builtin_nanf("");
    static const double infinite = -__builtin_inf();
    static const uint16_t nan16 = 0x7f81, infinite16 = 0x7c00; /* in bf16 a NaN; in f16 inf */
    static const struct {
        const char *type, *shape;
        size_t count, bytes, at;
        const void *value;
        const char *said;
    } rows[] = {
        {"F32", "[3,5]", 15, 4, 0, NULL, NULL},
        {"F32", "[3,5]", 15, 4, 13, &nan32,
         "spoiled.safetensors: tensor w holds nan at [2, 3] (expected finite numbers)"},
        {"F64", "[7]", 7, 8, 6, &infinite, "tensor w holds -inf at [6]"},
        {"BF16", "[2,1,4]", 8, 2, 4, &nan16, "tensor w holds nan at [1, 0, 0]"},
        {"F16", "[2,1,4]", 8, 2, 7, &infinite16, "tensor w holds inf at [1, 0, 3]"},
        {"F32", "[]", 1, 4, 0, &nan32, "tensor w holds nan at []"},
        {"F32", "[200000]", 200000, 4, 199999, &nan32, "tensor w holds nan at [199999]"},
        {"F32", "[200000]", 200000, 4, 65536, &nan32, "tensor w holds nan at [65536]"},
        {"F16", "[8]", 8, 2, 7, &nan16, "tensor w holds nan at [7]"},
        {"I16", "[8]", 8, 2, 7, &nan16, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verified v;
        struct error e = {""};
        int result = verify(&v,
                            spoiled(rows[i].type, rows[i].shape, rows[i].count, rows[i].bytes,
                                    rows[i].at, rows[i].value),
                            &e);

        if (result != (rows[i].said ? -1 : 0))
            fail_msg("row %zu: %d, %s", i, result, e.text);
        if (rows[i].said)
            assert_int_equal(check_message(rows[i].said, &e, rows[i].said), 0);
    }
}

/* The index of the two shards states 42 bytes. */
static void an_index_states_the_bytes(void **state)
{
    static const char *const names[] = {"pytorch_model-00001-of-00002.bin",
                                        "pytorch_model-00002-of-00002.bin"};
    static const struct {
        const char *total, *said;
    } rows[] = {
        {"42", NULL},
        {"42.0", NULL},
        {"43",
         "the index states tensors of 43 bytes in all, and its shards hold 42 (expected the same)"},
        {"0", "states tensors of 0 bytes"},
        {"\"42\"", NULL},
        {"-1", NULL},
        {"1000000000000000019884624838656", NULL},
        {"Infinity", NULL}};
    size_t size;
    unsigned char *index = scratch_read(GOLDENS "shards/pytorch_model.bin.index.json", &size);
    size_t at = find(index, size, "42", 0);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t bytes;
        unsigned char *shard = scratch_read(scratch_path(GOLDENS "shards", names[i]), &bytes);

        scratch_write(scratch_folder, names[i], shard, bytes);
        free(shard);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4096];
        int length = snprintf(text, sizeof text, "%.*s%s%.*s", (int)at, (const char *)index,
                              rows[i].total, (int)(size - at - 2), (const char *)index + at + 2);
        struct verified v;
        struct error e = {""};
        int result = verify(&v,
                            scratch_write(scratch_folder, "pytorch_model.bin.index.json", text,
                                          (size_t)length),
                            &e);

        if (result != (rows[i].said ? -1 : 0))
            fail_msg("%s: %d, %s", rows[i].total, result, e.text);
        if (rows[i].said)
            assert_int_equal(check_message(rows[i].total, &e, rows[i].said), 0);
        else
            assert_int_equal(v.files, 2);
    }
    free(index);
}

/* HDF5's own checksum of a chunk: found when the file is opened. */
static void a_checksum_of_hdf5_is_checked(void **state)
{
    const char *path = scratch_path(scratch_folder, "w.h5");
    static float values[64] = {[0] = 12345.678f};
    const hsize_t shape[1] = {64};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          space = H5Screate_simple(1, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE), set;
    struct error e = {""};
    struct config *own;
    struct tensors *t;
    unsigned char *bytes;
    size_t size;
    char first[4];

    (void)state;
    assert_true(H5Pset_chunk(list, 1, shape) >= 0 && H5Pset_fletcher32(list) >= 0);
    set = H5Dcreate2(file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
    t = checkpoint_tensors(path, &own, &e);
    if (!t)
        fail_msg("%s", e.text);
    tensors_close(t);
    config_close(own);
    bytes = scratch_read(path, &size);
    memcpy(first, values, 4);
    for (size_t i = 0; i + 4 <= size; i++)
        if (memcmp(bytes + i, first, 4) == 0)
            bytes[i + 1] ^= 4;
    t = checkpoint_tensors(scratch_write(scratch_folder, "w.h5", bytes, size), &own, &e);
    assert_null(t);
    assert_int_equal(check_message("fletcher32", &e, "w.h5: a dataset cannot be read"), 0);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_of_a_record_is_found),
        cmocka_unit_test(records_without_a_checksum_are_counted),
        cmocka_unit_test(numbers_that_are_not_finite_are_placed),
        cmocka_unit_test(an_index_states_the_bytes),
        cmocka_unit_test(a_checksum_of_hdf5_is_checked),
    };

    return cmocka_run_group_tests_name("verify", tests, scratch_setup, scratch_teardown);
}
