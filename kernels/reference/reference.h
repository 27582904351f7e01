/* Inside of the reference set, and what a set in ordinary memory can share with it: buffers, kept errors, copies of attention
 * tables.
 *
 * A fast CPU set starts with kernels_allocate and reference_fill_f32, then overrides entries. It may call the reference's entry
 * from its own (save the pointer first) as long as buffers, weights and attentions are the structs below with their common fields
 * filled. */
#ifndef REACH_KERNELS_REFERENCE_H
#define REACH_KERNELS_REFERENCE_H

#include "kernels/ops.h"

/* Memory of a set: `count` elements of role_size[role] bytes, aligned to 64 bytes. ROLE_INDEX holds int32_t. */
struct buffer {
    void *data;
    size_t count;
    enum buffer_role role;
};

/* A parameter tensor [rows, columns]. */
struct weight {
    enum weight_use use;
    size_t rows, columns;
    const void *data; /* dense [rows, columns] of the set's own element type; NULL for a table that is read where it lies */
    void *owned; /* what weight_free frees behind `data`; NULL when data lies in the caller's file */
    struct weight_part *parts; /* table: owned copy of the views */
    int part_count;
    void *fast; /* for a fast set's own form; the reference leaves it NULL and never frees it */
};

/* One kind of attention layer; the tables in `shape` are copies that `tables` owns. */
struct attention {
    struct attention_shape shape;
    double *tables;
    void *fast; /* for a fast set's own form; the reference leaves it NULL and never frees it */
};

/* What k->state points to. */
struct kernels_state {
    int failed;
    struct error first; /* the first thing that went wrong since synchronize last reported */
    void *fast; /* for a fast set; the reference leaves it NULL and never frees it */
};

/* -- independent of the element type: kernels/shared.c -- */

/* A zeroed table with its state; NULL on failure. Freed by kernels_release. */
struct kernels *kernels_allocate(struct error *e) MUST_USE;
/* Frees the table and its state (not state->fast); NULL is allowed. The reference's `close`. */
void kernels_release(struct kernels *k);
/* Keeps the message for the next create, load or synchronize unless one is kept already. Callable from any thread. Returns -1. */
int kernels_keep_error(struct kernels *k, const char *format, ...) PRINTF_LIKE(2, 3);
/* Hands the kept error over (-1) and forgets it, or returns 0. */
int kernels_take_error(struct kernels *k, struct error *e) MUST_USE;

/* Rows (sum of groups * rows) and columns of stacked parts; -1 with *e when parts disagree in columns, are empty or overflow. */
int weight_parts_size(size_t *rows, size_t *columns, const struct weight_part *parts, int part_count, struct error *e) MUST_USE;
/* Elements [column, column + count) of row `row` of stacked parts, offset added in double, into float or double. The range lies
 * inside. */
void weight_parts_read_f32(float *out, const struct weight_part *parts, size_t row, size_t column, size_t count);
void weight_parts_read_f64(double *out, const struct weight_part *parts, size_t row, size_t column, size_t count);
/* 1 when the parts are one dense matrix of `type` (no gaps, no offset), aligned for it, and so usable where it lies. */
int weight_parts_dense(const struct weight_part *parts, int part_count, enum element type);

/* Checks the shape and copies it with its tables; NULL on failure. Freed by attention_release (not a->fast; NULL is allowed). */
struct attention *attention_copy(const struct attention_shape *shape, struct error *e) MUST_USE;
void attention_release(struct attention *a);

/* -- the files of the reference set, compiled once with float and once with double as `real` -- */
#if defined(REFERENCE_F32)
typedef float real;
#define REFERENCE_DTYPE "f32"
#define REFERENCE_ELEMENT ELEMENT_F32
#define weight_parts_read weight_parts_read_f32
#define reference_fill reference_fill_f32
#define fill_memory fill_memory_f32
#define fill_weight fill_weight_f32
#define fill_rows fill_rows_f32
#define fill_linear fill_linear_f32
#define fill_norm fill_norm_f32
#define fill_activation fill_activation_f32
#define fill_attention fill_attention_f32
#define fill_head fill_head_f32
#elif defined(REFERENCE_F64)
typedef double real;
#define REFERENCE_DTYPE "f64"
#define REFERENCE_ELEMENT ELEMENT_F64
#define weight_parts_read weight_parts_read_f64
#define reference_fill reference_fill_f64
#define fill_memory fill_memory_f64
#define fill_weight fill_weight_f64
#define fill_rows fill_rows_f64
#define fill_linear fill_linear_f64
#define fill_norm fill_norm_f64
#define fill_activation fill_activation_f64
#define fill_attention fill_attention_f64
#define fill_head fill_head_f64
#endif

#if defined(REFERENCE_F32) || defined(REFERENCE_F64)
/* Each fills the entries of struct kernels that its file defines. */
void fill_memory(struct kernels *k); /* create .. scratch_bytes, copy, add, tail, tail_reverse, join */
void fill_weight(struct kernels *k); /* weight_load, weight_free, weight_bytes */
void fill_rows(struct kernels *k); /* embed, rotate, clip, clip_reverse, row_norms */
void fill_linear(struct kernels *k); /* linear, linear_reverse */
void fill_norm(struct kernels *k); /* norm, norm_reverse, norm_heads, norm_heads_reverse */
void fill_activation(struct kernels *k); /* activate, activate_reverse */
void fill_attention(struct kernels *k); /* attention_create, attention_free, attention, attention_reverse, attention_mass */
void fill_head(struct kernels *k); /* head, head_rows */
#endif

#endif
