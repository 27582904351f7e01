/* The plug-in: how it is found, checked and refused; and what only a set on a device has: its
 * memory, uploads of weights, errors that are kept there. Most of it needs the plug-in that
 * REACH_CUDA names; what the stand-in alone can be made to do is left out on a GPU. */
#include "kernels/plugin.h"
#include "tests/compare.h"
#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char plugin_path[4096]; /* what REACH_CUDA named at the start; "" */

static void require_error(const char *what, const char *got, const char *part)
{
    if (!strstr(got, part) || strchr(got, '\n'))
        fail_msg("%s: \"%s\" (expected one line with \"%s\")", what, got, part);
}

/* Files that are no plug-in of this program, before one is opened. */
static void test_refused(void **state)
{
    char other[4200] = "";
    const struct {
        const char *path, *message;
    } cases[] = {
        {"/nowhere/reach-cuda.so", "/nowhere/reach-cuda.so: cannot be loaded"},
        {"libm.so.6", "libm.so.6: is not a plug-in of reach"},
        {other, "belongs to another version of reach"},
    };
    const char *slash = strrchr(plugin_path, '/');
    (void)state;
    if (slash) {
        snprintf(other, sizeof other, "%.*s/cuda-other.so", (int)(slash - plugin_path),
                 plugin_path);
        if (access(other, F_OK) != 0)
            other[0] = 0; /* it comes with the stand-in */
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""}, note;
        if (!*cases[i].path)
            continue;
        setenv("REACH_CUDA", cases[i].path, 1);
        assert_null(plugin_open(NULL, &e));
        require_error(cases[i].path, e.text, cases[i].message);
        assert_int_equal(plugin_devices(&e), 0);
        assert_null(kernels_open_on("cuda", "f32", &note, &e));
        require_error(cases[i].path, e.text, "--device cuda: ");
        require_error(cases[i].path, e.text, cases[i].message);
        struct kernels *k = kernels_open_on("auto", "f32", &note, &e);
        assert_non_null(k);
        require_error(cases[i].path, note.text, cases[i].message);
        assert_int_not_equal(strncmp(k->name, "cuda", 4), 0);
        k->close(k);
    }
    unsetenv("REACH_CUDA");
    if (*plugin_path)
        setenv("REACH_CUDA", plugin_path, 1);
}

/* A plug-in whose cuBLASLt is missing says what to install and where it looked; one that pip has
 * put into the active environment, or into that of the python3 in PATH, is found. */
static void test_needs(void **state)
{
    char needs[4200], folder[4200], program[4300], path[8400], before[4096] = "";
    const char *path_before = getenv("PATH");
    const char *slash = strrchr(plugin_path, '/'), *active = getenv("VIRTUAL_ENV");
    struct error e = {""};
    (void)state;
    if (!slash)
        skip();
    snprintf(needs, sizeof needs, "%.*s/cuda-needs.so", (int)(slash - plugin_path), plugin_path);
    char *tests = realpath(needs, NULL); /* what is relative in PATH is not looked at */
    snprintf(folder, sizeof folder, "%.*s/pip", tests ? (int)(strrchr(tests, '/') - tests) : 0,
             tests ? tests : "");
    free(tests);
    if (access(needs, F_OK) != 0)
        skip(); /* it comes with the stand-in */
    snprintf(before, sizeof before, "%s", active ? active : "");
    setenv("REACH_CUDA", needs, 1);
    unsetenv("VIRTUAL_ENV");
    assert_null(plugin_open(NULL, &e));
    require_error(needs, e.text, "libcublasLt.so.99");
    require_error(needs, e.text, "`pip install nvidia-cublas`");
    require_error(needs, e.text, "/usr/local/cuda*/lib64");
    require_error(needs, e.text, "/usr/local, /usr)");
    int child = fork(); /* what was loaded once stays */
    assert_true(child >= 0);
    if (child == 0) {
        snprintf(program, sizeof program, "%s/bin", folder);
        mkdir(program, 0777);
        snprintf(program, sizeof program, "%s/bin/python3", folder);
        if (symlink("/bin/true", program) != 0 && errno != EEXIST)
            _exit(2);
        snprintf(path, sizeof path, "%s/bin:%s", folder, path_before ? path_before : "/bin");
        setenv("PATH", path, 1);
        _exit(plugin_open(NULL, &e) || !strstr(e.text, "belongs to another version of reach"));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    setenv("VIRTUAL_ENV", folder, 1);
    assert_null(plugin_open(NULL, &e));
    require_error(needs, e.text, "belongs to another version of reach");
    if (*before)
        setenv("VIRTUAL_ENV", before, 1);
    else
        unsetenv("VIRTUAL_ENV");
    setenv("REACH_CUDA", plugin_path, 1);
}

/* What `reach version` prints. */
static void test_versions(void **state)
{
    char text[5000];
    (void)state;
    plugin_driver_version(text, sizeof text);
    assert_true(!strncmp(text, "CUDA ", 5) || !strncmp(text, "none (", 6) ||
                !strcmp(text, "of an unknown version"));
    plugin_versions(text, sizeof text);
    if (!*plugin_path)
        assert_true(!strcmp(text, "none") || strstr(text, "reach-cuda.so"));
    else if (!strstr(text, plugin_path) || !strstr(text, ": CUDA 1") ||
             !strstr(text, ", cuBLASLt 1"))
        fail_msg("%s", text);
}

/* Devices and types that do not go together. */
static void test_wrong_pairs(void **state)
{
    static const struct {
        const char *device, *dtype, *message;
    } cases[] = {
        {"cuda", "f64", "--dtype f64 is for the processor"},
        {"cuda", "bf16x3", "--dtype bf16x3 is for the processor"},
        {"cpu", "tf32", "--dtype tf32 is for GPUs"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {""}, note;
        assert_null(kernels_open_on(cases[i].device, cases[i].dtype, &note, &e));
        require_error(cases[i].device, e.text, cases[i].message);
    }
    struct error e, note;
    struct kernels *k = kernels_open_on("cpu", "f32", &note, &e);
    assert_non_null(k);
    assert_string_equal(note.text, "");
    assert_int_not_equal(strncmp(k->name, "cuda", 4), 0);
    k->close(k);
}

static struct kernels *open_cuda(const char *dtype)
{
    struct error e, note;
    if (!*plugin_path && !plugin_devices(NULL))
        skip();
    struct kernels *k = kernels_open_on("cuda", dtype, &note, &e);
    if (!k)
        fail_msg("%s", e.text);
    return k;
}

static int is_stand_in(void)
{
    struct kernels *k = open_cuda("f32");
    int found = strstr(k->name, "stand-in") != NULL;
    k->close(k);
    return found;
}

static void test_names(void **state)
{
    static const char *const dtypes[] = {"f32", "tf32", "bf16"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct kernels *k = open_cuda(dtypes[i]);
        assert_int_equal(strncmp(k->name, "cuda (", 6), 0);
        assert_string_equal(k->dtype, dtypes[i]);
        assert_int_equal(k->role_size[ROLE_ACTIVATION], i == 2 ? 2 : 4);
        assert_int_equal(k->role_size[ROLE_RESIDUAL], 4);
        assert_true(k->workers > 1 && k->prefetches);
        k->close(k);
    }
    struct error e, note;
    assert_null(kernels_open_on("cuda:99999999999", "f32", &note, &e));
    require_error("cuda:99999999999", e.text, "there is no GPU with the number");
}

/* No device, an old driver. */
static void test_no_device(void **state)
{
    static const struct {
        const char *devices, *message;
    } cases[] = {{"0", "no NVIDIA GPU with a driver was found"},
                 {"-1", "the NVIDIA driver knows CUDA up to 11.4 and reach was built with 13.0"}};
    (void)state;
    if (!is_stand_in())
        skip();
    for (int i = 0; i < 2; i++) {
        struct error e = {""}, note;
        setenv("REACH_CUDA_HOST_DEVICES", cases[i].devices, 1);
        assert_null(kernels_open_on("cuda:0", "f32", &note, &e));
        require_error("--device cuda:0", e.text, cases[i].message);
        assert_null(kernels_open_on("auto", "tf32", &note, &e));
        require_error("--dtype tf32", e.text, "--dtype tf32 needs a GPU: ");
        struct kernels *k = kernels_open_on("auto", "f32", &note, &e);
        assert_non_null(k);
        if (i == 0) /* nothing is missing */
            assert_string_equal(note.text, "");
        else {
            require_error("auto", note.text, cases[i].message);
            require_error("auto", note.text, "using the processor");
        }
        assert_int_not_equal(strncmp(k->name, "cuda", 4), 0);
        k->close(k);
        unsetenv("REACH_CUDA_HOST_DEVICES");
    }
}

/* What does not fit is told, memory that was given back is used again, and the set goes on. */
static void test_memory(void **state)
{
    struct error e;
    struct kernels *k = open_cuda("f32");
    size_t before, most = k->memory_free(k);
    (void)state;
    assert_true(most > 0);
    e.text[0] = 0;
    assert_null(k->create(k, ROLE_RESIDUAL, most / 2, &e)); /* of 4 bytes */
    require_error("a buffer", e.text, "out of GPU memory");
    assert_null(k->create(k, ROLE_RESIDUAL, SIZE_MAX / 2, &e));
    require_error("a buffer", e.text, "overflow");
    struct weight_part part = {
        &e, ELEMENT_F32, 1, most / 2, 1,    0,
        1,  1,           0, 0,        NULL, 0}; /* never read: there is no room for it */
    assert_null(k->weight_load(k, WEIGHT_VECTOR, &part, 1, &e));
    require_error("a weight", e.text, "out of GPU memory");
    struct buffer *a = buffer_new(k, ROLE_RESIDUAL, 1000), *b = buffer_new(k, ROLE_RESIDUAL, 500);
    before = k->memory_free(k);
    for (int i = 0; i < 10; i++) {
        k->destroy(k, a);
        a = buffer_new(k, ROLE_RESIDUAL, 1000);
    }
    assert_int_equal(k->memory_free(k), before);
    k->destroy(k, a);
    k->destroy(k, b);
    assert_true(k->memory_free(k) > before);
    struct buffer *whole = k->create(k, ROLE_RESIDUAL, (most - (2 << 20)) / 4,
                                     &e); /* needs the blocks of other sizes */
    if (!whole && is_stand_in())
        fail_msg("%s", e.text);
    k->destroy(k, whole);
    assert_int_equal(k->synchronize(k, &e), 0);
    k->close(k);
}

/* A wrong token is told by the next synchronize, once; rows beside it are right. */
static void test_kept_error(void **state)
{
    static const double table[] = {1, 2, 3};
    static const int32_t ids[] = {2, 3, -1, 0};
    double x[4];
    struct error e;
    struct kernels *k = open_cuda("f32");
    (void)state;
    struct weight *w = weight_of(k, WEIGHT_TABLE, table, 3, 1);
    struct buffer *tokens = index_of(k, ids, 4), *out = buffer_new(k, ROLE_RESIDUAL, 4);
    k->embed(k, out, tokens, w, NULL, 4, 1, (struct rows){1, 4}, 1);
    assert_int_equal(k->synchronize(k, &e), -1);
    if (strcmp(e.text, "embedding: token id 3 (expected 0 to 2)") != 0 &&
        strcmp(e.text, "embedding: token id -1 (expected 0 to 2)") != 0)
        fail_msg("%s", e.text);
    assert_int_equal(k->synchronize(k, &e), 0);
    k->read(k, x, out, 0, 4);
    assert_true(x[0] == 3 && x[1] == 0 && x[2] == 0 && x[3] == 1);
    k->destroy(k, tokens);
    k->destroy(k, out);
    k->weight_free(k, w);
    k->close(k);
}

/* A launch that is refused is told, also where a call behind it fails whose failure is dealt with:
 * here no memory. */
static void test_refused_launch(void **state)
{
    struct error e;
    struct kernels *k = open_cuda("f32");
    struct norm norm = {NORM_RMS, 1e-5, NULL, NULL};
    (void)state;
    struct buffer *x = buffer_new(k, ROLE_RESIDUAL, 8),
                  *statistics = buffer_new(k, ROLE_STATISTIC, 8);
    for (int fails = 0; fails < 2; fails++) {
        k->norm(k, x, statistics, x, &norm, (struct rows){0, 0}, 8); /* a grid of no blocks */
        if (fails) {
            assert_null(
                k->create(k, ROLE_RESIDUAL, k->memory_free(k), &e)); /* four times as many bytes */
            require_error("a buffer", e.text, "out of GPU memory");
        }
        e.text[0] = 0;
        assert_int_equal(k->synchronize(k, &e), -1);
        require_error("a launch", e.text, "GPU: launch: invalid ");
        assert_int_equal(k->synchronize(k, &e), 0);
    }
    k->destroy(k, x);
    k->destroy(k, statistics);
    k->close(k);
}

/* Readings give what was there when they were begun, whatever came later and whichever is ended
 * first; a fault is told by the first reading behind it. */
static void test_readings(void **state)
{
    enum { COUNT = 3, LETTERS = 9 };
    static const double table[] = {1, 2, 3};
    static const int32_t right[2] = {2, 0}, wrong[2] = {1, 7};
    struct kernels *k = open_cuda("f32");
    struct reading *readings[COUNT];
    struct error e;
    double x[2];
    (void)state;
    struct weight *w = weight_of(k, WEIGHT_TABLE, table, 3, 1);
    struct buffer *tokens = index_of(k, right, 2), *out = buffer_new(k, ROLE_RESIDUAL, 2);
    for (int i = 0; i < COUNT; i++) {
        int32_t ids[2]; /* taken at once: gone, and another, before the copy is made */
        memcpy(ids, i == 1 ? wrong : right, sizeof ids);
        k->write_index(k, tokens, 0, ids, 2);
        memset(ids, 0x55, sizeof ids);
        k->embed(k, out, tokens, w, NULL, 2, 1 + i, (struct rows){1, 2}, 1);
        readings[i] = k->read_begin(k, out, 0, 2, &e);
        assert_non_null(readings[i]);
    }
    assert_int_equal(k->read_end(k, x, readings[0], &e), 0);
    assert_true(x[0] == 3 && x[1] == 1);
    assert_int_equal(k->read_end(k, x, readings[1], &e), -1);
    require_error("the second", e.text, "token id 7");
    k->read_end(k, NULL, readings[2], &e); /* the record still held it */
    readings[0] = k->read_begin(k, out, 1, 1, &e);
    readings[1] = k->read_begin(k, out, 0, 1, &e);
    assert_int_equal(k->read_end(k, x, readings[1], &e), 0);
    assert_int_equal(k->read_end(k, x + 1, readings[0], &e), 0);
    assert_true(x[0] == 9 && x[1] == 3);
    for (int i = 0; i < 20; i++) { /* more letters than there are, larger and larger */
        int32_t ids[64];
        for (int j = 0; j < 64; j++)
            ids[j] = (i + j) % 3;
        struct buffer *many = buffer_new(k, ROLE_INDEX, 64),
                      *rows = buffer_new(k, ROLE_RESIDUAL, 64);
        size_t count = (size_t)(1 + 3 * i);
        double got[64];
        k->write_index(k, many, 0, ids, count);
        memset(ids, 0x55, sizeof ids);
        k->embed(k, rows, many, w, NULL, 64, 1, (struct rows){1, (int)count}, 1);
        k->destroy(k, many);
        readings[0] = k->read_begin(k, rows, 0, count, &e);
        k->destroy(k, rows);
        assert_int_equal(k->read_end(k, got, readings[0], &e), 0);
        for (size_t j = 0; j < count; j++)
            assert_true(got[j] == (double)((size_t)i + j) - 3 * (double)(((size_t)i + j) / 3) + 1);
    }
    int32_t sent[LETTERS];
    struct buffer *all = buffer_new(k, ROLE_INDEX, LETTERS);
    for (int i = 0; i < LETTERS; i++) /* and with nobody who waits between them */
        k->write_index(k, all, (size_t)i, &(int32_t){100 + i}, 1);
    k->read_index(k, sent, all, 0, LETTERS);
    for (int i = 0; i < LETTERS; i++)
        assert_int_equal(sent[i], 100 + i);
    k->destroy(k, all);
    k->destroy(k, tokens);
    k->destroy(k, out);
    k->weight_free(k, w);
    k->close(k);
}

/* Halves: infinities, NaN and denormals survive. */
static void test_halves(void **state)
{
    static const uint16_t bits[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400,
                                    0x3c00, 0xfbff, 0x7c00, 0xfc00, 0x7e00};
    enum { COUNT = sizeof bits / sizeof *bits };
    struct kernels *k = open_cuda("f32");
    struct weight_part part = {bits, ELEMENT_F16, 1, 1, COUNT, 0, COUNT, 1, 0, 0, NULL, 0};
    struct error e;
    double got[COUNT];
    static const int32_t id = 0;
    (void)state;
    struct weight *w = k->weight_load(k, WEIGHT_TABLE, &part, 1, &e);
    assert_non_null(w);
    struct buffer *token = index_of(k, &id, 1), *x = buffer_new(k, ROLE_RESIDUAL, COUNT);
    k->embed(k, x, token, w, NULL, 1, 1, (struct rows){1, 1}, COUNT);
    k->read(k, got, x, 0, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double want = element_read(bits, ELEMENT_F16, (size_t)i);
        if (isnan(want) ? !isnan(got[i]) : !(got[i] == want))
            fail_msg("half %04x: %g, expected %g", bits[i], got[i], want);
    }
    k->destroy(k, token);
    k->destroy(k, x);
    k->weight_free(k, w);
    k->close(k);
}

/* Weights larger than a staging buffer (8 MB), as many rows and as one run, and one freed while it
 * is still on its way. */
static void test_large_weights(void **state)
{
    enum { COUNT = 2300000 };
    struct kernels *k = open_cuda("f32");
    double *data = allocate(COUNT * sizeof *data), row[1000];
    struct error e;
    static const int32_t ids[] = {0, 1500, 2299};
    (void)state;
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    struct weight_part rows = {data, ELEMENT_F64, 1, 2300, 1000, 0, 1000, 1, 0, 0, NULL, 0},
                       run = {data, ELEMENT_F64, 1, 1, COUNT, 0, COUNT, 1, 0, 0, NULL, 0};
    struct weight *w = k->weight_load(k, WEIGHT_TABLE, &rows, 1, &e),
                  *one = k->weight_load(k, WEIGHT_TABLE, &run, 1, &e);
    assert_true(w && one);
    struct buffer *tokens = index_of(k, ids, 3), *x = buffer_new(k, ROLE_RESIDUAL, COUNT);
    k->embed(k, x, tokens, w, NULL, 3, 1, (struct rows){1, 3}, 1000);
    for (size_t i = 0; i < 3; i++) {
        k->read(k, row, x, i * 1000, 1000);
        for (int c = 0; c < 1000; c++)
            assert_true(row[c] == ids[i] * 1000 + c);
    }
    k->embed(k, x, tokens, one, NULL, 1, 1, (struct rows){1, 1}, COUNT);
    for (size_t i = 0; i < COUNT; i += 1000) {
        k->read(k, row, x, i, 1000);
        for (size_t c = 0; c < 1000; c++)
            assert_true(row[c] == (double)(i + c));
    }
    k->weight_free(k, k->weight_load(k, WEIGHT_TABLE, &rows, 1, &e));
    for (int i = 0; i < COUNT; i++)
        data[i] = -1;
    struct buffer *next =
        buffer_of(k, ROLE_RESIDUAL, data,
                  COUNT); /* in the same memory, which the upload must not reach now */
    assert_int_equal(k->synchronize(k, &e), 0);
    for (size_t i = 0; i < COUNT; i += 1000) {
        k->read(k, row, next, i, 1000);
        for (size_t c = 0; c < 1000; c++)
            assert_true(row[c] == -1);
    }
    k->destroy(k, next);
    k->weight_free(k, NULL);
    k->weight_free(k, w);
    k->weight_free(k, one);
    k->destroy(k, tokens);
    k->destroy(k, x);
    free(data);
    assert_int_equal(k->synchronize(k, &e), 0);
    k->close(k);
}

/* Weights that come and go while products run, two at a time as `prefetches` says, without
 * synchronize: each product has its own weight's numbers. */
static void test_prefetch(void **state)
{
    enum { SIZE = 48, LAYERS = 9 };
    static double matrix[LAYERS][SIZE * SIZE];
    struct kernels *k = open_cuda("f32");
    struct buffer *x[2];
    double *start = random_values(SIZE, 1, 1), want[SIZE], got[SIZE];
    struct rows rows = {1, 1};
    (void)state;
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < SIZE * SIZE; i++)
            matrix[l][i] = i / SIZE == (i % SIZE + l) % SIZE
                               ? 1 + l
                               : 0; /* a permutation, times 1 + l: exact */
    memcpy(want, start, sizeof want);
    for (int l = 0; l < LAYERS; l++) {
        double next[SIZE];
        for (int r = 0; r < SIZE; r++) {
            next[r] = 0;
            for (int c = 0; c < SIZE; c++)
                next[r] += matrix[l][r * SIZE + c] * want[c];
        }
        memcpy(want, next, sizeof want);
    }
    x[0] = buffer_of(k, ROLE_ACTIVATION, start, SIZE), x[1] = buffer_new(k, ROLE_ACTIVATION, SIZE);
    struct weight *w = weight_of(k, WEIGHT_MATRIX, matrix[0], SIZE, SIZE);
    for (int l = 0; l < LAYERS; l++) {
        k->linear(k, x[(l + 1) % 2], x[l % 2], w, NULL, rows, 0);
        struct weight *next = l + 1 < LAYERS
                                  ? weight_of(k, WEIGHT_MATRIX, matrix[l + 1], SIZE, SIZE)
                                  : NULL;
        k->weight_free(k, w);
        w = next;
    }
    k->read(k, got, x[LAYERS % 2], 0, SIZE);
    assert_int_equal(compare_values("product of all layers", got, want, SIZE, 0, 1e-6), 0);
    k->destroy(k, x[0]);
    k->destroy(k, x[1]);
    free(start);
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_versions),       cmocka_unit_test(test_wrong_pairs),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_kept_error),
        cmocka_unit_test(test_readings),       cmocka_unit_test(test_halves),
        cmocka_unit_test(test_large_weights),  cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_refused_launch),
    };
    const struct CMUnitTest again[] = {
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_kept_error),
        cmocka_unit_test(test_readings), cmocka_unit_test(test_large_weights),
        cmocka_unit_test(test_prefetch),
    };
    const char *named = getenv("REACH_CUDA");
    snprintf(plugin_path, sizeof plugin_path, "%s", named ? named : "");
    int failed = cmocka_run_group_tests_name("cuda", tests, NULL, NULL);
    setenv("REACH_CUDA_HOST_COPIES", "early", 1); /* the stand-in's uploads run late but here */
    return failed + cmocka_run_group_tests_name("cuda, early copies", again, NULL, NULL);
}
