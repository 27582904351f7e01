/* The machine that reads a pickle: its values, its stack and its memo, and the operands of opcodes.
 * Private to io/torch/pickle.c and machine.c. */
#ifndef REACH_IO_TORCH_MACHINE_H
#define REACH_IO_TORCH_MACHINE_H

#include "io/torch/pickle.h"

enum { MARKS_MAX = 256 /* nesting of open containers */ };

/* The machine while it runs. */
struct machine {
    const char *path, *what;
    const unsigned char *bytes;
    size_t size, at;
    size_t opcode_at; /* position of the current opcode, for messages */
    const struct pickle_global *known;
    size_t known_count;
    struct pickle *out;
    size_t value_count, item_count;
    struct pickle_value **stack;
    size_t depth, stack_capacity;
    size_t marks[MARKS_MAX]; /* depths of the stack */
    size_t mark_count;
    struct pickle_value **memo; /* NULL entries: never put */
    size_t memo_count;
    struct error *e;
};

/* The pickle is damaged in this way: -1. */
int machine_broken(const struct machine *m, const char *what);

/* -- values -- */

/* The array of pointers, grown if needed to hold one more. On failure NULL, and unchanged. */
void *machine_grow(void *array, size_t count, size_t *capacity, struct error *e) MUST_USE;
/* A new value, freed by pickle_close; NULL with the machine's error. */
struct pickle_value *machine_value(struct machine *m, enum pickle_kind kind) MUST_USE;
/* Counts items put into containers; otherwise small files could make any number of them. */
int machine_count(struct machine *m, size_t count) MUST_USE;
int machine_add(struct machine *m, struct pickle_value *container,
                struct pickle_value *item) MUST_USE;

/* -- stack and memo -- */

/* NULL is a value that could not be made: -1. */
int machine_push(struct machine *m, struct pickle_value *v) MUST_USE;
int machine_push_new(struct machine *m, enum pickle_kind kind) MUST_USE;
int machine_push_integer(struct machine *m, enum pickle_kind kind, int64_t integer) MUST_USE;
/* Values above the last mark. */
size_t machine_available(const struct machine *m);
/* NULL with the machine's error if nothing is above the last mark. */
struct pickle_value *machine_pop(struct machine *m) MUST_USE;
struct pickle_value *machine_top(struct machine *m) MUST_USE;
/* Removes values above the last mark from the stack: *items of *count, valid until a push. */
int machine_pop_mark(struct machine *m, struct pickle_value ***items, size_t *count) MUST_USE;
int machine_put(struct machine *m, uint32_t index) MUST_USE;
int machine_get(struct machine *m, uint32_t index) MUST_USE;

/* -- operands: machine_read_ pushes what it reads -- */

/* The next n bytes, or NULL at the end of the pickle. */
const unsigned char *machine_take(struct machine *m, size_t n) MUST_USE;
/* Of n bytes, at most 4, the lowest first. */
uint32_t machine_little(const unsigned char *p, int n);
int machine_read_text(struct machine *m, int size_bytes) MUST_USE;
int machine_read_real(struct machine *m) MUST_USE;
int machine_read_long(struct machine *m) MUST_USE;
int machine_read_global(struct machine *m) MUST_USE;

#endif
