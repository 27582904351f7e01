/* The choice of a kernel set, and what all sets share: checks of shapes and views, buffers. */
#include "kernels/shared.h"

#include "tests/kernel_run.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_open(void **state)
{
    static const struct {
        const char *forced, *dtype, *name,
            *message; /* name: how k->name begins; message: a part of the error */
    } cases[] = {
        {NULL, "f64", "reference", NULL},
        {"", "f64", "reference", NULL},
        {"reference", "f64", "reference", NULL},
        {"reference", "f32", "reference", NULL},
        {"cpu", "f32", "cpu", NULL},
        {"cpu", "f64", NULL, "REACH_KERNELS=cpu: no such kernel set for f64"},
        {"abacus", "f32", NULL,
         "REACH_KERNELS=abacus: no such kernel set for f32 that this machine can run (there are: "
         "reference (f32), reference "
         "(f64), reference (bf16), reference (bf16x3), cpu (f32), cpu (bf16), cpu (bf16x3)"},
        {NULL, "f8", NULL, "no kernel set for f8 (there are: reference (f32)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e = {{0}};
        if (cases[i].forced)
            setenv("REACH_KERNELS", cases[i].forced, 1);
        else
            unsetenv("REACH_KERNELS");
        struct kernels *k = kernels_open(cases[i].dtype, &e);
        if (cases[i].name ? !k || strncmp(k->name, cases[i].name, strlen(cases[i].name)) ||
                                strcmp(k->dtype, cases[i].dtype)
                          : k || !strstr(e.text, cases[i].message))
            fail_msg("case %zu: got %s, message '%s'", i, k ? k->name : "nothing", e.text);
        if (k)
            k->close(k);
    }
    unsetenv("REACH_KERNELS");
}

/* Without REACH_KERNELS the last usable set of the dtype. */
static void test_best(void **state)
{
    struct error e;
    const struct kernel_set_entry *best = NULL;
    (void)state;
    unsetenv("REACH_KERNELS");
    for (int i = 0; i < kernel_set_count; i++)
        if (!strcmp(kernel_sets[i].dtype, "f32") && kernel_sets[i].usable())
            best = &kernel_sets[i];
    struct kernels *k = kernels_open("f32", &e);
    assert_non_null(k);
    assert_int_equal(strncmp(k->name, best->name, strlen(best->name)), 0);
    k->close(k);
}

/* From `create` to its end a table is function pointers, and few may be NULL. */
static void require_entries(const struct kernels *k)
{
    static const size_t optional[] = {offsetof(struct kernels, aim),
                                      offsetof(struct kernels, read_begin),
                                      offsetof(struct kernels, read_end),
                                      offsetof(struct kernels, memory_free),
                                      offsetof(struct kernels, product_text)};
    for (size_t at = offsetof(struct kernels, create); at < sizeof *k; at += sizeof k->create) {
        void (*entry)(void);
        int may_lack = 0;
        memcpy(&entry, (const char *)k + at, sizeof entry);
        for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
            may_lack |= at == optional[i];
        if (!entry && !may_lack)
            fail_msg("%s %s: the entry at byte %zu of the table is missing", k->name, k->dtype, at);
    }
}

/* Every set fills every entry, and its buffers hold what is written. */
static void test_table_and_buffers(void **state)
{
    (void)state;
    for (int i = 0; i < kernel_set_count; i++) {
        struct error e;
        if (!kernel_sets[i].usable())
            continue;
        struct kernels *k = kernel_sets[i].open(&e);
        if (!k)
            fail_msg("%s: %s", kernel_sets[i].name, e.text);
        require_entries(k);
        for (int role = ROLE_ACTIVATION; role <= ROLE_STATISTIC; role++) {
            struct buffer *a = k->create(k, (enum buffer_role)role, 5, &e),
                          *b = k->create(k, (enum buffer_role)role, 5, &e);
            double back[3];
            assert_true(a && b && k->role_size[role] > 0);
            k->write(k, a, 0, (const double[]){1, 2, 3}, 3);
            k->write(k, a, 3, (const double[]){-0.5, INFINITY}, 2);
            k->copy(k, b, a, (struct rows){1, 5}, 1);
            k->read(k, back, b, 2, 3);
            assert_true(back[0] == 3 && back[1] == -0.5 && back[2] == INFINITY);
            k->destroy(k, a);
            k->destroy(k, b);
        }
        struct buffer *empty = k->create(k, ROLE_ACTIVATION, 0, &e);
        assert_non_null(empty);
        k->destroy(k, empty);
        e.text[0] = 0;
        assert_null(k->create(k, ROLE_RESIDUAL, SIZE_MAX / 2, &e));
        assert_true(e.text[0] != 0);
        assert_int_equal(k->synchronize(k, &e), 0);
        k->close(k);
    }
}

static void test_attention_refused(void **state)
{
    static const double table[64] = {0};
    const struct attention_shape good = {.heads = 4,
                                         .kv_heads = 2,
                                         .head_size = 8,
                                         .positions = 3,
                                         .scale = 1,
                                         .rotary_size = 4,
                                         .cosine = table,
                                         .sine = table};
    struct attention_shape bad[14];
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < 14; i++)
        bad[i] = good;
    bad[n++].heads = 0;
    bad[n++].kv_heads = 0;
    bad[n++].kv_heads = 5;
    bad[n++].head_size = 0;
    bad[n++].head_size = HEAD_SIZE_MOST + 1;
    bad[n++].positions = 0;
    bad[n++].window = -1;
    bad[n++].chunk = -1;
    bad[n].window = 2, bad[n++].chunk = 2;
    bad[n++].soft_cap = -1;
    bad[n++].soft_cap = NAN;
    bad[n++].rotary_size = 3;
    bad[n++].rotary_size = 10;
    bad[n++].sine = NULL;
    for (int i = 0; i < kernel_set_count; i++) {
        struct error e;
        if (!kernel_sets[i].usable())
            continue;
        struct kernels *k = kernel_sets[i].open(&e);
        assert_non_null(k);
        struct attention *a = k->attention_create(k, &good, &e);
        assert_non_null(a);
        k->attention_free(k, a);
        k->attention_free(k, NULL);
        for (size_t j = 0; j < n; j++) {
            e.text[0] = 0;
            if (k->attention_create(k, &bad[j], &e) || !e.text[0])
                fail_msg("%s %s: shape %zu is not refused with a message", k->name, k->dtype, j);
        }
        k->close(k);
    }
}

static void test_kept_error(void **state)
{
    struct error e;
    struct kernels *k = kernels_allocate(&e);
    (void)state;
    assert_non_null(k);
    assert_int_equal(kernels_take_error(k, &e), 0);
    assert_int_equal(kernels_keep_error(k, "first %d", 1), -1);
    assert_int_equal(kernels_keep_error(k, "second"), -1);
    assert_int_equal(kernels_take_error(k, &e), -1);
    assert_string_equal(e.text, "first 1");
    assert_int_equal(kernels_take_error(k, &e), 0);
    kernels_release(k);
    kernels_release(NULL);
}

/* Which views count as one dense, aligned matrix. */
static void test_dense(void **state)
{
    static const double data[64];
    const struct {
        struct weight_part part;
        int dense;
    } cases[] = {
        {{data, ELEMENT_F64, 1, 3, 4, 0, 4, 1, 0, 0, NULL, 0}, 1},
        {{data, ELEMENT_F64, 2, 3, 4, 12, 4, 1, 0, 0, NULL, 0}, 1},
        {{data, ELEMENT_F64, 1, 5, 1, 9, 1, 7, 0, 0, NULL, 0}, 1},
        {{data, ELEMENT_F64, 1, 1, 5, 9, 9, 1, 0, 0, NULL, 0}, 1},
        {{data, ELEMENT_F32, 1, 3, 4, 0, 4, 1, 0, 0, NULL, 0}, 0},
        {{data, ELEMENT_F64, 1, 3, 4, 0, 5, 1, 0, 0, NULL, 0}, 0},
        {{data, ELEMENT_F64, 1, 3, 4, 0, 1, 3, 0, 0, NULL, 0}, 0},
        {{data, ELEMENT_F64, 2, 3, 4, 13, 4, 1, 0, 0, NULL, 0}, 0},
        {{data, ELEMENT_F64, 1, 3, 4, 0, 4, 1, 1, 0, NULL, 0}, 0},
        {{(const char *)data + 4, ELEMENT_F64, 1, 3, 4, 0, 4, 1, 0, 0, NULL, 0}, 0},
        {{data, ELEMENT_F64, 1, 5, 1, 9, 2, 1, 0, 0, NULL, 0}, 0},
        {{data, ELEMENT_F64, 1, 3, 4, 0, 4, 1, 0, 0, data, 0}, 0},
        {{data, ELEMENT_F64, 2, 3, 4, 12, 4, 1, 0, 0, NULL, 1}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (weight_parts_dense(&cases[i].part, 1, ELEMENT_F64) != cases[i].dense)
            fail_msg("case %zu: expected %d", i, cases[i].dense);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_table_and_buffers),
        cmocka_unit_test(test_attention_refused),
        cmocka_unit_test(test_kept_error),
        cmocka_unit_test(test_dense),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
