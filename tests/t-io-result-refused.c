/* erf.h5: what must not be written, and files that must be refused. */
#include "tests/example_result.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void change_real(hid_t model, const char *name, size_t at, double value)
{
    double values[SEGMENTS * POSITIONS];
    hid_t dataset = H5Dopen2(model, name, H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    values[at] = value;
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
}

/* Numbers that no run writes; of a segment that is excluded any. */
static void test_numbers_are_checked(void **state)
{
    static const struct {
        const char *name;
        size_t at;
        double value;
        const char *words;
    } cases[] = {{"logprob", 2, 3.5,
                  "y model 1/logprob of segment 2 is 3.5 (expected a log p, which is not above 0)"},
                 {"logprob", 0, NAN, "y model 1, target 8, layer 0: the status of segment 0 is 1"},
                 {"logprob", 0, 1e-9, NULL},
                 {"logprob", 0, -INFINITY, NULL},
                 {"logprob", 1, 3.5, NULL},
                 {"norm", 2 * POSITIONS + 4, -1,
                  "y model 1/norm of segment 2 at position 5 is -1 (expected none below 0)"},
                 {"norm", 3, NAN, "y model 1, target 8, layer 0: the status of segment 0 is 1"},
                 {"norm", 3, INFINITY, NULL},
                 {"norm", POSITIONS + 4, -1, NULL}};
    const char *path = scratch_path(scratch_folder, "numbers.h5");
    struct error e = {""};
    struct result got;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(write_result(path, fill_example(), &e), 0);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
              model = H5Gopen2(file, "models/y model 1", H5P_DEFAULT);
        change_real(model, cases[i].name, cases[i].at, cases[i].value);
        H5Gclose(model);
        assert_true(H5Fclose(file) >= 0);
        if (result_read(path, &got, &e) != (cases[i].words ? -1 : 0))
            fail_msg("%s[%zu] = %g: %s", cases[i].name, cases[i].at, cases[i].value, e.text);
        if (cases[i].words)
            assert_int_equal(check_message(cases[i].words, &e, cases[i].words), 0);
        result_free(&got);
    }
    unlink(path);
}

static void test_refused_writing(void **state)
{
    (void)state;
    struct error e = {""};
    const char *const names[] = {"", ".", "..", "a/b", "/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct result r = *fill_example();
        strcpy(example.models[2].name, names[i]);
        assert_int_equal(write_result(scratch_path(scratch_folder, "no.h5"), &r, &e), -1);
        assert_int_equal(check_message(names[i], &e, "no.h5: |cannot name a model"), 0);
    }
    struct result r = *fill_example();
    strcpy(example.models[2].name, example.models[5].name);
    assert_int_equal(write_result(scratch_path(scratch_folder, "no.h5"), &r, &e), -1);
    assert_int_equal(check_message("twice", &e, "two models are named u model 5"), 0);
    r = *fill_example();
    example.models[0].segments = 0;
    assert_int_equal(write_result(scratch_path(scratch_folder, "no.h5"), &r, &e), -1);
    assert_int_equal(check_message("no segment", &e, "has 0 segments"), 0);
    r = *fill_example();
    r.model_count = 0;
    assert_int_equal(write_result(scratch_path(scratch_folder, "no.h5"), &r, &e), -1);
    r = *fill_example();
    assert_int_equal(write_result(scratch_path(scratch_folder, "absent/no.h5"), &r, &e), -1);
    assert_int_equal(check_message("absent folder", &e, "no.h5: cannot be written: No such file"),
                     0);
    /* a full disk: no half of a file, the old one stays, and the library goes on working */
    const char *path = scratch_write(scratch_folder, "old.h5", "old", 3);
    int files = scratch_count(scratch_folder);
    for (size_t limit = 0; limit < 30000; limit = limit * 3 + 1) {
        scratch_limit(limit);
        int result = write_result(path, &r, &e);
        scratch_unlimit();
        assert_int_equal(result, -1);
        assert_int_equal(check_message("full disk", &e,
                                       "old.h5: cannot be written: File too large"),
                         0);
        assert_int_equal(scratch_count(scratch_folder), files);
    }
    size_t size;
    unsigned char *old = scratch_read(path, &size);
    assert_true(size == 3 && memcmp(old, "old", 3) == 0);
    free(old);
    assert_int_equal(write_result(path, &r, &e), 0);
    unlink(path);
}

/* -- files that others made -- */

/* Replaces a dataset of the model by one of another shape or type, filled with zeros; deflated as
 * ours are, or with no data at all. */
static void replace_dataset(hid_t group, const char *name, hid_t type, int rank, hsize_t rows,
                            hsize_t columns, int with_data)
{
    hsize_t shape[2] = {rows, columns}, chunk[2] = {1, columns};
    hid_t space = H5Screate_simple(rank, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Ldelete(group, name, H5P_DEFAULT);
    if (with_data) {
        H5Pset_chunk(list, rank, rank == 2 ? chunk : shape);
        H5Pset_deflate(list, 4);
    }
    hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (with_data) {
        void *zeros = calloc((size_t)(rank == 2 ? rows * columns : rows), 8);
        assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >=
                    0);
        free(zeros);
    }
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
}

static void set_text(hid_t file, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    H5Adelete(file, name);
    hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void no_format(hid_t file, hid_t model)
{
    (void)model;
    H5Adelete(file, "format");
}

static void other_format(hid_t file, hid_t model)
{
    (void)model;
    set_text(file, "format", "reach-erf/2");
}

static void no_models(hid_t file, hid_t model)
{
    (void)model;
    H5Ldelete(file, "models", H5P_DEFAULT);
}

static void models_elsewhere(hid_t file, hid_t model)
{
    (void)model;
    H5Ldelete(file, "models", H5P_DEFAULT);
    H5Lcreate_external("erf.h5", "/models", file, "models", H5P_DEFAULT, H5P_DEFAULT);
}

static void external_model(hid_t file, hid_t model)
{
    (void)model;
    H5Lcreate_external("erf.h5", "/models/z model 0", file, "models/away", H5P_DEFAULT,
                       H5P_DEFAULT);
}

static void external_dataset(hid_t file, hid_t model)
{
    (void)file;
    H5Ldelete(model, "norm", H5P_DEFAULT);
    H5Lcreate_external("erf.h5", "/models/z model 0/norm", model, "norm", H5P_DEFAULT, H5P_DEFAULT);
}

static void soft_dataset(hid_t file, hid_t model)
{
    (void)file;
    H5Ldelete(model, "c", H5P_DEFAULT);
    H5Lcreate_soft("/models/z model 0/c", model, "c", H5P_DEFAULT, H5P_DEFAULT);
}

/* A dataset whose bytes lie in another file: would read any file of the user's into the result. */
static void external_storage(hid_t file, hid_t model)
{
    (void)file;
    hsize_t shape[1] = {POSITIONS};
    hid_t space = H5Screate_simple(1, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Ldelete(model, "c", H5P_DEFAULT);
    H5Pset_external(list, "/etc/hostname", 0, POSITIONS * 8);
    H5Dclose(H5Dcreate2(model, "c", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
}

static void model_is_dataset(hid_t file, hid_t model)
{
    (void)model;
    hid_t models = H5Gopen2(file, "models", H5P_DEFAULT);
    hsize_t shape[1] = {1};
    hid_t space = H5Screate_simple(1, shape, NULL);
    H5Dclose(
        H5Dcreate2(models, "flat", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Gclose(models);
}

static void missing_dataset(hid_t file, hid_t model)
{
    (void)file;
    H5Ldelete(model, "c_hi", H5P_DEFAULT);
}

static void wrong_length(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "c", H5T_IEEE_F64LE, 1, POSITIONS + 1, 0, 1);
}

static void wrong_rank(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "norm", H5T_IEEE_F32LE, 1, POSITIONS, 0, 1);
}

static void wrong_type(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "norm", H5T_STD_I32LE, 2, SEGMENTS, POSITIONS, 1);
}

static void big_endian(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "logprob", H5T_IEEE_F64BE, 1, SEGMENTS, 0, 1);
}

static void empty_shape(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "norm", H5T_IEEE_F32LE, 2, SEGMENTS, 0, 0);
}

static void bad_status(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "status", H5T_STD_U8LE, 1, SEGMENTS, 0, 1);
}

static void huge_claim(hid_t file, hid_t model)
{
    (void)file;
    replace_dataset(model, "norm", H5T_IEEE_F32LE, 2, 1u << 30, 1u << 30, 0);
}

static void unwritten(hid_t file, hid_t model)
{
    (void)file;
    hsize_t shape[1] = {POSITIONS};
    hid_t space = H5Screate_simple(1, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Ldelete(model, "c", H5P_DEFAULT);
    H5Pset_chunk(list, 1, shape);
    H5Dclose(H5Dcreate2(model, "c", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
}

static void test_refused_reading(void **state)
{
    (void)state;
    const struct {
        const char *what;
        void (*change)(hid_t file, hid_t model);
        const char *words;
    } cases[] = {
        {"no format", no_format, "has no attribute format"},
        {"other format", other_format, "has format 'reach-erf/2' (expected reach-erf/1)"},
        {"no models", no_models, "has no group models"},
        {"models elsewhere", models_elsewhere, "has no group models"},
        {"external model", external_model, "models/away is a link to elsewhere"},
        {"external dataset", external_dataset, "y model 1 has no dataset norm"},
        {"soft link", soft_dataset, "y model 1 has no dataset c"},
        {"external storage", external_storage, "y model 1/c is not stored in the file itself"},
        {"model is a dataset", model_is_dataset, "models/flat is not a group"},
        {"missing dataset", missing_dataset, "y model 1 has no dataset c_hi"},
        {"wrong length", wrong_length, "y model 1/c has size 8 (expected 7)"},
        {"wrong rank", wrong_rank,
         "y model 1/norm has the wrong number of dimensions (expected 2)"},
        {"wrong type", wrong_type, "y model 1/norm has the wrong element type"},
        {"big endian", big_endian, "y model 1/logprob has the wrong element type"},
        {"empty shape", empty_shape, "y model 1/norm has size 0"},
        {"status 0", bad_status, "y model 1/status of segment 0 is 0"},
        {"huge claim", huge_claim, "y model 1/norm claims|more than the file can hold"},
        {"unwritten", unwritten, "y model 1/c claims 56 bytes"},
    };
    struct error wrote = {""};
    size_t size;
    assert_int_equal(write_result(scratch_path(scratch_folder, "erf.h5"), fill_example(), &wrote),
                     0);
    unsigned char *good = scratch_read(scratch_path(scratch_folder, "erf.h5"), &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct result r;
        const char *path = scratch_write(scratch_folder, "bad.h5", good, size);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
              model = H5Gopen2(file, "models/y model 1", H5P_DEFAULT);
        cases[i].change(file, model);
        H5Gclose(model);
        assert_true(H5Fclose(file) >= 0);
        int result = result_read(path, &r, &e);
        if (result == 0)
            print_error("%s was accepted\n", cases[i].what);
        assert_int_equal(result, -1);
        assert_int_equal(r.model_count, 0);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
        assert_int_equal(check_message(cases[i].what, &e, "bad.h5: "), 0);
    }
    /* cut off at any place */
    for (size_t n = 0; n < size; n += n < 2048 ? 128 : 9973) {
        struct error e = {""};
        struct result r;
        assert_int_equal(result_read(scratch_write(scratch_folder, "cut.h5", good, n), &r, &e), -1);
        assert_int_equal(check_message("cut", &e, "cut.h5: "), 0);
    }
    /* changed bytes in the heap of the texts, where HDF5 itself would hang or crash */
    unsigned char *heap = memmem(good, size, "GCOL", 4);
    assert_non_null(heap);
    const unsigned char values[] = {0, 1, 0x80, 0xFF};
    int refused = 0;
    for (size_t i = 5; i < 80; i += 3)
        for (size_t k = 0; k < sizeof values; k++) {
            struct error e = {""};
            struct result r;
            unsigned char kept = heap[i];
            heap[i] = values[k];
            if (result_read(scratch_write(scratch_folder, "heap.h5", good, size), &r, &e)) {
                assert_int_equal(check_message("heap", &e, "heap.h5: "), 0);
                refused += strstr(e.text, "global heap") != NULL;
            }
            result_free(&r);
            heap[i] = kept;
        }
    assert_true(refused > 10);
    free(good);
    struct error e = {""};
    struct result r;
    assert_int_equal(
        result_read(scratch_write(scratch_folder, "text.h5", "a,b\n1,2\n3,4\n5,6\n", 16), &r, &e),
        -1);
    assert_int_equal(check_message("text", &e, "text.h5: is not an HDF5 file"), 0);
    assert_int_equal(result_read(scratch_folder, &r, &e), -1);
    assert_int_equal(check_message("folder", &e, "is a folder"), 0);
    assert_int_equal(result_read(scratch_path(scratch_folder, "absent.h5"), &r, &e), -1);
    assert_int_equal(check_message("absent", &e, "absent.h5: cannot be opened"), 0);
}

/* A curve that no run writes is refused with its place. */
static void test_refused_curves(void **state)
{
    (void)state;
    static const char *const names[] = {"s", "c", "c_lo", "c_hi"};
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.1, 1.1};
    for (size_t i = 0; i < 4 * sizeof values / sizeof *values; i++) {
        struct error e = {""};
        struct result got, r = *fill_example();
        double spoiled[POSITIONS];
        struct result_model *m = &example.models[MODELS - 1];
        memcpy(spoiled, example.vector, sizeof spoiled);
        spoiled[POSITIONS - 1] = values[i / 4];
        struct erf_summary *u = &m->fields[0].summary;
        *(i % 4 == 0 ? &u->s : i % 4 == 1 ? &u->c : i % 4 == 2 ? &u->c_lo : &u->c_hi) = spoiled;
        const char *path = scratch_path(scratch_folder, "curves.h5");
        assert_int_equal(write_result(path, &r, &e), 0);
        assert_int_equal(result_read(path, &got, &e), -1);
        char words[200];
        snprintf(words, sizeof words,
                 "curves.h5: %s/%s at position %d is |expected a share from 0 to 1", m->name,
                 names[i % 4], POSITIONS);
        assert_int_equal(check_message("curve", &e, words), 0);
    }
    unlink(scratch_path(scratch_folder, "curves.h5"));
}

/* Bytes changed anywhere, one at a time: the file is refused or read, and what is read has its
 * shapes. HDF5 itself would crash on some of them. */
static void test_damaged(void **state)
{
    (void)state;
    enum { FILES = 100 };
    size_t size, used = 0;
    struct result whole = *fill_example();
    struct error e = {""};
    whole.model_count = 2;
    assert_int_equal(write_result(scratch_path(scratch_folder, "two.h5"), &whole, &e), 0);
    unsigned char *good = scratch_read(scratch_path(scratch_folder, "two.h5"), &size);
    const unsigned char values[] = {0, 1, 0x80, 0xFF};
    int refused = 0, crashed = 0;
    size_t *place = malloc(
        size * sizeof *place); /* of the bytes that are not 0: of the others most are never read */
    for (size_t i = 0; i < size; i++)
        if (good[i])
            place[used++] = i;
    for (size_t i = 0; i < FILES; i++) {
        size_t at = place[i * used / FILES];
        unsigned char kept = good[at];
        struct result r;
        good[at] = kept == values[i % 4] ? (unsigned char)(kept + 0x11) : values[i % 4];
        e.text[0] = '\0';
        if (result_read(scratch_write(scratch_folder, "damaged.h5", good, size), &r, &e)) {
            if (check_message("damaged", &e, "damaged.h5: "))
                fail_msg("byte %zu changed from %d to %d", at, kept, good[at]);
            refused++;
            crashed += strstr(e.text, "or crashed") != NULL;
            assert_null(r.models);
        }
        for (size_t k = 0; k < r.model_count; k++)
            if (r.models[k].segments != SEGMENTS || r.models[k].fields[0].positions != POSITIONS)
                fail_msg("byte %zu changed from %d to %d: a shape is %zu, %zu", at, kept, good[at],
                         r.models[k].segments, r.models[k].fields[0].positions);
        result_free(&r);
        good[at] = kept;
    }
    free(place);
    print_message("%d of %d files refused, %d of them in a crash\n", refused, FILES, crashed);
    assert_true(refused > FILES / 10 && refused < FILES);
    free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_checked),
        cmocka_unit_test(test_refused_writing),
        cmocka_unit_test(test_refused_reading),
        cmocka_unit_test(test_refused_curves),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
