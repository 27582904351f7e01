#include "tests/expected.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* All bytes of a tensor, row after row; caller frees. */
static unsigned char *bytes_of(const struct tensor *t)
{
    unsigned char *bytes = malloc(t->bytes + 1);
    assert_non_null(bytes);
    tensor_copy(bytes, t, 0, t->count);
    return bytes;
}

static void expect_one(const struct tensor *t, const char *path, const char *name,
                       const json_t *want)
{
    const json_t *shape = json_array_get(want, 1);
    const char *hex = json_string_value(json_array_get(want, 2));
    if (!t)
        fail_msg("%s: tensor %s is missing", path, name);
    if (strcmp(t->stored->name, json_string_value(json_array_get(want, 0))) ||
        (size_t)t->rank != json_array_size(shape) || 2 * t->bytes != strlen(hex))
        fail_msg("%s: tensor %s is %s of rank %d and %zu bytes (expected %s, %zu, %zu)", path, name,
                 t->stored->name, t->rank, t->bytes, json_string_value(json_array_get(want, 0)),
                 json_array_size(shape), strlen(hex) / 2);
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] != (size_t)json_integer_value(json_array_get(shape, (size_t)i)))
            fail_msg("%s: tensor %s has size %zu in dimension %d", path, name, t->shape[i], i);
    unsigned char *bytes = bytes_of(t);
    for (size_t i = 0; i < t->bytes; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        if (bytes[i] != strtoul(two, NULL, 16))
            fail_msg("%s: tensor %s differs at byte %zu: %02x (expected %s)", path, name, i,
                     bytes[i], two);
    }
    free(bytes);
}

void expect_tensors(struct tensors *t, const char *path)
{
    json_error_t problem;
    json_t *all = json_load_file(path, 0, &problem), *want;
    const char *name;
    if (!all)
        fail_msg("%s: %s", path, problem.text);
    assert_true(json_object_size(all) > 0);
    json_object_foreach(all, name, want) expect_one(tensors_find_any(t, name), path, name, want);
    if (tensors_count(t) != json_object_size(all))
        fail_msg("%s: %zu tensors (expected %zu)", path, tensors_count(t), json_object_size(all));
    json_decref(all);
}

void expect_same_tensors(struct tensors *a, struct tensors *b)
{
    if (tensors_count(a) != tensors_count(b))
        fail_msg("%zu and %zu tensors", tensors_count(a), tensors_count(b));
    for (size_t i = 0; i < tensors_count(a); i++) {
        const struct tensor *x = tensors_at(a, i), *y = tensors_at(b, i);
        if (strcmp(x->name, y->name) || x->stored != y->stored || x->rank != y->rank ||
            memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape))
            fail_msg("tensor %s and %s differ in name, type or shape", x->name, y->name);
        unsigned char *bytes_x = bytes_of(x), *bytes_y = bytes_of(y);
        if (memcmp(bytes_x, bytes_y, x->bytes))
            fail_msg("tensor %s differs", x->name);
        free(bytes_x);
        free(bytes_y);
    }
}
