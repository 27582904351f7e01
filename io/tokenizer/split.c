#include "io/tokenizer/split.h"

#include "io/tokenizer/bpe.h"

#include <string.h>

/* A piece being passed through the steps. */
struct piece {
    struct span span;
    int first;
};

static int run_from(struct splitter *s, int step, struct piece p, struct error *e);

static int starts_with(struct span text, struct span prefix)
{
    return text.size >= prefix.size && memcmp(text.text, prefix.text, prefix.size) == 0;
}

static int put_prefix(struct splitter *s, int step, struct piece p, struct error *e)
{
    struct split_step *t = &s->step[step];
    if (starts_with(p.span, buffer_span(&t->prefix)) || (t->first_only && !p.first))
        return run_from(s, step + 1, p, e);
    t->made.size = 0;
    if (buffer_add(&t->made, t->prefix.text, t->prefix.size, e) ||
        buffer_add(&t->made, p.span.text, p.span.size, e))
        return -1;
    return run_from(s, step + 1, (struct piece){buffer_span(&t->made), p.first}, e);
}

static int replace_spaces(struct splitter *s, int step, struct piece p, struct error *e)
{
    struct split_step *t = &s->step[step];
    const char *at = p.span.text, *end = at + p.span.size;
    t->made.size = 0;
    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        if (buffer_add(&t->made, at, (size_t)((space ? space : end) - at), e) ||
            (space && buffer_add(&t->made, t->prefix.text, t->prefix.size, e)))
            return -1;
        at = space ? space + 1 : end;
    }
    return run_from(s, step + 1, (struct piece){buffer_span(&t->made), p.first}, e);
}

static int spell_bytes(struct splitter *s, int step, struct piece p, struct error *e)
{
    struct split_step *t = &s->step[step];
    t->made.size = 0;
    if (p.span.size > SIZE_MAX / 2 || buffer_reserve(&t->made, 2 * p.span.size, e))
        return fail_memory(e, 2.0 * (double)p.span.size, "text");
    for (size_t i = 0; i < p.span.size; i++)
        t->made.size += character_write(t->made.text + t->made.size,
                                        byte_character((unsigned char)p.span.text[i]));
    return run_from(s, step + 1, (struct piece){buffer_span(&t->made), p.first}, e);
}

/* -- patterns -- */

/* The part that may still grow. */
struct joining {
    struct splitter *splitter;
    int step;
    struct piece whole;
    size_t start, end; /* of the part; equal: none */
    int open, previous; /* there is one; the previous part was a match */
};

static int tell(struct joining *j, size_t start, size_t end, struct error *e)
{
    if (start == end)
        return 0;
    struct piece part = {{j->whole.span.text + start, end - start}, j->whole.first && start == 0};
    return run_from(j->splitter, j->step + 1, part, e);
}

static int flush(struct joining *j, struct error *e)
{
    int open = j->open;
    j->open = 0;
    return open ? tell(j, j->start, j->end, e) : 0;
}

/* Takes the next part, a match or the text between, and passes on those that are complete. */
static int add_part(struct joining *j, size_t start, size_t end, int is_match, struct error *e)
{
    const struct split_step *t = &j->splitter->step[j->step];
    int joins = 0;
    is_match ^= t->invert;
    switch (t->behavior) {
    case BEHAVIOR_ISOLATED: return tell(j, start, end, e);
    case BEHAVIOR_REMOVED: return is_match ? 0 : tell(j, start, end, e);
    case BEHAVIOR_CONTIGUOUS: joins = j->open && is_match == j->previous; break;
    case BEHAVIOR_MERGED_WITH_PREVIOUS: joins = j->open && is_match && !j->previous; break;
    case BEHAVIOR_MERGED_WITH_NEXT: joins = j->open && !is_match && j->previous; break;
    }
    j->previous = is_match;
    if (joins) {
        j->end = end;
        return 0;
    }
    if (flush(j, e))
        return -1;
    j->start = start;
    j->end = end;
    j->open = 1;
    return 0;
}

static int split_at_pattern(struct splitter *s, int step, struct piece p, struct error *e)
{
    struct joining j = {.splitter = s, .step = step, .whole = p};
    struct search search = {0};
    size_t done = 0, start, end;
    int found;
    while ((found = pattern_next(s->step[step].pattern, &search, p.span, &start, &end, e)) == 1) {
        if (done < start && add_part(&j, done, start, 0, e))
            return -1;
        if (add_part(&j, start, end, 1, e))
            return -1;
        done = end;
    }
    if (found < 0 || (done < p.span.size && add_part(&j, done, p.span.size, 0, e)))
        return -1;
    return flush(&j, e);
}

static int run_from(struct splitter *s, int step, struct piece p, struct error *e)
{
    if (step == s->count)
        return s->each(s->context, p.span, e);
    switch (s->step[step].kind) {
    case SPLIT_PATTERN: return split_at_pattern(s, step, p, e);
    case SPLIT_PREFIX: return put_prefix(s, step, p, e);
    case SPLIT_SPACES: return replace_spaces(s, step, p, e);
    case SPLIT_BYTES: return spell_bytes(s, step, p, e);
    }
    return -1;
}

int split_text(struct splitter *s, struct span piece, int first, struct error *e)
{
    return piece.size ? run_from(s, 0, (struct piece){piece, first}, e) : 0;
}

void splitter_free(struct splitter *s)
{
    for (int i = 0; i < s->count; i++) {
        pattern_free(s->step[i].pattern);
        buffer_free(&s->step[i].prefix);
        buffer_free(&s->step[i].made);
    }
    *s = (struct splitter){0};
}
