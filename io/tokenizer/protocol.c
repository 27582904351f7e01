/* tokenizer.model: SentencePiece's ModelProto in the wire format of protocol buffers. */
#include "io/tokenizer/pieces.h"

#include <string.h>

/* -- the wire format -- */

enum wire { WIRE_NUMBER = 0, WIRE_EIGHT = 1, WIRE_BYTES = 2, WIRE_FOUR = 5 };

struct field {
    uint32_t number;
    enum wire wire;
    uint64_t value; /* of a number, or the bits of four or eight bytes */
    struct span bytes;
};

static int read_number(struct span *m, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && m->size; shift += 7) {
        unsigned char byte = (unsigned char)*m->text;
        m->text++;
        m->size--;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return 0;
    }
    return -1;
}

static int read_fixed(struct span *m, size_t bytes, uint64_t *out)
{
    *out = 0;
    if (m->size < bytes)
        return -1;
    for (size_t i = 0; i < bytes; i++)
        *out |= (uint64_t)(unsigned char)m->text[i] << 8 * i;
    *m = (struct span){m->text + bytes, m->size - bytes};
    return 0;
}

/* Reads the next field of a message and moves past it: 1; 0 at its end; -1: invalid. */
static int next_field(struct span *m, struct field *f)
{
    uint64_t tag, size;
    if (m->size == 0)
        return 0;
    *f = (struct field){0};
    if (read_number(m, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return -1;
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    switch (f->wire) {
    case WIRE_NUMBER: return read_number(m, &f->value) ? -1 : 1;
    case WIRE_EIGHT: return read_fixed(m, 8, &f->value) ? -1 : 1;
    case WIRE_FOUR: return read_fixed(m, 4, &f->value) ? -1 : 1;
    case WIRE_BYTES:
        if (read_number(m, &size) || size > m->size)
            return -1;
        f->bytes = (struct span){m->text, (size_t)size};
        *m = (struct span){m->text + size, m->size - (size_t)size};
        return 1;
    }
    return -1;
}

/* -- the model -- */

enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2, MODEL_WORD = 3, MODEL_CHARACTER = 4 };

/* The members of a message; -1: an invalid field, or one of another wire type. */
struct member {
    uint32_t number;
    enum wire wire;
};

static int has_type(const struct field *f, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (members[i].number == f->number)
            return members[i].wire == f->wire;
    return 1; /* not of interest */
}

static int read_piece(struct pieces *p, struct span m, struct error *e)
{
    static const struct member members[] = {{1, WIRE_BYTES}, {2, WIRE_FOUR}, {3, WIRE_NUMBER}};
    struct piece piece = {.type = PIECE_NORMAL};
    struct field f;
    int more;
    while ((more = next_field(&m, &f)) == 1) {
        if (!has_type(&f, members, sizeof members / sizeof *members))
            return fail(e, "field %u of token %zu has the wire type %d", f.number, p->count,
                        (int)f.wire);
        if (f.number == 1) {
            piece.text = f.bytes;
        } else if (f.number == 2) {
            uint32_t bits = (uint32_t)f.value;
            memcpy(&piece.score, &bits, sizeof piece.score);
        } else if (f.number == 3) {
            if (f.value < PIECE_NORMAL || f.value > PIECE_BYTE)
                return fail(e, "token %zu is of the type %llu (expected 1 to 6)", p->count,
                            (unsigned long long)f.value);
            piece.type = (enum piece_type)f.value;
        }
    }
    return more < 0 ? fail(e, "token %zu is broken", p->count) : pieces_add(p, piece, e);
}

static int read_trainer(struct pieces *p, int *model, struct span m, struct error *e)
{
    static const struct member members[] = {{3, WIRE_NUMBER},
                                            {24, WIRE_NUMBER},
                                            {35, WIRE_NUMBER},
                                            {46, WIRE_BYTES}};
    struct field f;
    int more;
    while ((more = next_field(&m, &f)) == 1) {
        if (!has_type(&f, members, sizeof members / sizeof *members))
            return fail(e, "field %u of the trainer's settings has the wire type %d", f.number,
                        (int)f.wire);
        switch (f.number) {
        case 3: *model = f.value <= MODEL_CHARACTER ? (int)f.value : 0; break;
        case 24: p->suffix = f.value != 0; break;
        case 35: p->byte_fallback = f.value != 0; break;
        case 46: p->bos = f.bytes; break;
        }
    }
    return more < 0 ? fail(e, "the trainer's settings are broken") : 0;
}

static int read_normalizer(struct pieces *p, struct span m, struct error *e)
{
    static const struct member members[] = {{2, WIRE_BYTES},
                                            {3, WIRE_NUMBER},
                                            {4, WIRE_NUMBER},
                                            {5, WIRE_NUMBER}};
    struct field f;
    int more;
    while ((more = next_field(&m, &f)) == 1) {
        if (!has_type(&f, members, sizeof members / sizeof *members))
            return fail(e, "field %u of the normalizer has the wire type %d", f.number,
                        (int)f.wire);
        switch (f.number) {
        case 2: p->charsmap = f.bytes; break;
        case 3: p->prefix = f.value != 0; break;
        case 4: p->one_space = f.value != 0; break;
        case 5: p->marks = f.value != 0; break;
        }
    }
    return more < 0 ? fail(e, "the normalizer is broken") : 0;
}

static int check_model(int model, struct pieces *p, struct error *e)
{
    static const char *const names[] = {
        [0] = "of no known kind", [MODEL_WORD] = "WORD", [MODEL_CHARACTER] = "CHAR"};
    if (model != MODEL_UNIGRAM && model != MODEL_BPE)
        return fail(e, "the model %s is not supported (expected UNIGRAM or BPE)", names[model]);
    p->is_unigram = model == MODEL_UNIGRAM;
    return 0;
}

int pieces_parse(struct pieces *p, struct span file, struct error *e)
{
    struct field f;
    int more, model = MODEL_UNIGRAM, result = 0;
    *p = (struct pieces){.bos = {"<s>", 3}, .prefix = 1, .one_space = 1, .marks = 1};
    while (result == 0 && (more = next_field(&file, &f)) == 1) {
        if (f.number > 5)
            continue;
        if (f.wire != WIRE_BYTES)
            return fail(e, "is not a SentencePiece model: field %u has the wire type %d", f.number,
                        (int)f.wire);
        if (f.number == 1)
            result = read_piece(p, f.bytes, e);
        else if (f.number == 2)
            result = read_trainer(p, &model, f.bytes, e);
        else if (f.number == 3)
            result = read_normalizer(p, f.bytes, e);
    }
    if (result)
        return -1;
    if (more < 0 || p->count == 0)
        return fail(e, "is not a SentencePiece model: %s",
                    more < 0 ? "a field is broken, or breaks off" : "it holds no tokens");
    return check_model(model, p, e);
}
