/* How a run is divided. */
#ifndef REACH_RUN_ERF_SHARD_H
#define REACH_RUN_ERF_SHARD_H

#include <stddef.h>

/* The segments of shard I of N: [*first, *first + count) of `segments`; returns count, which may be
 * 0. */
static inline size_t erf_shard(size_t *first, size_t segments, size_t shard, size_t shards)
{
    unsigned __int128 s = segments;
    size_t end = (size_t)(s * shard / shards);

    *first = (size_t)(s * (shard - 1) / shards);
    return end - *first;
}

#endif
