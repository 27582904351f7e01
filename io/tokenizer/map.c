#include "io/tokenizer/map.h"

#include "io/element.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* most keys have a few bytes: a call would cost as much as the hash */
#include <xxhash.h>

enum { SLOTS_MIN = 64, KEYS_MIN = 1024 };

struct map_slot {
    uint32_t key; /* its start in `keys` */
    uint32_t size;
    uint32_t hash; /* 0: the slot is free */
    int32_t value;
};

static uint32_t hash_of(const void *key, size_t size)
{
    uint32_t hash = (uint32_t)XXH3_64bits(key, size);
    return hash ? hash : 1;
}

/* The key's slot, or the free one for it. There is always a free one. */
static struct map_slot *locate(const struct map *m, const void *key, size_t size, uint32_t hash)
{
    for (size_t i = hash & (m->capacity - 1);; i = (i + 1) & (m->capacity - 1)) {
        struct map_slot *slot = &m->slots[i];
        if (slot->hash == 0 || (slot->hash == hash && slot->size == size &&
                                memcmp(m->keys + slot->key, key, size) == 0))
            return slot;
    }
}

int32_t map_find(const struct map *m, const void *key, size_t size)
{
    if (m->count == 0)
        return MAP_ABSENT;
    const struct map_slot *slot = locate(m, key, size, hash_of(key, size));
    return slot->hash ? slot->value : MAP_ABSENT;
}

/* Keeps at least half of the slots free, with `count` keys. */
static int grow_slots(struct map *m, size_t count, struct error *e)
{
    size_t capacity = m->capacity ? m->capacity : SLOTS_MIN;
    while (capacity / 2 < count)
        if (size_multiply(&capacity, capacity, 2))
            return fail_memory(e, 2.0 * (double)count * sizeof *m->slots, "a table of tokens");
    if (capacity == m->capacity)
        return 0;
    struct map_slot *old = m->slots, *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return fail_memory(e, (double)capacity * sizeof *slots, "a table of tokens");
    for (size_t i = 0; i < m->capacity; i++) {
        size_t at = old[i].hash & (capacity - 1);
        if (old[i].hash == 0)
            continue;
        while (slots[at].hash)
            at = (at + 1) & (capacity - 1);
        slots[at] = old[i];
    }
    free(old);
    m->slots = slots;
    m->capacity = capacity;
    return 0;
}

static int grow_keys(struct map *m, size_t extra, struct error *e)
{
    size_t needed, room = m->key_room ? m->key_room : KEYS_MIN;
    if (size_add(&needed, m->key_bytes, extra) || needed > UINT32_MAX)
        return fail_memory(e, (double)m->key_bytes + (double)extra, "a table of tokens");
    if (needed <= m->key_room && m->keys)
        return 0;
    while (room < needed)
        if (size_multiply(&room, room, 2))
            return fail_memory(e, (double)needed, "a table of tokens");
    unsigned char *keys = realloc(m->keys, room);
    if (!keys)
        return fail_memory(e, (double)room, "a table of tokens");
    m->keys = keys;
    m->key_room = room;
    return 0;
}

/* The key's slot, created with MAP_ABSENT if needed. */
static struct map_slot *make_slot(struct map *m, const void *key, size_t size, struct error *e)
{
    if (size > UINT32_MAX) {
        fail(e, "a token of %zu bytes is too long", size);
        return NULL;
    }
    if (grow_slots(m, m->count + 1, e) || grow_keys(m, size, e))
        return NULL;
    uint32_t hash = hash_of(key, size);
    struct map_slot *slot = locate(m, key, size, hash);
    if (slot->hash == 0) {
        memcpy(m->keys + m->key_bytes, key, size);
        *slot = (struct map_slot){.key = (uint32_t)m->key_bytes,
                                  .size = (uint32_t)size,
                                  .hash = hash,
                                  .value = MAP_ABSENT};
        m->key_bytes += size;
        m->count++;
    }
    return slot;
}

int map_set(struct map *m, const void *key, size_t size, int32_t value, struct error *e)
{
    struct map_slot *slot = make_slot(m, key, size, e);
    if (!slot)
        return -1;
    slot->value = value;
    return 0;
}

int map_add(struct map *m, const void *key, size_t size, int32_t value, struct error *e)
{
    struct map_slot *slot = make_slot(m, key, size, e);
    if (!slot)
        return -1;
    if (slot->value != MAP_ABSENT)
        return 0;
    slot->value = value;
    return 1;
}

int map_reserve(struct map *m, size_t count, size_t bytes, struct error *e)
{
    return grow_slots(m, count, e) || grow_keys(m, bytes, e) ? -1 : 0;
}

int map_next(const struct map *m, size_t *at, const void **key, size_t *size, int32_t *value)
{
    while (*at < m->capacity && m->slots[*at].hash == 0)
        ++*at;
    if (*at >= m->capacity)
        return 0;
    const struct map_slot *slot = &m->slots[(*at)++];
    *key = m->keys + slot->key;
    *size = slot->size;
    *value = slot->value;
    return 1;
}

void map_free(struct map *m)
{
    free(m->slots);
    free(m->keys);
    *m = (struct map){0};
}
