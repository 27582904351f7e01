/* Helpers that family files share: views of stored tensors, activations, formulas. */
#include "model/family.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 256 };

int family_blocks(struct decoder *d, struct error *e)
{
    d->blocks = calloc((size_t)d->layers, sizeof *d->blocks);
    return d->blocks ? 0 : fail_memory(e, (double)d->layers * sizeof *d->blocks, "layer table");
}

const char *family_prefix(const struct decoder *d, const char *prefix, const char *name)
{
    char full[NAME_MAX_LENGTH];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return tensors_find(d->tensors, full) ? prefix : "";
}

int family_has(const struct decoder *d, const char *format, ...)
{
    char name[NAME_MAX_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return tensors_find(d->tensors, name) != NULL;
}

/* The tensor `name` of exactly the shape [a, b] (b = 0: a vector [a]). */
static struct tensor *find_shaped(const struct decoder *d, const char *name, size_t a, size_t b, struct error *e)
{
    struct tensor *t = tensors_find(d->tensors, name);
    if (!t) {
        fail(e, "%s: tensor '%s' is missing (family %s)", d->path, name, d->family);
        return NULL;
    }
    t->used = 1;
    int fits = b ? t->rank == 2 && t->shape[0] == a && t->shape[1] == b : t->rank == 1 && t->shape[0] == a;
    if (fits)
        return t;
    char shape[128] = "";
    size_t at = 0;
    for (int i = 0; i < t->rank && at < sizeof shape; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%zu", i ? ", " : "", t->shape[i]);
    if (b)
        fail(e, "%s: tensor '%s' has shape [%s] (expected [%zu, %zu] from config.json)", d->path, name, shape, a, b);
    else
        fail(e, "%s: tensor '%s' has shape [%s] (expected [%zu] from config.json)", d->path, name, shape, a);
    return NULL;
}

static int matrix_named(view *out, const struct decoder *d, size_t rows, size_t columns, const char *name, struct error *e)
{
    const struct tensor *t = find_shaped(d, name, rows, columns, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data, .type = t->type, .groups = 1, .rows = rows, .columns = columns, .row_stride = columns, .column_stride = 1};
    return 0;
}

static int vector_named(view *out, const struct decoder *d, size_t size, const char *name, struct error *e)
{
    const struct tensor *t = find_shaped(d, name, size, 0, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data, .type = t->type, .groups = 1, .rows = size, .columns = 1, .row_stride = 1, .column_stride = 1};
    return 0;
}

#define FORMAT_NAME(name, format)                                                                                                                         \
    char name[NAME_MAX_LENGTH];                                                                                                                           \
    do {                                                                                                                                                  \
        va_list arguments;                                                                                                                                \
        va_start(arguments, format);                                                                                                                      \
        vsnprintf(name, sizeof name, format, arguments);                                                                                                  \
        va_end(arguments);                                                                                                                                \
    } while (0)

int family_matrix(view *out, const struct decoder *d, size_t rows, size_t columns, struct error *e, const char *format, ...)
{
    FORMAT_NAME(name, format);
    return matrix_named(out, d, rows, columns, name, e);
}

int family_transposed(view *out, const struct decoder *d, size_t rows, size_t columns, struct error *e, const char *format, ...)
{
    FORMAT_NAME(name, format);
    const struct tensor *t = find_shaped(d, name, columns, rows, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data, .type = t->type, .groups = 1, .rows = rows, .columns = columns, .row_stride = 1, .column_stride = rows};
    return 0;
}

int family_vector(view *out, const struct decoder *d, size_t size, struct error *e, const char *format, ...)
{
    FORMAT_NAME(name, format);
    return vector_named(out, d, size, name, e);
}

int family_linear(struct linear *out, const struct decoder *d, size_t rows, size_t columns, int with_bias, struct error *e, const char *format, ...)
{
    FORMAT_NAME(stem, format);
    char name[NAME_MAX_LENGTH + 8];
    *out = (struct linear){0};
    snprintf(name, sizeof name, "%s.weight", stem);
    if (matrix_named(&out->weight, d, rows, columns, name, e))
        return -1;
    if (!with_bias)
        return 0;
    snprintf(name, sizeof name, "%s.bias", stem);
    return vector_named(&out->bias, d, rows, name, e);
}

int family_norm(struct norm_view *out, const struct decoder *d, enum norm_kind kind, double epsilon, int with_shift, struct error *e, const char *format,
                ...)
{
    FORMAT_NAME(stem, format);
    char name[NAME_MAX_LENGTH + 8];
    *out = (struct norm_view){.kind = kind, .epsilon = epsilon};
    snprintf(name, sizeof name, "%s.weight", stem);
    if (vector_named(&out->scale, d, (size_t)d->hidden, name, e))
        return -1;
    if (!with_shift)
        return 0;
    snprintf(name, sizeof name, "%s.bias", stem);
    return vector_named(&out->shift, d, (size_t)d->hidden, name, e);
}

/* `elements` further into the view's data. */
static view view_shift(view v, size_t elements)
{
    v.data = (const char *)v.data + elements * element_size(v.type);
    return v;
}

view view_rows(view v, size_t first, size_t count)
{
    v = view_shift(v, first * v.row_stride);
    v.rows = count;
    return v;
}

view view_interleaved(view v, size_t groups, size_t parts, size_t which, size_t size)
{
    v = view_shift(v, which * size * v.row_stride);
    v.groups = groups;
    v.rows = size;
    v.group_stride = parts * size * v.row_stride;
    return v;
}

int family_activation(enum activation *out, const struct decoder *d, const char *key, const char *fallback, struct error *e)
{
    /* gelu_fast writes sqrt(2/pi) with ten digits: the difference is below a float's last place. */
    static const struct {
        const char *name;
        enum activation kind;
    } known[] = {{"gelu", ACTIVATION_GELU},
                 {"gelu_new", ACTIVATION_GELU_TANH},
                 {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
                 {"quick_gelu", ACTIVATION_QUICK_GELU},
                 {"relu", ACTIVATION_RELU},
                 {"silu", ACTIVATION_SILU},
                 {"swish", ACTIVATION_SILU}};
    const char *name;
    if (config_string_or(d->config, key, fallback, &name, e))
        return -1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = known[i].kind;
            return 0;
        }
    return fail(e, "%s: %s '%s' is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu, silu)", config_path(d->config), key,
                name);
}

int family_bos(struct decoder *d, const char *key, struct error *e)
{
    long bos;
    if (config_int_or(d->config, key, 0, 1 << 30, -1, &bos, e))
        return -1;
    d->bos = bos < d->vocabulary ? (int)bos : -1;
    return 0;
}

struct formula *family_formula(struct decoder *d, const char *text, struct error *e)
{
    struct formula_error problem;
    struct formula *f = formula_parse(text, &problem);
    if (!f) {
        fail(e, "%s: formula '%s', character %zu: %s", d->path, text, problem.at + 1, problem.message);
        return NULL;
    }
    struct formula **grown = realloc(d->formulas, (size_t)(d->formula_count + 1) * sizeof *grown);
    if (!grown) {
        formula_free(f);
        fail_memory(e, sizeof *grown, "formula table");
        return NULL;
    }
    d->formulas = grown;
    d->formulas[d->formula_count++] = f;
    return f;
}
