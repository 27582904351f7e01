#include "io/tokenizer/pairs.h"

#include "io/element.h"

#include <stdlib.h>

enum { SLOTS_MIN = 64 };

static struct pair *place_of(struct pairs *p, int32_t left, int32_t right)
{
    size_t i = pairs_place(p, left, right);
    while (p->slots[i].rank_behind && (p->slots[i].left != left || p->slots[i].right != right))
        i = (i + 1) & (p->capacity - 1);
    return &p->slots[i];
}

int pairs_reserve(struct pairs *p, size_t count, struct error *e)
{
    struct pairs grown = {.capacity = p->capacity ? p->capacity : SLOTS_MIN, .count = p->count};
    while (grown.capacity / 2 < count)
        if (size_multiply(&grown.capacity, grown.capacity, 2))
            return fail_memory(e, 2.0 * (double)count * sizeof *p->slots, "merges");
    if (grown.capacity == p->capacity)
        return 0;
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return fail_memory(e, (double)grown.capacity * sizeof *p->slots, "merges");
    for (size_t i = 0; i < p->capacity; i++)
        if (p->slots[i].rank_behind)
            *place_of(&grown, p->slots[i].left, p->slots[i].right) = p->slots[i];
    free(p->slots);
    *p = grown;
    return 0;
}

int pairs_set(struct pairs *p, int32_t left, int32_t right, int32_t rank, int32_t merged,
              struct error *e)
{
    if (pairs_reserve(p, p->count + 1, e))
        return -1;
    struct pair *slot = place_of(p, left, right);
    p->count += slot->rank_behind == 0;
    *slot = (struct pair){left, right, rank + 1, merged};
    return 0;
}

int pairs_add(struct pairs *p, int32_t left, int32_t right, struct error *e)
{
    if (pairs_reserve(p, p->count + 1, e))
        return -1;
    struct pair *slot = place_of(p, left, right);
    if (slot->rank_behind)
        return 0;
    p->count++;
    *slot = (struct pair){.left = left, .right = right, .rank_behind = 1};
    return 1;
}

void pairs_free(struct pairs *p)
{
    free(p->slots);
    *p = (struct pairs){0};
}
