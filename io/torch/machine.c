#include "io/torch/machine.h"

#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MAX = 1 << 21,
    ITEMS_MAX = 1 << 23, /* in all containers: a list that is copied repeatedly counts each time */
    STACK_MAX = 1 << 20,
    GLOBAL_BYTES_MAX = 512,
    CHUNK_VALUES = 1024
};

struct chunk {
    struct chunk *next;
    size_t count;
    struct pickle_value values[CHUNK_VALUES];
};

int machine_broken(const struct machine *m, const char *what)
{
    return fail(m->e, "%s: %s is damaged, or is not that of a state dict: %s (byte %zu)", m->path,
                m->what, what, m->opcode_at);
}

/* -- memory -- */

void *machine_grow(void *array, size_t count, size_t *capacity, struct error *e)
{
    if (count < *capacity)
        return array;
    size_t more = *capacity ? 2 * *capacity : 4;
    void *grown = realloc(array, more * sizeof(void *));
    if (grown)
        *capacity = more;
    else
        fail_memory(e, (double)more * sizeof(void *), "a pickle's values");
    return grown;
}

struct pickle_value *machine_value(struct machine *m, enum pickle_kind kind)
{
    struct chunk *c = m->out->chunks;
    if (m->value_count >= VALUES_MAX) {
        fail(m->e, "%s: %s holds more than %d values", m->path, m->what, VALUES_MAX);
        return NULL;
    }
    if (!c || c->count == CHUNK_VALUES) {
        c = malloc(sizeof *c);
        if (!c) {
            fail_memory(m->e, sizeof *c, "a pickle's values");
            return NULL;
        }
        c->next = m->out->chunks;
        c->count = 0;
        m->out->chunks = c;
    }
    m->value_count++;
    struct pickle_value *v = &c->values[c->count++];
    *v = (struct pickle_value){.kind = kind};
    return v;
}

int machine_count(struct machine *m, size_t count)
{
    if (count > ITEMS_MAX - m->item_count)
        return fail(m->e, "%s: %s holds more than %d items in its lists and dicts", m->path,
                    m->what, ITEMS_MAX);
    m->item_count += count;
    return 0;
}

int machine_add(struct machine *m, struct pickle_value *container, struct pickle_value *item)
{
    if (machine_count(m, 1))
        return -1;
    struct pickle_value **grown = machine_grow(container->items.item, container->items.count,
                                               &container->items.capacity, m->e);
    if (!grown)
        return -1;
    container->items.item = grown;
    container->items.item[container->items.count++] = item;
    return 0;
}

void pickle_close(struct pickle *p)
{
    for (struct chunk *c = p->chunks, *next; c; c = next) {
        next = c->next;
        for (size_t i = 0; i < c->count; i++) {
            enum pickle_kind kind = c->values[i].kind;
            if (kind == PICKLE_TUPLE || kind == PICKLE_LIST || kind == PICKLE_DICT)
                free(c->values[i].items.item);
        }
        free(c);
    }
    free(p->storages);
    *p = (struct pickle){0};
}

/* -- stack and memo -- */

int machine_push(struct machine *m, struct pickle_value *v)
{
    if (!v)
        return -1;
    if (m->depth >= STACK_MAX)
        return machine_broken(m, "its stack grows too large");
    struct pickle_value **grown = machine_grow(m->stack, m->depth, &m->stack_capacity, m->e);
    if (!grown)
        return -1;
    m->stack = grown;
    m->stack[m->depth++] = v;
    return 0;
}

int machine_push_new(struct machine *m, enum pickle_kind kind)
{
    return machine_push(m, machine_value(m, kind));
}

int machine_push_integer(struct machine *m, enum pickle_kind kind, int64_t integer)
{
    struct pickle_value *v = machine_value(m, kind);
    if (v)
        v->integer = integer;
    return machine_push(m, v);
}

size_t machine_available(const struct machine *m)
{
    return m->depth - (m->mark_count ? m->marks[m->mark_count - 1] : 0);
}

struct pickle_value *machine_pop(struct machine *m)
{
    if (machine_available(m) == 0) {
        machine_broken(m, "it takes a value from an empty stack");
        return NULL;
    }
    return m->stack[--m->depth];
}

int machine_pop_mark(struct machine *m, struct pickle_value ***items, size_t *count)
{
    if (m->mark_count == 0)
        return machine_broken(m, "it ends a list of values that was never begun");
    size_t first = m->marks[--m->mark_count];
    *items = m->stack + first;
    *count = m->depth - first;
    m->depth = first;
    return 0;
}

struct pickle_value *machine_top(struct machine *m)
{
    if (machine_available(m) == 0) {
        machine_broken(m, "it needs a value on an empty stack");
        return NULL;
    }
    return m->stack[m->depth - 1];
}

int machine_put(struct machine *m, uint32_t index)
{
    struct pickle_value *v = machine_top(m);
    if (!v)
        return -1;
    /* writers number from 0 on, each value once */
    if (index >= m->value_count)
        return machine_broken(m, "it remembers a value under a number that is too high");
    if (index >= m->memo_count) {
        size_t count = m->memo_count ? m->memo_count : 64;
        while (count <= index)
            count *= 2;
        struct pickle_value **grown = realloc(m->memo, count * sizeof *grown);
        if (!grown)
            return fail_memory(m->e, (double)count * sizeof *grown, "a pickle's memo");
        memset(grown + m->memo_count, 0, (count - m->memo_count) * sizeof *grown);
        m->memo = grown;
        m->memo_count = count;
    }
    m->memo[index] = v;
    return 0;
}

int machine_get(struct machine *m, uint32_t index)
{
    if (index >= m->memo_count || !m->memo[index])
        return machine_broken(m, "it recalls a value that was never remembered");
    return machine_push(m, m->memo[index]);
}

/* -- reading operands -- */

const unsigned char *machine_take(struct machine *m, size_t n)
{
    if (n > m->size - m->at) {
        fail(m->e, "%s: %s is cut off at byte %zu", m->path, m->what, m->size);
        return NULL;
    }
    m->at += n;
    return m->bytes + m->at - n;
}

uint32_t machine_little(const unsigned char *p, int n)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v |= (uint32_t)p[i] << 8 * i;
    return v;
}

int machine_read_text(struct machine *m, int size_bytes)
{
    const unsigned char *p = machine_take(m, (size_t)size_bytes);
    size_t size = p ? machine_little(p, size_bytes) : 0;
    const unsigned char *text = p ? machine_take(m, size) : NULL;
    struct pickle_value *v = text ? machine_value(m, PICKLE_TEXT) : NULL;
    if (v) {
        v->text.bytes = (const char *)text;
        v->text.size = size;
    }
    return machine_push(m, v);
}

int machine_read_real(struct machine *m)
{
    const unsigned char *p = machine_take(m, 8);
    struct pickle_value *v = p ? machine_value(m, PICKLE_REAL) : NULL;
    uint64_t bits = 0;
    for (int i = 0; p && i < 8; i++)
        bits = bits << 8 | p[i];
    if (v)
        memcpy(&v->real, &bits, sizeof bits);
    return machine_push(m, v);
}

int machine_read_long(struct machine *m)
{
    const unsigned char *p = machine_take(m, 1);
    size_t size = p ? *p : 0;
    const unsigned char *digits = p ? machine_take(m, size) : NULL;
    if (!digits)
        return -1;
    if (size > 8) {
        struct pickle_value *v = machine_value(m, PICKLE_LONG);
        if (v) {
            v->text.bytes = (const char *)digits;
            v->text.size = size;
        }
        return machine_push(m, v);
    }
    uint64_t value = size && digits[size - 1] & 0x80 ? UINT64_MAX : 0; /* extends the sign */
    for (size_t i = size; i-- > 0;)
        value = value << 8 | digits[i];
    return machine_push_integer(m, PICKLE_INTEGER, (int64_t)value);
}

/* A line of printable characters up to a newline. */
static const char *read_line(struct machine *m, uint32_t *length)
{
    const unsigned char *start = m->bytes + m->at, *end = memchr(start, '\n', m->size - m->at);
    if (!end) {
        fail(m->e, "%s: %s is cut off at byte %zu", m->path, m->what, m->size);
        return NULL;
    }
    if (end == start || end - start > GLOBAL_BYTES_MAX) {
        machine_broken(m, "the name of a global is empty or too long");
        return NULL;
    }
    for (const unsigned char *p = start; p < end; p++)
        if (*p <= ' ' || *p > '~') {
            machine_broken(m, "the name of a global is not a name");
            return NULL;
        }
    *length = (uint32_t)(end - start);
    m->at += *length + 1;
    return (const char *)start;
}

int machine_read_global(struct machine *m)
{
    struct pickle_value *v = machine_value(m, PICKLE_GLOBAL);
    if (!v || !(v->global.module = read_line(m, &v->global.module_size)) ||
        !(v->global.name = read_line(m, &v->global.name_size)))
        return -1;
    for (size_t i = 0; i < m->known_count && !v->global.known; i++)
        v->global.known = pickle_is_global(v, m->known[i].module, m->known[i].name);
    if (!v->global.known && !m->out->first_unknown)
        m->out->first_unknown = v;
    return machine_push(m, v);
}
