/* Shared by all sets, whatever their element type and device: the structs of the handles in ops.h,
 * kept errors, views of stored weights, copies of attention tables.
 *
 * A set with its own form of something keeps it in `fast`, and frees it itself. So a fast set in
 * ordinary memory can start from the reference's entries, override some, and call the others from
 * its own, as long as the common fields are filled. */
#ifndef REACH_KERNELS_SHARED_H
#define REACH_KERNELS_SHARED_H

#include "kernels/ops.h"

/* Memory of a set: `count` elements of role_size[role] bytes, in ordinary memory aligned to 64
 * bytes. ROLE_INDEX holds int32_t.
 */
struct buffer {
    void *data;
    void *owned; /* freed with the buffer: data, unless aimed at another's */
    size_t count;
    enum buffer_role role;
};

/* A parameter tensor [rows, columns]. */
struct weight {
    enum weight_use use;
    size_t rows, columns;
    const void *data; /* dense [rows, columns] of the set's type; NULL for a table read in place */
    void *owned; /* freed by weight_free; NULL when data is in the caller's file */
    struct weight_part *parts; /* table: owned copy of the views */
    void *fast;
};

/* One kind of attention layer; the tables in `shape` are copies that `tables` owns. */
struct attention {
    struct attention_shape shape;
    double *tables;
    void *fast;
};

/* What k->state points to. */
struct kernels_state {
    int failed;
    struct error first; /* the first error since synchronize last reported */
    void *fast;
};

/* -- a set's table and its kept error -- */

/* A zeroed table with its state; NULL on failure. Freed by kernels_release. */
struct kernels *kernels_allocate(struct error *e) MUST_USE;
/* Frees the table and its state (not state->fast); NULL is allowed. The reference's `close`. */
void kernels_release(struct kernels *k);
/* Keeps the message for the next create, load or synchronize unless one is already kept. Callable
 * from any thread. Returns -1. */
int kernels_keep_error(struct kernels *k, const char *format, ...) PRINTF_LIKE(2, 3);
/* Returns the kept error (-1) and clears it, or returns 0. */
int kernels_take_error(struct kernels *k, struct error *e) MUST_USE;

/* A buffer in memory from `allocate`, which free() takes back; NULL on failure. */
struct buffer *kernels_buffer(struct kernels *k, enum buffer_role role, size_t count,
                              void *(*allocate)(size_t bytes), struct error *e) MUST_USE;

/* -- views of stored weights -- */

/* Rows (sum of groups * rows) and columns of stacked parts; -1 with *e when parts disagree in
 * columns, are empty or overflow. */
int weight_parts_size(size_t *rows, size_t *columns, const struct weight_part *parts,
                      int part_count, struct error *e) MUST_USE;
/* Elements [column, column + count) of row `row` of stacked parts, multiplied by its factor, with
 * the offset added in double, to float or double. The range must be inside. */
void weight_parts_read_f32(float *out, const struct weight_part *parts, size_t row, size_t column,
                           size_t count);
void weight_parts_read_f64(double *out, const struct weight_part *parts, size_t row, size_t column,
                           size_t count);
/* 1 if the parts are one dense matrix of `type` (no gaps, factors, offset), aligned, so usable. */
int weight_parts_dense(const struct weight_part *parts, int part_count, enum element type);

/* -- attention -- */

/* Checks the shape and copies it with its tables; NULL on failure. Freed by attention_release (not
 * a->fast; NULL is allowed). */
struct attention *attention_copy(const struct attention_shape *shape, struct error *e) MUST_USE;
void attention_release(struct attention *a);

#endif
