/* Helpers shared by family files: stored tensors as views, under their names. */
#include "model/family.h"

#include "io/system/memory.h"
#include "kernels/shared.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 256 };

const char *family_prefix(const struct decoder *d, const char *prefix, const char *name)
{
    char full[NAME_MAX_LENGTH];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    if (tensors_find(d->tensors, full))
        return prefix;
    for (size_t i = 0; i < tensors_count(d->tensors) && !tensors_find(d->tensors, name); i++)
        if (strncmp(tensors_at(d->tensors, i)->name, prefix, strlen(prefix)) == 0)
            return prefix;
    return "";
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

#define FORMAT_NAME(name, format) \
    char name[NAME_MAX_LENGTH]; \
    do { \
        va_list arguments; \
        va_start(arguments, format); \
        vsnprintf(name, sizeof name, format, arguments); \
        va_end(arguments); \
    } while (0)

static size_t matrix_extent(const struct decoder *d, const char *name, int axis)
{
    const struct tensor *t = tensors_find(d->tensors, name);
    return t && t->rank == 2 && t->shape[axis] <= 1 << 26 ? t->shape[axis] : 0;
}

size_t family_rows(const struct decoder *d, const char *format, ...)
{
    FORMAT_NAME(name, format);
    return matrix_extent(d, name, 0);
}

size_t family_columns(const struct decoder *d, const char *format, ...)
{
    FORMAT_NAME(name, format);
    return matrix_extent(d, name, 1);
}

static void shape_text(char text[128], const size_t *shape, int rank)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < rank && at < 128; i++)
        at += (size_t)snprintf(text + at, 128 - at, "%s%zu", i ? ", " : "", shape[i]);
}

static int fail_missing(const struct decoder *d, const char *name, struct error *e)
{
    int some = tensors_count(d->tensors) > 0;
    if (tensors_supposed(d->tensors))
        return fail(
            e,
            "%s: the numbers of tensor '%s' are needed (expected the checkpoint itself, or a "
            "model that its configuration describes alone)",
            d->path, name);
    return fail(e, "%s: tensor '%s' is missing (family %s; the first tensor there is %s%.200s%s)",
                d->path, name, d->family, some ? "'" : "",
                some ? tensors_at(d->tensors, 0)->name : "none", some ? "'" : "");
}

/* The tensor `name` of exactly this shape. */
static struct tensor *find_shaped(const struct decoder *d, const char *name, const size_t *shape,
                                  int rank, struct error *e)
{
    struct tensor *t = tensors_supposed(d->tensors)
                           ? tensors_suppose(d->tensors, name, rank, shape, e)
                           : tensors_find(d->tensors, name);
    if (!t && !tensors_supposed(d->tensors)) {
        const struct tensor *integer = tensors_find_any(d->tensors, name);
        if (integer)
            fail(e, "%s: tensor '%s' is stored as %s (expected F64, F32, F16 or BF16)", d->path,
                 name, integer->stored->name);
        else
            fail_missing(d, name, e);
    }
    if (!t)
        return NULL;
    t->used = 1;
    if (t->rank == rank && memcmp(t->shape, shape, (size_t)rank * sizeof *shape) == 0)
        return t;
    char found[128], expected[128];
    shape_text(found, t->shape, t->rank), shape_text(expected, shape, rank);
    fail(e, "%s: tensor '%s' has shape [%s] (expected [%s] from %s)", d->path, name, found,
         expected, config_name(d->config));
    return NULL;
}

static int matrix_named(view *out, const struct decoder *d, size_t rows, size_t columns,
                        const char *name, struct error *e)
{
    const struct tensor *t = find_shaped(d, name, (size_t[]){rows, columns}, 2, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data,
                  .type = t->type,
                  .groups = 1,
                  .rows = rows,
                  .columns = columns,
                  .row_stride = t->stride[0],
                  .column_stride = t->stride[1]};
    return 0;
}

static int vector_named(view *out, const struct decoder *d, size_t size, const char *name,
                        struct error *e)
{
    const struct tensor *t = find_shaped(d, name, &size, 1, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data,
                  .type = t->type,
                  .groups = 1,
                  .rows = size,
                  .columns = 1,
                  .row_stride = t->stride[0],
                  .column_stride = 1};
    return 0;
}

int family_matrix(view *out, const struct decoder *d, size_t rows, size_t columns, struct error *e,
                  const char *format, ...)
{
    FORMAT_NAME(name, format);
    return matrix_named(out, d, rows, columns, name, e);
}

int family_transposed(view *out, const struct decoder *d, size_t rows, size_t columns,
                      struct error *e, const char *format, ...)
{
    FORMAT_NAME(name, format);
    const struct tensor *t = find_shaped(d, name, (size_t[]){columns, rows}, 2, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data,
                  .type = t->type,
                  .groups = 1,
                  .rows = rows,
                  .columns = columns,
                  .row_stride = t->stride[1],
                  .column_stride = t->stride[0]};
    return 0;
}

int family_vector(view *out, const struct decoder *d, size_t size, struct error *e,
                  const char *format, ...)
{
    FORMAT_NAME(name, format);
    return vector_named(out, d, size, name, e);
}

int family_head_vector(view *out, const struct decoder *d, size_t heads, struct error *e,
                       const char *format, ...)
{
    FORMAT_NAME(name, format);
    const struct tensor *stored = tensors_find(d->tensors, name);
    if (!stored || stored->rank != 4)
        return vector_named(out, d, heads, name, e);
    const struct tensor *t = find_shaped(d, name, (size_t[]){1, 1, heads, 1}, 4, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data,
                  .type = t->type,
                  .groups = 1,
                  .rows = heads,
                  .columns = 1,
                  .row_stride = t->stride[2],
                  .column_stride = 1};
    return 0;
}

int family_taps(view *out, const struct decoder *d, size_t channels, size_t reach, struct error *e,
                const char *format, ...)
{
    FORMAT_NAME(name, format);
    const struct tensor *stored = tensors_find(d->tensors, name);
    int flat = stored && stored->rank == 2;
    const struct tensor *t = flat ? find_shaped(d, name, (size_t[]){channels, reach}, 2, e)
                                  : find_shaped(d, name, (size_t[]){channels, 1, reach}, 3, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data,
                  .type = t->type,
                  .groups = channels,
                  .rows = reach,
                  .columns = 1,
                  .group_stride = t->stride[0],
                  .row_stride = t->stride[flat ? 1 : 2],
                  .column_stride = 1};
    return 0;
}

int family_linear(struct linear *out, const struct decoder *d, size_t rows, size_t columns,
                  int with_bias, struct error *e, const char *format, ...)
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

/* STEM.PART as a vector of `width`; nothing if PART is NULL. */
static int part_of(view *out, const struct decoder *d, size_t width, const char *stem,
                   const char *part, struct error *e)
{
    char name[2 * NAME_MAX_LENGTH];
    if (!part)
        return 0;
    snprintf(name, sizeof name, "%s.%s", stem, part);
    return vector_named(out, d, width, name, e);
}

static int norm_named(struct norm_view *out, const struct decoder *d, struct norm_form form,
                      struct error *e, const char *stem)
{
    *out = (struct norm_view){.kind = form.kind, .epsilon = form.epsilon, .present = 1};
    return part_of(&out->scale, d, form.width, stem, form.scale, e) ||
                   part_of(&out->shift, d, form.width, stem, form.shift, e)
               ? -1
               : 0;
}

int family_norm(struct norm_view *out, const struct decoder *d, enum norm_kind kind, double epsilon,
                int with_shift, struct error *e, const char *format, ...)
{
    FORMAT_NAME(stem, format);
    struct norm_form form = {kind, epsilon, (size_t)d->hidden, "weight",
                             with_shift ? "bias" : NULL};
    return norm_named(out, d, form, e, stem);
}

int family_norm_named(struct norm_view *out, const struct decoder *d, struct norm_form form,
                      struct error *e, const char *format, ...)
{
    FORMAT_NAME(stem, format);
    return norm_named(out, d, form, e, stem);
}

int family_values(double *out, const struct decoder *d, size_t count, struct error *e,
                  const char *format, ...)
{
    FORMAT_NAME(name, format);
    struct tensor *t = tensors_find(d->tensors, name);
    if (!t)
        return fail_missing(d, name, e);
    t->used = 1;
    if (t->count != count)
        return fail(e, "%s: tensor '%s' has %zu elements (expected %zu from its configuration)",
                    d->path, name, t->count, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0, rest = i;
        for (int axis = t->rank - 1; axis >= 0; axis--) {
            at += rest % t->shape[axis] * t->stride[axis];
            rest /= t->shape[axis];
        }
        out[i] = element_read(t->data, t->type, at);
        if (!isfinite(out[i]))
            return fail(e, "%s: tensor '%s' holds %g (expected finite numbers)", d->path, name,
                        out[i]);
    }
    return 0;
}

int family_factors(double *out, const struct decoder *d, size_t count, struct error *e,
                   const char *format, ...)
{
    FORMAT_NAME(name, format);
    view unread;
    if (!tensors_supposed(d->tensors))
        return family_values(out, d, count, e, "%s", name);
    for (size_t i = 0; i < count; i++)
        out[i] = 1;
    return family_vector(&unread, d, count, e, "%s", name);
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

int family_xielu(struct block *b, const struct decoder *d, struct error *e, const char *format, ...)
{
    FORMAT_NAME(stem, format);
    double positive, negative;
    b->has_xielu = 1;
    b->xielu = (struct xielu){.linear = 0.5, .limit = -1e-6};
    if (family_values(&positive, d, 1, e, "%s.alpha_p", stem) ||
        family_values(&negative, d, 1, e, "%s.alpha_n", stem))
        return -1;
    int rest = family_has(d, "%s.beta", stem) && family_has(d, "%s.eps", stem);
    if (rest && (family_values(&b->xielu.linear, d, 1, e, "%s.beta", stem) ||
                 family_values(&b->xielu.limit, d, 1, e, "%s.eps", stem)))
        return -1;
    if (b->xielu.limit > 0)
        return fail(e, "%s: tensor '%s.eps' holds %g (expected a number up to 0)", d->path, stem,
                    b->xielu.limit);
    b->xielu.positive = softplus(positive);
    b->xielu.negative = b->xielu.linear + softplus(negative);
    return 0;
}

/* Compares numbers of any types; rows with equal bytes are not compared again. */
static int is_same_matrix(const view *a, const view *b)
{
    int plain = a->type == b->type && a->column_stride == 1 && b->column_stride == 1 &&
                !element_is_scaled(a->type);
    for (size_t r = 0; r < a->rows; r++) {
        size_t x = r * a->row_stride, y = r * b->row_stride;
        if (plain && memcmp((const char *)a->data + element_bytes(a->type, x),
                            (const char *)b->data + element_bytes(b->type, y),
                            element_bytes(a->type, a->columns)) == 0)
            continue;
        for (size_t c = 0; c < a->columns; c++)
            if (element_read(a->data, a->type, a->first + x + c * a->column_stride) !=
                element_read(b->data, b->type, b->first + y + c * b->column_stride))
                return 0;
    }
    return 1;
}

static int is_merged(const struct decoder *d, const view *v)
{
    for (size_t i = 0; v->data && i < tensors_count(d->tensors); i++)
        if (tensors_at(d->tensors, i)->merged && tensors_at(d->tensors, i)->data == v->data)
            return 1;
    return 0;
}

int family_refuse_tied(const struct decoder *d, struct error *e)
{
    if (!is_merged(d, &d->embedding) && !is_merged(d, &d->head.weight))
        return 0;
    return fail(e,
                "%s: the adapter changes the embedding or the head, which %s ties (expected an "
                "adapter that leaves them as they "
                "are, or a model that does not tie them)",
                config_path(d->adapter), d->path);
}

int family_embedding(struct decoder *d, size_t width, struct error *e, const char *head,
                     const char *format, ...)
{
    FORMAT_NAME(name, format);
    int by_head = d->tied && !tensors_find(d->tensors, name) && family_has(d, "%s.weight", head);
    if (by_head)
        snprintf(name, sizeof name, "%s.weight", head);
    return matrix_named(&d->embedding, d, (size_t)d->vocabulary, width, name, e);
}

int family_head(struct decoder *d, int with_bias, struct error *e, const char *stem)
{
    size_t width = d->embedding.columns, vocabulary = (size_t)d->vocabulary;
    if ((!d->tied || family_has(d, "%s.weight", stem)) &&
        family_matrix(&d->head.weight, d, vocabulary, width, e, "%s.weight", stem))
        return -1;
    if (with_bias && family_vector(&d->head.bias, d, vocabulary, e, "%s.bias", stem))
        return -1;
    if (d->tied && d->head.weight.data && !is_same_matrix(&d->head.weight, &d->embedding)) {
        if (d->adapter && family_refuse_tied(d, e))
            return -1;
        d->tied = 0;
        family_note(d,
                    "the stored %s.weight differs from the embedding and is used, although the "
                    "configuration ties the two",
                    stem);
    }
    return 0;
}

int family_normalise_head(struct decoder *d, struct error *e)
{
    view *head = &d->head.weight;
    size_t width = head->columns;
    double *factors = family_own(d, head->rows, e), *row = calloc(width, sizeof *row);
    if (factors && !row)
        fail_memory(e, 8.0 * (double)width, "a row of the head");
    for (size_t v = 0; factors && row && v < head->rows; v++) {
        double sum = 0;
        weight_parts_read_f64(row, head, v, 0, width);
        for (size_t c = 0; c < width; c++)
            sum += row[c] * row[c];
        factors[v] = 1 / fmax(sqrt(sum), 1e-12);
    }
    if (row)
        head->factors = factors;
    free(row);
    return head->factors ? 0 : -1;
}

double *family_own(struct decoder *d, size_t count, struct error *e)
{
    if (count > 1 << 20 && memory_check(count * sizeof(double), "a vector of parameters", e))
        return NULL;
    double **grown = realloc(d->vectors, (size_t)(d->vector_count + 1) * sizeof *grown),
           *vector = calloc(count, sizeof *vector);
    d->vectors = grown ? grown : d->vectors;
    if (!grown || !vector) {
        free(vector);
        fail_memory(e, 8.0 * (double)count, "a vector of parameters");
        return NULL;
    }
    d->vector_bytes += count * sizeof *vector;
    return d->vectors[d->vector_count++] = vector;
}

view family_own_view(const double *vector, size_t count)
{
    return (view){.data = vector,
                  .type = ELEMENT_F64,
                  .groups = 1,
                  .rows = count,
                  .columns = 1,
                  .row_stride = 1,
                  .column_stride = 1};
}

/* *v times a factor; without data: the factor, if absence means 1, else nothing. */
static int scale_vector(view *v, struct decoder *d, double factor, int absent, struct error *e)
{
    size_t count = v->data ? v->rows : 1;
    double *vector;
    if (!v->data && !absent)
        return 0;
    if (!(vector = family_own(d, count, e)))
        return -1;
    for (size_t i = 0; i < count; i++)
        vector[i] = factor * (v->data
                                  ? element_read(v->data, v->type, i * v->row_stride) + v->offset
                                  : absent);
    *v = family_own_view(vector, count);
    return 0;
}

int family_scale_logits(struct decoder *d, double factor, struct error *e)
{
    if (factor == 1)
        return 0;
    return scale_vector(&d->final_norm.scale, d, factor, 1, e) ||
                   scale_vector(&d->final_norm.shift, d, factor, 0, e)
               ? -1
               : 0;
}

static int multiply_view(view *v, struct decoder *d, double factor, struct error *e)
{
    double *factors;
    if (!v->data || factor == 1)
        return 0;
    if (!(factors = family_own(d, v->groups * v->rows, e)))
        return -1;
    for (size_t i = 0; i < v->groups * v->rows; i++)
        factors[i] = factor;
    v->factors = factors;
    return 0;
}

int family_multiply(struct linear *v, struct decoder *d, double weight, double bias,
                    struct error *e)
{
    return multiply_view(&v->weight, d, weight, e) || multiply_view(&v->bias, d, bias, e) ? -1 : 0;
}

void family_ignore(const struct decoder *d, const char *format, ...)
{
    FORMAT_NAME(name, format);
    struct tensor *t = tensors_find(d->tensors, name);
    if (t && !t->merged)
        t->used = 1;
}

/* All matrices of a stack, one after the other as groups of rows. */
static int stack_named(view *out, const struct decoder *d, struct stack stack, const char *name,
                       struct error *e)
{
    const int rows = stack.turned ? 2 : 1, columns = 3 - rows; /* axes */
    const size_t shape[] = {stack.count, stack.turned ? stack.columns : stack.rows,
                            stack.turned ? stack.rows : stack.columns};
    const struct tensor *t = find_shaped(d, name, shape, 3, e);
    if (!t)
        return -1;
    *out = (view){.data = t->data,
                  .type = t->type,
                  .groups = stack.count,
                  .rows = t->shape[rows],
                  .columns = t->shape[columns],
                  .group_stride = t->stride[0],
                  .row_stride = t->stride[rows],
                  .column_stride = t->stride[columns]};
    return 0;
}

int family_stacked(view *out, const struct decoder *d, struct stack stack, size_t index,
                   struct error *e, const char *format, ...)
{
    FORMAT_NAME(name, format);
    if (stack_named(out, d, stack, name, e))
        return -1;
    *out = view_shift(*out, index * out->group_stride);
    out->groups = 1, out->group_stride = 0;
    return 0;
}

int family_diagonal(view *out, const struct decoder *d, struct stack stack, struct error *e,
                    const char *format, ...)
{
    FORMAT_NAME(name, format);
    if (stack_named(out, d, stack, name, e))
        return -1;
    out->columns *= stack.count;
    out->diagonal = 1;
    return 0;
}
