#include "io/torch/machine.h"

#include <stdlib.h>
#include <string.h>

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

static int make_tuple(struct machine *m, struct pickle_value **items, size_t count)
{
    struct pickle_value *v = machine_value(m, PICKLE_TUPLE);
    if (!v || machine_count(m, count))
        return -1;
    if (count && !(v->items.item = malloc(count * sizeof *items)))
        return fail_memory(m->e, (double)count * sizeof *items, "a pickle's values");
    if (count)
        memcpy(v->items.item, items, count * sizeof *items);
    v->items.count = v->items.capacity = count;
    return machine_push(m, v);
}

static int make_short_tuple(struct machine *m, size_t count)
{
    if (machine_available(m) < count)
        return machine_broken(m, "it takes a value from an empty stack");
    m->depth -= count;
    return make_tuple(m, m->stack + m->depth, count);
}

static int make_marked_tuple(struct machine *m)
{
    struct pickle_value **items = NULL;
    size_t count = 0;
    return machine_pop_mark(m, &items, &count) ? -1 : make_tuple(m, items, count);
}

static int is_opaque(const struct pickle_value *v)
{
    return v->kind == PICKLE_OBJECT && !v->object.callable->global.known;
}

/* `count` keys and values into the dict on top of the stack; dropped for an opaque object. */
static int set_items(struct machine *m, struct pickle_value **items, size_t count)
{
    struct pickle_value *dict = machine_top(m);
    if (!dict)
        return -1;
    if (dict->kind != PICKLE_DICT && !is_opaque(dict))
        return machine_broken(m, "it sets items of what is not a dict");
    if (count % 2)
        return machine_broken(m, "a dict has a key without a value");
    for (size_t i = 0; i < count && dict->kind == PICKLE_DICT; i++)
        if (machine_add(m, dict, items[i]))
            return -1;
    return 0;
}

static int append_items(struct machine *m, struct pickle_value **items, size_t count)
{
    struct pickle_value *list = machine_top(m);
    if (!list)
        return -1;
    if (list->kind != PICKLE_LIST && !is_opaque(list))
        return machine_broken(m, "it appends to what is not a list");
    for (size_t i = 0; i < count && list->kind == PICKLE_LIST; i++)
        if (machine_add(m, list, items[i]))
            return -1;
    return 0;
}

static int add_marked(struct machine *m,
                      int (*add)(struct machine *, struct pickle_value **, size_t))
{
    struct pickle_value **items = NULL;
    size_t count = 0;
    return machine_pop_mark(m, &items, &count) ? -1 : add(m, items, count);
}

static int add_single(struct machine *m, size_t count,
                      int (*add)(struct machine *, struct pickle_value **, size_t))
{
    if (machine_available(m) < count)
        return machine_broken(m, "it takes a value from an empty stack");
    m->depth -= count;
    return add(m, m->stack + m->depth, count);
}

/* OrderedDict() and, as Python 2 wrote it, OrderedDict([[key, value], ...]). */
static int make_ordered_dict(struct machine *m, const struct pickle_value *arguments)
{
    struct pickle_value *dict = machine_value(m, PICKLE_DICT);
    const struct pickle_value *pairs = arguments->items.count ? arguments->items.item[0] : NULL;
    if (!dict)
        return -1;
    if (arguments->items.count > 1 || (pairs && pairs->kind != PICKLE_LIST))
        return machine_broken(m, "an OrderedDict is made of something other than pairs");
    for (size_t i = 0; pairs && i < pairs->items.count; i++) {
        const struct pickle_value *pair = pairs->items.item[i];
        if ((pair->kind != PICKLE_LIST && pair->kind != PICKLE_TUPLE) || pair->items.count != 2)
            return machine_broken(m, "an OrderedDict is made of something other than pairs");
        if (machine_add(m, dict, pair->items.item[0]) || machine_add(m, dict, pair->items.item[1]))
            return -1;
    }
    return machine_push(m, dict);
}

/* The object that a call would make. */
static int make_object(struct machine *m)
{
    const struct pickle_value *arguments = machine_pop(m),
                              *callable = arguments ? machine_pop(m) : NULL;
    if (!callable)
        return -1;
    if (callable->kind != PICKLE_GLOBAL)
        return machine_broken(m, "it calls what is not a global");
    if (arguments->kind != PICKLE_TUPLE)
        return machine_broken(m, "it calls with arguments that are not a tuple");
    if (pickle_is_global(callable, "collections", "OrderedDict"))
        return make_ordered_dict(m, arguments);
    struct pickle_value *v = machine_value(m, PICKLE_OBJECT);
    if (v) {
        v->object.callable = callable;
        v->object.arguments = arguments;
    }
    return machine_push(m, v);
}

/* An object's state: for a dict, attributes without tensors (`_metadata`), read and ignored. */
static int build(struct machine *m)
{
    struct pickle_value *state = machine_pop(m), *v = state ? machine_top(m) : NULL;
    if (!v)
        return -1;
    if (v->kind == PICKLE_OBJECT)
        v->object.state = state;
    else if (v->kind != PICKLE_DICT || state->kind != PICKLE_DICT)
        return machine_broken(m, "it gives a state to what has none");
    return 0;
}

static int make_storage(struct machine *m)
{
    const struct pickle_value *id = machine_pop(m);
    struct pickle *out = m->out;
    if (!id)
        return -1;
    if (id->kind != PICKLE_TUPLE || id->items.count < 5 ||
        !pickle_is_text(id->items.item[0], "storage"))
        return machine_broken(m, "a persistent id is not that of a storage");
    struct pickle_value *v = machine_value(m, PICKLE_STORAGE);
    const struct pickle_value **grown =
        v ? machine_grow(out->storages, out->storage_count, &out->storage_capacity, m->e) : NULL;
    if (!grown)
        return -1;
    v->id = id;
    out->storages = grown;
    out->storages[out->storage_count++] = v;
    return machine_push(m, v);
}

static int mark(struct machine *m)
{
    if (m->mark_count == MARKS_MAX)
        return machine_broken(m, "it is nested too deeply");
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
    const unsigned char *p = machine_take(m, (size_t)n);
    if (!p)
        return -1;
    uint32_t number = machine_little(p, n);
    switch (opcode) {
    case OP_PROTO:
        return number == 2
                   ? 0
                   : fail(m->e,
                          "%s: %s is of pickle protocol %u (expected 2, as torch.save writes)",
                          m->path, m->what, number);
    case OP_BININT: return machine_push_integer(m, PICKLE_INTEGER, (int32_t)number);
    case OP_BININT1:
    case OP_BININT2: return machine_push_integer(m, PICKLE_INTEGER, number);
    case OP_BINPUT:
    case OP_LONG_BINPUT: return machine_put(m, number);
    default: return machine_get(m, number);
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
    case OP_NONE: return machine_push_new(m, PICKLE_NONE);
    case OP_NEWTRUE: return machine_push_integer(m, PICKLE_BOOL, 1);
    case OP_NEWFALSE: return machine_push_integer(m, PICKLE_BOOL, 0);
    case OP_BINFLOAT: return machine_read_real(m);
    case OP_LONG1: return machine_read_long(m);
    case OP_BINUNICODE: return machine_read_text(m, 4);
    case OP_SHORT_BINSTRING: return machine_read_text(m, 1);
    case OP_GLOBAL: return machine_read_global(m);
    case OP_MARK: return mark(m);
    case OP_EMPTY_TUPLE: return machine_push_new(m, PICKLE_TUPLE);
    case OP_EMPTY_LIST: return machine_push_new(m, PICKLE_LIST);
    case OP_EMPTY_DICT: return machine_push_new(m, PICKLE_DICT);
    case OP_EMPTY_SET: return machine_push_new(m, PICKLE_SET);
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
        const unsigned char *opcode = machine_take(m, 1);
        if (!opcode)
            return -1;
        if (m->opcode_at == 0 && *opcode != OP_PROTO)
            return machine_broken(m, "it does not begin with its protocol");
        if (*opcode == OP_STOP)
            break;
        if (step(m, *opcode))
            return -1;
    }
    if (m->depth != 1 || m->mark_count)
        return machine_broken(m, "it does not end with one value");
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
    m.stack = machine_grow(NULL, 0, &m.stack_capacity, e);
    int result = m.stack ? run(&m) : -1;
    free(m.stack);
    free(m.memo);
    if (result)
        pickle_close(out);
    return result;
}
