#include "io/torch/pickle.h"

#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MAX = 1 << 21,
    ITEMS_MAX = 1 << 23, /* in all containers: a list that is copied repeatedly counts each time */
    STACK_MAX = 1 << 20,
    MARKS_MAX = 256, /* nesting of open containers */
    GLOBAL_BYTES_MAX = 512,
    CHUNK_VALUES = 1024
};

enum opcode {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_BINFLOAT = 'G',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_NONE = 'N',
    OP_BINPERSID = 'Q',
    OP_REDUCE = 'R',
    OP_SHORT_BINSTRING = 'U',
    OP_BINUNICODE = 'X',
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_BUILD = 'b',
    OP_GLOBAL = 'c',
    OP_APPENDS = 'e',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_TUPLE = 't',
    OP_SETITEMS = 'u',
    OP_EMPTY_DICT = '}',
    OP_EMPTY_TUPLE = ')',
    OP_PROTO = 0x80,
    OP_NEWOBJ = 0x81,
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_EMPTY_SET = 0x8f
};

struct chunk {
    struct chunk *next;
    size_t count;
    struct pickle_value values[CHUNK_VALUES];
};

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

static int broken(const struct machine *m, const char *what)
{
    return fail(m->e, "%s: %s is damaged, or is not that of a state dict: %s (byte %zu)", m->path,
                m->what, what, m->opcode_at);
}

/* -- memory -- */

/* The array of pointers, grown if needed to hold one more. On failure NULL, and unchanged. */
static void *grow(void *array, size_t count, size_t *capacity, struct error *e)
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

static struct pickle_value *new_value(struct machine *m, enum pickle_kind kind)
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

/* Counts items put into containers; otherwise small files could make any number of them. */
static int count_items(struct machine *m, size_t count)
{
    if (count > ITEMS_MAX - m->item_count)
        return fail(m->e, "%s: %s holds more than %d items in its lists and dicts", m->path,
                    m->what, ITEMS_MAX);
    m->item_count += count;
    return 0;
}

static int add_item(struct machine *m, struct pickle_value *container, struct pickle_value *item)
{
    if (count_items(m, 1))
        return -1;
    struct pickle_value **grown = grow(container->items.item, container->items.count,
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

static int push(struct machine *m, struct pickle_value *v)
{
    if (!v)
        return -1;
    if (m->depth >= STACK_MAX)
        return broken(m, "its stack grows too large");
    struct pickle_value **grown = grow(m->stack, m->depth, &m->stack_capacity, m->e);
    if (!grown)
        return -1;
    m->stack = grown;
    m->stack[m->depth++] = v;
    return 0;
}

static int push_new(struct machine *m, enum pickle_kind kind)
{
    return push(m, new_value(m, kind));
}

static int push_integer(struct machine *m, enum pickle_kind kind, int64_t integer)
{
    struct pickle_value *v = new_value(m, kind);
    if (v)
        v->integer = integer;
    return push(m, v);
}

/* Values above the last mark. */
static size_t available(const struct machine *m)
{
    return m->depth - (m->mark_count ? m->marks[m->mark_count - 1] : 0);
}

static struct pickle_value *pop(struct machine *m)
{
    if (available(m) == 0) {
        broken(m, "it takes a value from an empty stack");
        return NULL;
    }
    return m->stack[--m->depth];
}

/* Removes values above the last mark from the stack: *items of *count, valid until a push. */
static int pop_mark(struct machine *m, struct pickle_value ***items, size_t *count)
{
    if (m->mark_count == 0)
        return broken(m, "it ends a list of values that was never begun");
    size_t first = m->marks[--m->mark_count];
    *items = m->stack + first;
    *count = m->depth - first;
    m->depth = first;
    return 0;
}

static struct pickle_value *top(struct machine *m)
{
    if (available(m) == 0) {
        broken(m, "it needs a value on an empty stack");
        return NULL;
    }
    return m->stack[m->depth - 1];
}

static int memo_put(struct machine *m, uint32_t index)
{
    struct pickle_value *v = top(m);
    if (!v)
        return -1;
    /* writers number from 0 on, each value once */
    if (index >= m->value_count)
        return broken(m, "it remembers a value under a number that is too high");
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

static int memo_get(struct machine *m, uint32_t index)
{
    if (index >= m->memo_count || !m->memo[index])
        return broken(m, "it recalls a value that was never remembered");
    return push(m, m->memo[index]);
}

/* -- reading operands -- */

/* The next n bytes, or NULL at the end of the pickle. */
static const unsigned char *take(struct machine *m, size_t n)
{
    if (n > m->size - m->at) {
        fail(m->e, "%s: %s is cut off at byte %zu", m->path, m->what, m->size);
        return NULL;
    }
    m->at += n;
    return m->bytes + m->at - n;
}

static uint32_t little(const unsigned char *p, int n)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v |= (uint32_t)p[i] << 8 * i;
    return v;
}

static int read_text(struct machine *m, int size_bytes)
{
    const unsigned char *p = take(m, (size_t)size_bytes);
    size_t size = p ? little(p, size_bytes) : 0;
    const unsigned char *text = p ? take(m, size) : NULL;
    struct pickle_value *v = text ? new_value(m, PICKLE_TEXT) : NULL;
    if (v) {
        v->text.bytes = (const char *)text;
        v->text.size = size;
    }
    return push(m, v);
}

static int read_real(struct machine *m)
{
    const unsigned char *p = take(m, 8);
    struct pickle_value *v = p ? new_value(m, PICKLE_REAL) : NULL;
    uint64_t bits = 0;
    for (int i = 0; p && i < 8; i++)
        bits = bits << 8 | p[i];
    if (v)
        memcpy(&v->real, &bits, sizeof bits);
    return push(m, v);
}

static int read_long(struct machine *m)
{
    const unsigned char *p = take(m, 1);
    size_t size = p ? *p : 0;
    const unsigned char *digits = p ? take(m, size) : NULL;
    if (!digits)
        return -1;
    if (size > 8) {
        struct pickle_value *v = new_value(m, PICKLE_LONG);
        if (v) {
            v->text.bytes = (const char *)digits;
            v->text.size = size;
        }
        return push(m, v);
    }
    uint64_t value = size && digits[size - 1] & 0x80 ? UINT64_MAX : 0; /* extends the sign */
    for (size_t i = size; i-- > 0;)
        value = value << 8 | digits[i];
    return push_integer(m, PICKLE_INTEGER, (int64_t)value);
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
        broken(m, "the name of a global is empty or too long");
        return NULL;
    }
    for (const unsigned char *p = start; p < end; p++)
        if (*p <= ' ' || *p > '~') {
            broken(m, "the name of a global is not a name");
            return NULL;
        }
    *length = (uint32_t)(end - start);
    m->at += *length + 1;
    return (const char *)start;
}

static int read_global(struct machine *m)
{
    struct pickle_value *v = new_value(m, PICKLE_GLOBAL);
    if (!v || !(v->global.module = read_line(m, &v->global.module_size)) ||
        !(v->global.name = read_line(m, &v->global.name_size)))
        return -1;
    for (size_t i = 0; i < m->known_count && !v->global.known; i++)
        v->global.known = pickle_is_global(v, m->known[i].module, m->known[i].name);
    if (!v->global.known && !m->out->first_unknown)
        m->out->first_unknown = v;
    return push(m, v);
}

/* -- building -- */

static int make_tuple(struct machine *m, struct pickle_value **items, size_t count)
{
    struct pickle_value *v = new_value(m, PICKLE_TUPLE);
    if (!v || count_items(m, count))
        return -1;
    if (count && !(v->items.item = malloc(count * sizeof *items)))
        return fail_memory(m->e, (double)count * sizeof *items, "a pickle's values");
    if (count)
        memcpy(v->items.item, items, count * sizeof *items);
    v->items.count = v->items.capacity = count;
    return push(m, v);
}

static int make_short_tuple(struct machine *m, size_t count)
{
    if (available(m) < count)
        return broken(m, "it takes a value from an empty stack");
    m->depth -= count;
    return make_tuple(m, m->stack + m->depth, count);
}

static int make_marked_tuple(struct machine *m)
{
    struct pickle_value **items = NULL;
    size_t count = 0;
    return pop_mark(m, &items, &count) ? -1 : make_tuple(m, items, count);
}

static int is_opaque(const struct pickle_value *v)
{
    return v->kind == PICKLE_OBJECT && !v->object.callable->global.known;
}

/* `count` keys and values into the dict on top of the stack; dropped for an opaque object. */
static int set_items(struct machine *m, struct pickle_value **items, size_t count)
{
    struct pickle_value *dict = top(m);
    if (!dict)
        return -1;
    if (dict->kind != PICKLE_DICT && !is_opaque(dict))
        return broken(m, "it sets items of what is not a dict");
    if (count % 2)
        return broken(m, "a dict has a key without a value");
    for (size_t i = 0; i < count && dict->kind == PICKLE_DICT; i++)
        if (add_item(m, dict, items[i]))
            return -1;
    return 0;
}

static int append_items(struct machine *m, struct pickle_value **items, size_t count)
{
    struct pickle_value *list = top(m);
    if (!list)
        return -1;
    if (list->kind != PICKLE_LIST && !is_opaque(list))
        return broken(m, "it appends to what is not a list");
    for (size_t i = 0; i < count && list->kind == PICKLE_LIST; i++)
        if (add_item(m, list, items[i]))
            return -1;
    return 0;
}

static int add_marked(struct machine *m,
                      int (*add)(struct machine *, struct pickle_value **, size_t))
{
    struct pickle_value **items = NULL;
    size_t count = 0;
    return pop_mark(m, &items, &count) ? -1 : add(m, items, count);
}

static int add_single(struct machine *m, size_t count,
                      int (*add)(struct machine *, struct pickle_value **, size_t))
{
    if (available(m) < count)
        return broken(m, "it takes a value from an empty stack");
    m->depth -= count;
    return add(m, m->stack + m->depth, count);
}

/* OrderedDict() and, as Python 2 wrote it, OrderedDict([[key, value], ...]). */
static int make_ordered_dict(struct machine *m, const struct pickle_value *arguments)
{
    struct pickle_value *dict = new_value(m, PICKLE_DICT);
    const struct pickle_value *pairs = arguments->items.count ? arguments->items.item[0] : NULL;
    if (!dict)
        return -1;
    if (arguments->items.count > 1 || (pairs && pairs->kind != PICKLE_LIST))
        return broken(m, "an OrderedDict is made of something other than pairs");
    for (size_t i = 0; pairs && i < pairs->items.count; i++) {
        const struct pickle_value *pair = pairs->items.item[i];
        if ((pair->kind != PICKLE_LIST && pair->kind != PICKLE_TUPLE) || pair->items.count != 2)
            return broken(m, "an OrderedDict is made of something other than pairs");
        if (add_item(m, dict, pair->items.item[0]) || add_item(m, dict, pair->items.item[1]))
            return -1;
    }
    return push(m, dict);
}

/* The object that a call would make. */
static int make_object(struct machine *m)
{
    const struct pickle_value *arguments = pop(m), *callable = arguments ? pop(m) : NULL;
    if (!callable)
        return -1;
    if (callable->kind != PICKLE_GLOBAL)
        return broken(m, "it calls what is not a global");
    if (arguments->kind != PICKLE_TUPLE)
        return broken(m, "it calls with arguments that are not a tuple");
    if (pickle_is_global(callable, "collections", "OrderedDict"))
        return make_ordered_dict(m, arguments);
    struct pickle_value *v = new_value(m, PICKLE_OBJECT);
    if (v) {
        v->object.callable = callable;
        v->object.arguments = arguments;
    }
    return push(m, v);
}

/* An object's state: for a dict, attributes without tensors (`_metadata`), read and ignored. */
static int build(struct machine *m)
{
    struct pickle_value *state = pop(m), *v = state ? top(m) : NULL;
    if (!v)
        return -1;
    if (v->kind == PICKLE_OBJECT)
        v->object.state = state;
    else if (v->kind != PICKLE_DICT || state->kind != PICKLE_DICT)
        return broken(m, "it gives a state to what has none");
    return 0;
}

static int make_storage(struct machine *m)
{
    const struct pickle_value *id = pop(m);
    struct pickle *out = m->out;
    if (!id)
        return -1;
    if (id->kind != PICKLE_TUPLE || id->items.count < 5 ||
        !pickle_is_text(id->items.item[0], "storage"))
        return broken(m, "a persistent id is not that of a storage");
    struct pickle_value *v = new_value(m, PICKLE_STORAGE);
    const struct pickle_value **grown =
        v ? grow(out->storages, out->storage_count, &out->storage_capacity, m->e) : NULL;
    if (!grown)
        return -1;
    v->id = id;
    out->storages = grown;
    out->storages[out->storage_count++] = v;
    return push(m, v);
}

static int mark(struct machine *m)
{
    if (m->mark_count == MARKS_MAX)
        return broken(m, "it is nested too deeply");
    m->marks[m->mark_count++] = m->depth;
    return 0;
}

/* -- running -- */

/* Opcodes with an operand of 1, 2 or 4 bytes. */
static int step_number(struct machine *m, unsigned char opcode)
{
    int n = opcode == OP_BININT2                                                          ? 2
            : opcode == OP_BININT || opcode == OP_LONG_BINPUT || opcode == OP_LONG_BINGET ? 4
                                                                                          : 1;
    const unsigned char *p = take(m, (size_t)n);
    if (!p)
        return -1;
    uint32_t number = little(p, n);
    switch (opcode) {
    case OP_PROTO:
        return number == 2
                   ? 0
                   : fail(m->e,
                          "%s: %s is of pickle protocol %u (expected 2, as torch.save writes)",
                          m->path, m->what, number);
    case OP_BININT: return push_integer(m, PICKLE_INTEGER, (int32_t)number);
    case OP_BININT1:
    case OP_BININT2: return push_integer(m, PICKLE_INTEGER, number);
    case OP_BINPUT:
    case OP_LONG_BINPUT: return memo_put(m, number);
    default: return memo_get(m, number);
    }
}

static int step(struct machine *m, unsigned char opcode)
{
    switch (opcode) {
    case OP_PROTO:
    case OP_BININT:
    case OP_BININT1:
    case OP_BININT2:
    case OP_BINPUT:
    case OP_LONG_BINPUT:
    case OP_BINGET:
    case OP_LONG_BINGET: return step_number(m, opcode);
    case OP_NONE: return push_new(m, PICKLE_NONE);
    case OP_NEWTRUE: return push_integer(m, PICKLE_BOOL, 1);
    case OP_NEWFALSE: return push_integer(m, PICKLE_BOOL, 0);
    case OP_BINFLOAT: return read_real(m);
    case OP_LONG1: return read_long(m);
    case OP_BINUNICODE: return read_text(m, 4);
    case OP_SHORT_BINSTRING: return read_text(m, 1);
    case OP_GLOBAL: return read_global(m);
    case OP_MARK: return mark(m);
    case OP_EMPTY_TUPLE: return push_new(m, PICKLE_TUPLE);
    case OP_EMPTY_LIST: return push_new(m, PICKLE_LIST);
    case OP_EMPTY_DICT: return push_new(m, PICKLE_DICT);
    case OP_EMPTY_SET: return push_new(m, PICKLE_SET);
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3: return make_short_tuple(m, opcode - OP_TUPLE1 + 1u);
    case OP_TUPLE: return make_marked_tuple(m);
    case OP_APPEND: return add_single(m, 1, append_items);
    case OP_APPENDS: return add_marked(m, append_items);
    case OP_SETITEM: return add_single(m, 2, set_items);
    case OP_SETITEMS: return add_marked(m, set_items);
    case OP_REDUCE:
    case OP_NEWOBJ: return make_object(m);
    case OP_BUILD: return build(m);
    case OP_BINPERSID: return make_storage(m);
    default:
        return fail(m->e,
                    "%s: %s holds the opcode 0x%02x at byte %zu, which no state dict needs "
                    "(nothing in a pickle is ever run)",
                    m->path, m->what, opcode, m->opcode_at);
    }
}

static int run(struct machine *m)
{
    for (;;) {
        m->opcode_at = m->at;
        const unsigned char *opcode = take(m, 1);
        if (!opcode)
            return -1;
        if (m->opcode_at == 0 && *opcode != OP_PROTO)
            return broken(m, "it does not begin with its protocol");
        if (*opcode == OP_STOP)
            break;
        if (step(m, *opcode))
            return -1;
    }
    if (m->depth != 1 || m->mark_count)
        return broken(m, "it does not end with one value");
    m->out->root = m->stack[0];
    m->out->used = m->at;
    return 0;
}

int pickle_load_memory(struct pickle *out, const char *path, const char *what,
                       const unsigned char *bytes, size_t size, const struct pickle_global *known,
                       size_t known_count, struct error *e)
{
    *out = (struct pickle){0};
    struct machine m = {.path = path,
                        .what = what,
                        .bytes = bytes,
                        .size = size < PICKLE_BYTES_MAX ? size : PICKLE_BYTES_MAX,
                        .known = known,
                        .known_count = known_count,
                        .out = out,
                        .e = e};
    m.stack = grow(NULL, 0, &m.stack_capacity, e);
    int result = m.stack ? run(&m) : -1;
    free(m.stack);
    free(m.memo);
    if (result)
        pickle_close(out);
    return result;
}
