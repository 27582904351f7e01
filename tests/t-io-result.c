/* erf.h5: written and read back, the same bytes each time. Files that must be refused:
 * t-io-result-refused.c. */
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

static int same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct error e = {""};
    const struct result *want = fill_example();
    struct result got;
    const char *path = scratch_path(scratch_folder, "erf.h5");
    assert_int_equal(write_result(path, want, &e), 0);
    assert_string_equal(e.text, "");
    assert_int_equal(scratch_count(scratch_folder), 1);
    if (result_read(path, &got, &e)) {
        print_error("%s\n", e.text);
        fail();
    }
    assert_string_equal(got.version, "0.1.0");
    assert_string_equal(got.command, "reach erf 'a b'");
    assert_int_equal(got.model_count, MODELS);
    for (int i = 0; i < MODELS; i++) {
        const struct result_model *m = &got.models[i], *w = &want->models[i];
        const struct result_field *f = result_main(m), *v = result_main(w);
        assert_string_equal(m->name, w->name);
        assert_int_equal(m->segments, SEGMENTS);
        assert_int_equal(m->field_count, 1);
        assert_int_equal(f->positions, POSITIONS);
        assert_int_equal(m->wide, w->wide);
        for (int k = 0; k < SEGMENTS * POSITIONS; k++)
            assert_true(same(f->norm[k], w->wide ? v->norm[k] : (double)(float)v->norm[k]));
        assert_memory_equal(f->logprob, v->logprob, sizeof example.logprob);
        assert_memory_equal(f->status, v->status, sizeof example.status);
        assert_memory_equal(m->start, w->start, sizeof example.start);
        assert_memory_equal(f->summary.s, v->summary.s, sizeof example.vector);
        assert_memory_equal(f->summary.c, v->summary.c, sizeof example.vector);
        assert_memory_equal(f->summary.c_lo, v->summary.c_lo, sizeof example.vector);
        assert_memory_equal(f->summary.c_hi, v->summary.c_hi, sizeof example.vector);
        assert_int_equal(f->attribute_count, v->attribute_count);
        for (size_t k = 0; k < f->attribute_count; k++) {
            assert_string_equal(f->attributes[k].name, v->attributes[k].name);
            assert_string_equal(f->attributes[k].value, v->attributes[k].value);
        }
    }
    assert_string_equal(got.models[1].path, "/models/\xCE\x94");
    assert_int_equal(got.models[1].layers, 12);
    assert_string_equal(result_attribute(result_main(&got.models[1]), "layers"), "12");
    assert_null(result_attribute(result_main(&got.models[1]), "absent"));
    assert_null(result_attribute(result_main(&got.models[0]), "layers"));
    result_free(&got);
    result_free(&got);
}

/* Whole numbers are numbers in the file, text is variable-length UTF-8: what h5py shows as int and
 * str. */
static void test_stored_types(void **state)
{
    (void)state;
    hid_t file = H5Fopen(scratch_path(scratch_folder, "erf.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t group = H5Gopen2(file, "models/y model 1", H5P_DEFAULT);
    const struct {
        const char *name;
        int whole;
    } cases[] = {{"layers", 1}, {"shift", 1}, {"zero", 1},   {"window", 0}, {"big", 0},
                 {"scale", 0},  {"empty", 0}, {"spaced", 0}, {"path", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hid_t attribute = H5Aopen(group, cases[i].name, H5P_DEFAULT), type = H5Aget_type(attribute);
        if ((H5Tget_class(type) == H5T_INTEGER) != cases[i].whole) {
            print_error("%s is stored as the wrong type\n", cases[i].name);
            fail();
        }
        if (!cases[i].whole)
            assert_true(H5Tis_variable_str(type) > 0 && H5Tget_cset(type) == H5T_CSET_UTF8);
        H5Tclose(type);
        H5Aclose(attribute);
    }
    hid_t norm = H5Dopen2(group, "norm", H5P_DEFAULT), list = H5Dget_create_plist(norm);
    hsize_t chunk[2];
    assert_int_equal(H5Pget_chunk(list, 2, chunk), 2);
    assert_true(chunk[0] == 1 && chunk[1] == POSITIONS && H5Pget_nfilters(list) == 3);
    H5Pclose(list);
    H5Dclose(norm);
    H5Gclose(group);
    H5Fclose(file);
}

static void test_same_bytes(void **state)
{
    (void)state;
    struct error e = {""};
    size_t size_a, size_b;
    const struct result *r = fill_example();
    unsigned char *a = scratch_read(scratch_path(scratch_folder, "erf.h5"), &size_a);
    /* fill the allocator with other contents, and let the clock move on */
    for (int i = 1; i < 200; i++) {
        unsigned char *junk = malloc((size_t)i * 100);
        memset(junk, i, (size_t)i * 100);
        free(junk);
    }
    usleep(1100 * 1000);
    assert_int_equal(write_result(scratch_path(scratch_folder, "again.h5"), r, &e), 0);
    unsigned char *b = scratch_read(scratch_path(scratch_folder, "again.h5"), &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(a, b, size_a);
    free(a);
    free(b);
    unlink(scratch_path(scratch_folder, "again.h5"));
}

static void change_id(hid_t model, const char *name, size_t at, int32_t value)
{
    int32_t ids[SEGMENTS * (POSITIONS + 1)];
    hid_t dataset = H5Dopen2(model, name, H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids) >= 0);
    ids[at] = value;
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids) >= 0);
    H5Dclose(dataset);
}

static void negative_token(hid_t model)
{
    change_id(model, "tokens", 9, -1);
}
static void foreign_token(hid_t model)
{
    change_id(model, "tokens", 9, 300);
}
static void same_piece(hid_t model)
{
    change_id(model, "piece_id", 1, 3);
}
static void no_ends(hid_t model)
{
    H5Ldelete(model, "piece_end", H5P_DEFAULT);
}
static void other_ends(hid_t model)
{
    hid_t dataset = H5Dopen2(model, "piece_end", H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         (const uint64_t[]){2, UINT64_MAX}) >= 0);
    H5Dclose(dataset);
}

/* A bit of any chunk that changes is seen; files of before, without checksums, are read. */
static void test_checksums(void **state)
{
    static const char *const names[] = {"norm", "logprob", "status", "start",
                                        "s",    "c",       "c_lo",   "c_hi"};
    const char *path = scratch_path(scratch_folder, "checksums.h5");
    struct error e = {""};
    struct result got;
    size_t size;
    (void)state;
    assert_int_equal(write_result(path, fill_example(), &e), 0);
    unsigned char *whole = scratch_read(path, &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hsize_t offset[2] = {0}, bytes = 0;
        haddr_t address = 0;
        unsigned filters = 0;
        char name[40];
        snprintf(name, sizeof name, "models/y model 1/%s", names[i]);
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
              dataset = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(dataset);
        assert_true(H5Dget_chunk_info(dataset, space, 0, offset, &filters, &address, &bytes) >= 0);
        H5Sclose(space);
        H5Dclose(dataset);
        H5Fclose(file);
        assert_true(filters == 0 && bytes > 4 && address + bytes <= size);
        for (hsize_t k = 0; k < bytes; k += 3) {
            whole[address + k] ^= 1;
            scratch_write(scratch_folder, "checksums.h5", whole, size);
            whole[address + k] ^= 1;
            if (result_read(path, &got, &e) == 0 || !strstr(e.text, names[i]))
                fail_msg("%s, byte %zu: %s", names[i], (size_t)k, e.text);
        }
        scratch_write(scratch_folder, "checksums.h5", whole, size);
    }
    free(whole);
    unlink(path);
    if (result_read("tests/goldens/tables/erf.h5", &got, &e) != 0)
        fail_msg("%s", e.text);
    assert_int_equal(got.model_count, 1);
    result_free(&got);
}

/* Ids of the segments and the texts of those that occur: kept by models that have them, refused
 * where they are wrong. */
static void test_tokens(void **state)
{
    static const struct {
        void (*change)(hid_t model);
        const char *words;
    } wrong[] = {
        {negative_token, "y model 1/tokens has the id -1 at index 9"},
        {foreign_token,
         "y model 1/tokens has the id 300 at index 9 (expected one of the vocabulary of 256)"},
        {same_piece, "y model 1/piece_id: id 3"},
        {other_ends, "y model 1/piece_id: id 7 and its end 18446744073709551615"},
        {no_ends, "y model 1 has some of piece_id, piece_end and piece_bytes"}};
    const char *path = scratch_path(scratch_folder, "tokens.h5");
    const struct result *want = fill_example();
    struct result_attribute vocabulary = {"vocabulary", "256"};
    int32_t ids[SEGMENTS * (POSITIONS + 1)], piece_ids[] = {3, 7};
    uint64_t ends[] = {2, 3};
    uint8_t bytes[] = {0xE2, 0, 'x'};
    struct error e;
    struct result got;
    (void)state;
    for (int i = 0; i < SEGMENTS * (POSITIONS + 1); i++)
        ids[i] = i * 5;
    example.models[1].tokens = example.models[2].tokens = ids;
    example.models[1].pieces =
        (struct token_texts){.count = 2, .size = 3, .id = piece_ids, .end = ends, .bytes = bytes};
    example.fields[1].attributes = &vocabulary;
    example.fields[1].attribute_count = 1;
    assert_int_equal(write_result(path, want, &e), 0);
    assert_int_equal(result_read(path, &got, &e), 0);
    assert_null(got.models[0].tokens);
    for (int i = 1; i < 3; i++)
        assert_memory_equal(got.models[i].tokens, ids, sizeof ids);
    assert_int_equal(got.models[2].pieces.count, 0);
    assert_int_equal(got.models[1].pieces.count, 2);
    assert_memory_equal(got.models[1].pieces.id, piece_ids, sizeof piece_ids);
    assert_memory_equal(got.models[1].pieces.end, ends, sizeof ends);
    assert_memory_equal(got.models[1].pieces.bytes, bytes, sizeof bytes);
    result_free(&got);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(write_result(path, want, &e), 0);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
              model = H5Gopen2(file, "models/y model 1", H5P_DEFAULT);
        wrong[i].change(model);
        H5Gclose(model);
        assert_true(H5Fclose(file) >= 0);
        assert_int_equal(result_read(path, &got, &e), -1);
        assert_int_equal(check_message(wrong[i].words, &e, wrong[i].words), 0);
    }
    unlink(path);
    memset(&example, 0, sizeof example);
}

/* Three models, the second with fields of other targets and layers, in an order that is not that of
 * their names. */
static struct result fill_fields(void)
{
    static struct result_model models[3];
    static struct result_field fields[6];
    static const size_t places[6][2] = {{8, 0}, {8, 10}, {8, 2}, {5, 0}, {5, 10}, {5, 2}};
    static double completeness[2 * SEGMENTS] = {1, -2, 3, 4, 5, -6},
                                   attention[2 * 3 * POSITIONS] = {0.5, 0.25};
    static uint64_t words[2 * 2 * 3 * POSITIONS];
    static double decays[2 * 5];
    fill_example();
    for (int i = 0; i < 6; i++) {
        fields[i] = example.fields[1];
        fields[i].target = places[i][0], fields[i].layer = places[i][1];
        fields[i].positions = places[i][0] - 1;
        fields[i].summary.s = example.vector +
                              (places[i][0] == 5 ? i - 3 : 0); /* one can be told from another */
    }
    for (int i = 0; i < 3; i++)
        models[i] = example.models[i];
    models[1].fields = fields, models[1].field_count = 6;
    fields[0].completeness = fields[3].completeness = completeness;
    for (int i = 0; i < 2 * 3 * POSITIONS; i++)
        words[i] = UINT64_MAX - (uint64_t)i, words[2 * 3 * POSITIONS + i] = (uint64_t)i << 40;
    for (int i = 0; i < 2 * 5; i++)
        decays[i] = -0.125 * i;
    models[1].attention = (struct result_attention){.layers = 2,
                                                    .heads = 3,
                                                    .positions = POSITIONS,
                                                    .high = words,
                                                    .low = words + 2 * 3 * POSITIONS,
                                                    .mass = attention,
                                                    .recurrence_heads = 5,
                                                    .decay_high = words + 1,
                                                    .decay_low = words + 2,
                                                    .log_decay = decays};
    return (struct result){.version = (char *)"0.1.0",
                           .command = (char *)"reach erf",
                           .shards = 1,
                           .models = models,
                           .model_count = 3};
}

static size_t count_fields(const struct result *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->model_count; i++)
        count += r->models[i].field_count;
    return count;
}

static void test_fields(void **state)
{
    (void)state;
    struct error e = {""};
    struct result want = fill_fields(), got;
    const size_t words = 2 * 3 * POSITIONS * sizeof(uint64_t);
    const char *path = scratch_path(scratch_folder, "fields.h5");
    assert_int_equal(write_result(path, &want, &e), 0);
    for (int with_data = 1; with_data >= 0; with_data--) {
        if (with_data ? result_read(path, &got, &e) : result_read_heads(path, &got, &e)) {
            print_error("%s\n", e.text);
            fail();
        }
        assert_int_equal(got.model_count, 3);
        for (int i = 0; i < 3; i++) {
            const struct result_model *m = &got.models[i], *w = &want.models[i];
            assert_string_equal(m->name, w->name);
            assert_true(m->segments == SEGMENTS && m->field_count == w->field_count);
            assert_true(m->attention.layers == w->attention.layers &&
                        m->attention.heads == w->attention.heads);
            assert_int_equal(!m->attention.high, i != 1 || !with_data);
            assert_null(m->attention.mass);
            for (size_t k = 0; k < m->field_count; k++) {
                const struct result_field *f = &m->fields[k], *v = &w->fields[k];
                assert_true(f->target == v->target && f->layer == v->layer &&
                            f->positions == v->positions);
                assert_int_equal(f->attribute_count, v->attribute_count);
                assert_int_equal(!f->completeness, !v->completeness || !with_data);
                if (f->completeness)
                    assert_memory_equal(f->completeness, v->completeness,
                                        2 * SEGMENTS * sizeof *f->completeness);
                if (with_data)
                    assert_memory_equal(f->summary.s, v->summary.s,
                                        f->positions * sizeof *f->summary.s);
                else
                    assert_true(!f->norm && !f->summary.s);
            }
        }
        if (with_data) {
            assert_memory_equal(got.models[1].attention.high, want.models[1].attention.high, words);
            assert_memory_equal(got.models[1].attention.low, want.models[1].attention.low, words);
            assert_int_equal(got.models[1].attention.recurrence_heads, 5);
            assert_memory_equal(got.models[1].attention.decay_high,
                                want.models[1].attention.decay_high, 2 * 5 * sizeof(uint64_t));
            assert_memory_equal(got.models[1].attention.decay_low,
                                want.models[1].attention.decay_low, 2 * 5 * sizeof(uint64_t));
            assert_memory_equal(got.models[1].attention.log_decay,
                                want.models[1].attention.log_decay, 2 * 5 * sizeof(double));
        }
        result_free(&got);
    }

    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const struct {
        const char *name;
        int rank;
        hsize_t shape[3];
    } stored[] = {
        {"models/y model 1/completeness", 2, {SEGMENTS, 2}},
        {"models/y model 1/attention", 3, {2, 3, POSITIONS}},
        {"models/y model 1/target-5/layer-0/completeness", 2, {SEGMENTS, 2}},
        {"models/y model 1/target-5/layer-2/norm", 2, {SEGMENTS, 4}},
        {"models/y model 1/target-8/layer-10/c", 1, {POSITIONS}},
    };
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        hsize_t shape[3];
        hid_t dataset = H5Dopen2(file, stored[i].name, H5P_DEFAULT), space = H5Dget_space(dataset);
        assert_int_equal(H5Sget_simple_extent_dims(space, shape, NULL), stored[i].rank);
        assert_memory_equal(shape, stored[i].shape, (size_t)stored[i].rank * sizeof *shape);
        H5Sclose(space);
        H5Dclose(dataset);
    }

    /* what is not a field is passed over; a group that contains itself has an end */
    hid_t model = H5Gopen2(file, "models/z model 0", H5P_DEFAULT);
    const char *const others[] = {
        "target-", "target-05", "target-0", "target--1", "target-99999999999999999999999",
        "layer-1", "notes"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        H5Gclose(H5Gcreate2(model, others[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_external("erf.h5", "/models", model, "target-7", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/models", model, "target-6", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "models/z model 0", model, "target-9", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "models/z model 0/target-8", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(model);
    H5Lcreate_hard(file, "models/z model 0", file, "models/z model 0/target-8/layer-3", H5P_DEFAULT,
                   H5P_DEFAULT);
    H5Fclose(file);
    assert_int_equal(result_read(path, &got, &e),
                     -1); /* target-9 is the model, and its layer-1 has no datasets */
    assert_int_equal(check_message("empty layer", &e, "fields.h5: |z model 0|has no dataset norm"),
                     0);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "models/z model 0/layer-1", H5P_DEFAULT);
    H5Fclose(file);
    assert_int_equal(result_read(path, &got, &e), 0);
    assert_int_equal(count_fields(&got), 9);
    assert_true(got.models[0].field_count == 2 && got.models[0].fields[1].target == 8 &&
                got.models[0].fields[1].layer == 3);
    result_free(&got);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Lmove(file, "models/z model 0/target-8", file, "models/z model 0/target-4", H5P_DEFAULT,
            H5P_DEFAULT);
    H5Fclose(file);
    assert_int_equal(result_read(path, &got, &e), -1);
    assert_int_equal(check_message("target", &e,
                                   "z model 0/target-4/layer-3 has 7 positions (expected 3)"),
                     0);
    unlink(path);

    want = fill_fields();
    want.models[1].fields[1].layer = want.models[1].fields[2].layer;
    assert_int_equal(write_result(path, &want, &e), -1);
    assert_int_equal(check_message("twice", &e, "fields.h5: cannot be written"), 0);
}

/* What attributes say becomes values and back; what is no such value is refused by name. */
static void test_attributes(void **state)
{
    static const struct {
        const char *name, *value, *words;
    } cases[] = {
        {"layers", "12", NULL},
        {"layers", "0",
         "the attribute layers of y model 1 is \"0\" (expected a whole number from 1 to "},
        {"layers", "-1", "the attribute layers"},
        {"layers", "007", "the attribute layers"},
        {"layers", "many", "the attribute layers"},
        {"length", "8", NULL},
        {"length", "9", "y model 1 has norms of 7 positions (expected 8)"},
        {"main_threshold", "0.9", NULL},
        {"main_threshold", "0.9x", "(expected a number)"},
        {"main_threshold", "0.8", "main_threshold 0.8 is not one of its thresholds"},
        {"thresholds", "0.5,0.9", NULL},
        {"thresholds", "0.9,0.9", "(expected ascending numbers"},
        {"thresholds", "0.5,,0.9", "(expected ascending numbers"},
        {"thresholds", "0.5,1", "(expected ascending numbers"},
        {"thresholds", "", "(expected ascending numbers"},
        {"shard", "2/3", NULL},
        {"shard", "4/3", "(expected I/N"},
        {"shard", "0/3", "(expected I/N"},
        {"shard", "2", "(expected I/N"},
        {"shard", "2/3/4", "(expected I/N"},
        {"seed", "18446744073709551615", NULL},
        {"seed", "18446744073709551616", "the attribute seed"},
        {"attribution_noise", "nan", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""};
        struct result r = *fill_example(), got;
        struct result_attribute attributes[] = {{"thresholds", "0.5,0.9"},
                                                {"main_threshold", "0.9"},
                                                {cases[i].name, cases[i].value}};
        size_t first = strcmp(cases[i].name, "thresholds") == 0 ? 1 : 0,
               last = strcmp(cases[i].name, "main_threshold") == 0 ? 1 : 2;
        const char *path = scratch_path(scratch_folder, "attributes.h5");

        if (last == 1)
            attributes[1] = attributes[2];
        r.models = &example.models[1], r.model_count = 1;
        r.models[0].fields[0].attributes = attributes + first,
        r.models[0].fields[0].attribute_count = last + 1 - first;
        assert_int_equal(write_result(path, &r, &e), 0);
        if (result_read(path, &got, &e) == 0)
            assert_null(cases[i].words);
        else if (!cases[i].words || check_message(cases[i].name, &e, cases[i].words) != 0)
            fail_msg("%s %s: %s", cases[i].name, cases[i].value, e.text);
        result_free(&got);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksums),  cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_stored_types),
        cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_attributes),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
