/* How datasets of HDF5 may be stored, and what is refused before any of it is read. */
#include "io/formats/hdf.h"
#include "io/tensors/tensors.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

/* Datasets of float32 that the library itself writes. */
static hid_t make(hid_t file, const char *name, int rank, const hsize_t *shape, const hsize_t *most,
                  hid_t list, int written)
{
    static const float zeros[4096];
    hid_t space = rank ? H5Screate_simple(rank, shape, most) : H5Screate(H5S_SCALAR);
    hid_t dataset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (written)
        assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    H5Sclose(space);
    return dataset;
}

static void test_storage(void **state)
{
    (void)state;
    enum { PLAIN, COMPACT, CHUNKS, LARGE_CHUNKS, DEFLATE, DEFLATE_TWICE, NBIT, OUTSIDE };
    static const struct {
        const char *what;
        int rank;
        hsize_t shape[2];
        int storage, written;
        const char *words; /* NULL: fine */
    } cases[] = {
        {"plain", 2, {8, 8}, PLAIN, 1, NULL},
        {"a number", 0, {0}, PLAIN, 1, NULL},
        {"in its header", 2, {8, 8}, COMPACT, 1, NULL},
        {"chunks", 2, {8, 8}, CHUNKS, 1, NULL},
        {"packed", 2, {64, 64}, DEFLATE, 1, NULL},
        {"nothing", 2, {0, 8}, CHUNKS, 1, NULL},
        {"not written",
         2,
         {8, 8},
         PLAIN,
         0,
         "claims 256 bytes, more than the file can hold (0 are stored)"},
        {"chunks not written",
         2,
         {64, 64},
         DEFLATE,
         0,
         "claims 16384 bytes, more than the file can hold (0 are stored)"},
        {"large chunks", 1, {5}, LARGE_CHUNKS, 1, "has chunks larger than itself"},
        {"packed twice",
         2,
         {64, 64},
         DEFLATE_TWICE,
         1,
         "is not stored in the file itself, plain or by deflate and shuffle"},
        {"another filter", 2, {64, 64}, NBIT, 1, "is not stored in the file itself"},
        {"another file", 2, {8, 8}, OUTSIDE, 0, "is not stored in the file itself"},
        {"overflow",
         2,
         {(hsize_t)1 << 32, (hsize_t)1 << 31},
         CHUNKS,
         0,
         "has no shape, or one that overflows 64 bits"},
        {"a bomb",
         2,
         {(hsize_t)1 << 30, (hsize_t)1 << 30},
         CHUNKS,
         0,
         "claims 4611686018427387904 bytes, more than the file can hold"},
    };
    const char *path = scratch_path(scratch_folder, "storage.h5");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    int other = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        const hsize_t small[2] = {4, 4}, large[1] = {10}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
        int storage = cases[i].storage;
        hid_t list = H5Pcreate(H5P_DATASET_CREATE);
        if (storage == COMPACT)
            H5Pset_layout(list, H5D_COMPACT);
        if (storage >= CHUNKS && storage != OUTSIDE)
            H5Pset_chunk(list, cases[i].rank, storage == LARGE_CHUNKS ? large : small);
        if (storage == DEFLATE || storage == DEFLATE_TWICE)
            H5Pset_shuffle(list), H5Pset_deflate(list, 9);
        if (storage == DEFLATE_TWICE)
            H5Pset_deflate(list, 9);
        if (storage == NBIT)
            H5Pset_nbit(list);
        if (storage == OUTSIDE)
            H5Pset_external(list, "/etc/hostname", 0, H5F_UNLIMITED);
        hid_t dataset = make(file, cases[i].what, cases[i].rank, cases[i].shape,
                             storage == LARGE_CHUNKS ? most : NULL, list, cases[i].written);
        assert_true(dataset >= 0);
        int result = hdf_check_storage(dataset, "w", "f.h5", 1 << 20, &e);
        if (result != (cases[i].words ? -1 : 0))
            fail_msg("%s: %d, %s", cases[i].what, result, e.text);
        other += cases[i].words && check_message(cases[i].what, &e, cases[i].words);
        H5Dclose(dataset);
        H5Pclose(list);
    }
    assert_int_equal(other, 0);
    /* more stored than the file has bytes: a file that lies */
    struct error e = {""};
    hid_t dataset = H5Dopen2(file, "plain", H5P_DEFAULT);
    assert_int_equal(hdf_check_storage(dataset, "w", "f.h5", 255, &e), -1);
    assert_int_equal(
        check_message("a small file", &e,
                      "f.h5: w claims 256 bytes, more than the file can hold (256 are stored)"),
        0);
    H5Dclose(dataset);
    H5Fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storage)};
    hdf_quiet();
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
