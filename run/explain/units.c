/* Words, sentences and lines: explanations of them, made from those of tokens. */
#include "run/explain/parts.h"

#include <stdlib.h>
#include <string.h>

const char *const explain_units[] = {
    [BY_TOKEN] = "token", [BY_WORD] = "word", [BY_SENTENCE] = "sentence", [BY_LINE] = "line", NULL};

const char *const explain_parts[] = {"none", "word", "sentence", "line", NULL};

enum explain_by explain_unit_of(const struct explain_options *o)
{
    return o->leave_out != BY_TOKEN ? o->leave_out : o->by;
}

/* Ids of units, which must not be those of tokens. */
enum { UNIT_IDS = 1 << 30 };

/* The unit so far. */
struct reading {
    int ink; /* it has something other than white space */
    int mark; /* 1: it ends with . ! or ?, and perhaps what closes a quotation; 2, 3: then come one
               * or two bytes of a closing quote */
    int over; /* the next token is of another unit */
};

int is_white(char c)
{
    return c && strchr(" \t\n\r\v\f", c);
}

/* The next `mark`: closing quotes and brackets, U+2019 and U+201D among them, keep it. */
static int next_mark(int mark, unsigned char c)
{
    if (c && strchr(".!?", c))
        return 1;
    if (mark == 1)
        return c && strchr("\"')]}", c) ? 1 : c == 0xE2 ? 2 : 0;
    return mark == 2 && c == 0x80 ? 3 : mark == 3 && (c == 0x99 || c == 0x9D);
}

static void read_token(struct reading *r, enum explain_by by, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (is_white(text[i])) {
            r->over |= r->ink && (by == BY_WORD || r->mark == 1 || text[i] == '\n');
            r->mark = 0;
        } else {
            r->ink = 1;
            r->mark = next_mark(r->mark, (unsigned char)text[i]);
        }
}

/* Fills x->start, from the tokens, and the count. An answer's tokens join none of the prompt. */
static void divide(struct explanation *x, enum explain_by by)
{
    const struct explanation *tokens = x->tokens;
    struct reading now = {0};

    for (size_t i = 0; i < tokens->count; i++) {
        char room[16];
        size_t size;
        const char *text = explanation_piece(tokens, tokens->id[i], &size, room);
        int white = size && is_white(*text),
            other = by == BY_LINE
                        ? i && tokens->line[i] != tokens->line[i - 1]
                        : now.over || (white && (by == BY_WORD ? now.ink : now.mark == 1));

        if (i == 0 || i == tokens->prompt || other) {
            x->start[x->count++] = i;
            now = (struct reading){0};
        }
        read_token(&now, by, text, size);
    }
    x->start[x->count] = tokens->count;
}

/* Its text, added to the stream, and its norm. */
static void join(struct explanation *x, size_t unit, FILE *f)
{
    const struct explanation *tokens = x->tokens;

    for (size_t i = x->start[unit]; i < x->start[unit + 1]; i++) {
        char room[16];
        size_t size;
        const char *text = explanation_piece(tokens, tokens->id[i], &size, room);

        fwrite(text, 1, size, f);
        x->norm[unit] += tokens->norm[i];
    }
}

/* An explanation of units, without their texts, which go to `f`: the end of each to `end`. */
static int make(struct explanation *x, const struct explanation *tokens, enum explain_by by,
                size_t first_id, FILE *f, long *end, struct error *e)
{
    size_t n = tokens->count;

    *x = (struct explanation){.name = tokens->name ? strdup(tokens->name) : NULL,
                              .is_numbered = tokens->is_numbered,
                              .by = explain_units[by],
                              .tokens = tokens,
                              .attribution = tokens->attribution,
                              .segment = tokens->segment,
                              .predicted = tokens->predicted,
                              .answer = tokens->answer,
                              .contrast = tokens->contrast,
                              .integrated = tokens->integrated,
                              .attributed = tokens->attributed,
                              .baseline = tokens->baseline,
                              .target = tokens->target,
                              .against = tokens->against,
                              .alternative_count = tokens->alternative_count,
                              .model = strdup(tokens->model),
                              .path = strdup(tokens->path),
                              .position_encoding = strdup(tokens->position_encoding),
                              .start = calloc(n + 1, sizeof *x->start),
                              .id = calloc(n + 1, sizeof *x->id),
                              .norm = calloc(n, sizeof *x->norm)};
    if (!x->model || !x->name != !tokens->name || !x->path || !x->position_encoding || !x->start ||
        !x->id || !x->norm)
        return fail_memory(e, (double)n * (sizeof *x->start + sizeof *x->id + sizeof *x->norm),
                           "the units of a text");
    memcpy(x->alternative, tokens->alternative, sizeof x->alternative);
    divide(x, by);
    for (size_t unit = 0; unit < x->count; unit++) {
        x->id[unit] = (int32_t)(UNIT_IDS + first_id + unit);
        join(x, unit, f);
        end[unit] = ftell(f);
    }
    x->id[x->count] = x->target.id;
    return 0;
}

/* Texts of `count` units, in one text. */
static int take_texts(struct explanations *out, const char *text, const long *end, size_t count,
                      struct error *e)
{
    struct token_text *piece = calloc(count, sizeof *piece);
    int rc;

    if (!piece)
        return fail_memory(e, (double)count * sizeof *piece, "the texts of units");
    for (size_t i = 0; i < count; i++) {
        long start = i ? end[i - 1] : 0;

        piece[i] = (struct token_text){(int32_t)(UNIT_IDS + i), (size_t)(end[i] - start),
                                       text + start};
    }
    rc = texts_make(&out->pieces, piece, count, e);
    free(piece);
    return rc;
}

static int make_all(struct explanations *out, const struct explanations *of, enum explain_by by,
                    FILE *f, long *end, size_t *count, struct error *e)
{
    for (*count = 0; out->count < of->count; *count += out->item[out->count++].count)
        if (make(&out->item[out->count], &of->item[out->count], by, *count, f, end + *count, e) !=
            0) {
            explanation_free(&out->item[out->count]);
            return -1;
        }
    return 0;
}

int explain_join(struct explanations *out, const struct explanations *of, enum explain_by by,
                 struct error *e)
{
    size_t total = 0, count = 0, size;
    char *text = NULL;
    long *end;
    FILE *f;
    int rc = -1;

    if (!of->pieces.count)
        return fail(e,
                    "%s: --by %s: its tokens have no texts, because it has no tokenizer (expected "
                    "--by token, and no --leave-out)",
                    of->item->path, explain_units[by]);
    for (size_t i = 0; i < of->count; i++)
        total += of->item[i].count;
    if (total >= UNIT_IDS)
        return fail(e, "%s: --by %s: there are %zu tokens (expected less than %d)", of->item->path,
                    explain_units[by], total, UNIT_IDS);
    out->item = calloc(of->count, sizeof *out->item);
    end = calloc(total, sizeof *end);
    f = open_memstream(&text, &size);
    if (out->item && end && f)
        rc = make_all(out, of, by, f, end, &count, e);
    else
        fail_memory(e, (double)total * sizeof *end, "the units of a text");
    if (f && fclose(f) != 0 && rc == 0)
        rc = fail_memory(e, (double)total, "the texts of units");
    if (rc == 0)
        rc = take_texts(out, text, end, count, e);
    free(text);
    free(end);
    if (rc != 0 || texts_add(&out->pieces, &of->pieces, e) != 0)
        return -1;
    for (size_t i = 0; i < out->count; i++) {
        out->item[i].pieces = &out->pieces;
        if (explain_reduce(&out->item[i], e) != 0)
            return -1;
    }
    return 0;
}
