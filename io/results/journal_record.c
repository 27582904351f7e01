/* Records of the journal as bytes. */
#include "io/results/journal_parts.h"

#include <xxhash.h>

size_t journal_bytes_of(const struct journal *j, enum journal_kind kind)
{
    return kind == JOURNAL_ATTENTION ? j->attention_bytes : j->segment_bytes;
}

void journal_pack(struct journal *j, const struct journal_record *r)
{
    unsigned char *p = j->record;
    size_t body = journal_bytes_of(j, r->kind) - CHECKSUM_BYTES, words;
    memset(p, 0, RECORD_HEAD_BYTES);
    put32(p, r->kind);
    put32(p + 4, r->model);
    switch (r->kind) {
    case JOURNAL_SEGMENT:
        put32(p + 8, r->segment.target);
        put32(p + 12, r->segment.segment);
        p[16] = r->segment.status;
        memcpy(p + 24, &r->segment.logprob, sizeof r->segment.logprob);
        memcpy(p + RECORD_HEAD_BYTES, r->segment.values,
               j->sizes.values * sizeof *r->segment.values);
        break;
    case JOURNAL_LOSSES:
        put64(p + 8, r->losses.first);
        put64(p + 16, r->losses.count);
        memset(p + RECORD_HEAD_BYTES, 0, j->sizes.values * sizeof *r->losses.values);
        memcpy(p + RECORD_HEAD_BYTES, r->losses.values, r->losses.count * sizeof *r->losses.values);
        break;
    case JOURNAL_ATTENTION:
        put64(p + 8, r->attention.measured);
        put64(p + 16, r->attention.used);
        words = r->attention.words * sizeof(uint64_t);
        memset(p + RECORD_HEAD_BYTES, 0, 2 * j->sizes.words * sizeof(uint64_t));
        memcpy(p + RECORD_HEAD_BYTES, r->attention.high, words);
        memcpy(p + RECORD_HEAD_BYTES + j->sizes.words * sizeof(uint64_t), r->attention.low, words);
        break;
    }
    put64(p + body, XXH3_64bits_withSeed(p, body, j->digest));
}

int journal_unpack(const struct journal *j, enum journal_kind kind, struct journal_record *r)
{
    const unsigned char *p = j->record;
    const void *payload = p + RECORD_HEAD_BYTES; /* aligned, because memory is */
    size_t body = journal_bytes_of(j, kind) - CHECKSUM_BYTES;
    uint32_t found = load32(p);
    if (load64(p + body) != XXH3_64bits_withSeed(p, body, j->digest) ||
        (found != (uint32_t)kind && !(kind == JOURNAL_SEGMENT && found == JOURNAL_LOSSES)))
        return -1;
    *r = (struct journal_record){.kind = (enum journal_kind)found, .model = load32(p + 4)};
    switch (r->kind) {
    case JOURNAL_SEGMENT:
        r->segment = (struct journal_segment){.target = load32(p + 8),
                                              .segment = load32(p + 12),
                                              .status = p[16],
                                              .values = payload};
        memcpy(&r->segment.logprob, p + 24, sizeof r->segment.logprob);
        break;
    case JOURNAL_ATTENTION:
        r->attention = (struct journal_attention){load64(p + 8), load64(p + 16), j->sizes.words,
                                                  payload,
                                                  (const uint64_t *)payload + j->sizes.words};
        break;
    case JOURNAL_LOSSES:
        r->losses = (struct journal_losses){load64(p + 8), load64(p + 16), payload};
        return r->losses.count > j->sizes.values ? -1 : 0;
    }
    return 0;
}
