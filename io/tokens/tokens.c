#include "io/tokens/tokens.h"

#include "io/element.h"
#include "io/system/input.h"
#include "io/system/memory.h"
#include "io/tokenizer/ids.h"
#include "io/tokenizer/text.h"
#include "io/tokenizer/tokenizer.h"
#include "io/tokens/formats.h"
#include "io/tokens/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_DEFAULT = 2048,
    TEXT_PIECE = 1 << 16,
    GROWTH_ASKED = 64 << 20 /* bytes; compressed data may contain any number of them */
};

/* The name of FILES in messages: the first, and how many more. NULL: out of memory; omitted. */
static char *name_files(const char *const *files, int count)
{
    const char *first = strcmp(files[0], "-") == 0 ? "standard input" : files[0];
    char *name;
    int length = count > 1 ? asprintf(&name, "%s and %d more", first, count - 1)
                           : asprintf(&name, "%s", first);
    return length < 0 ? NULL : name;
}

/* Hands over the ids; the array is empty afterwards. `name` is taken over. */
static void take_ids(struct tokens *out, struct ids *a, char *name)
{
    int32_t *exact = a->count ? realloc(a->id, a->count * sizeof *a->id) : NULL;
    *out = (struct tokens){.ids = exact ? exact : a->id,
                           .total = a->count,
                           .rows = out->rows,
                           .columns = out->columns,
                           .name = name};
    *a = (struct ids){0};
}

void ids_to_tokens(struct tokens *out, struct ids *a, const char *const *files, int count)
{
    take_ids(out, a, name_files(files, count));
}

/* -- text -- */

/* Data whose first bytes show that they are not text, but would give plausible numbers. */
static int check_start(struct input *in, struct error *e)
{
    unsigned char start[INPUT_PEEK_MAX];
    size_t got;
    const char *other;
    if (input_peek(in, start, sizeof start, &got, e))
        return -1;
    if ((other = input_other(start, got)))
        return fail(e, "%s: is %s", input_name(in), other);
    if ((got >= 6 && memcmp(start, "\x93NUMPY", 6) == 0) ||
        (got >= 8 && memcmp(start, "\x89HDF\r\n\x1a\n", 8) == 0))
        return fail(e, "%s: is an array of numbers (expected text; --tokens takes token ids)",
                    input_name(in));
    return 0;
}

static int append_file(struct buffer *b, struct input *in, struct error *e)
{
    int result = 0;
    for (size_t got = TEXT_PIECE; result == 0 && got == TEXT_PIECE;) {
        if (b->room >= GROWTH_ASKED && b->room - b->size < TEXT_PIECE &&
            memory_check(b->room, input_name(in), e))
            return -1;
        result = buffer_reserve(b, TEXT_PIECE, e) ||
                         input_read(in, b->text + b->size, TEXT_PIECE, &got, e)
                     ? -1
                     : 0;
        b->size += result ? 0 : got;
    }
    return result;
}

/* A name that ends in .jsonl, or with the ending of a packed file after that. */
static int is_json_lines(const char *file)
{
    static const char *const endings[] = {"", ".gz", ".zst", ".xz", ".bz2"};
    size_t length = strlen(file);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t more = strlen(endings[i]);
        if (length > more + 6 && strcmp(file + length - more, endings[i]) == 0 &&
            memcmp(file + length - more - 6, ".jsonl", 6) == 0)
            return 1;
    }
    return 0;
}

static int append(struct records *all, const char *file, const struct records_request *r,
                  struct error *e)
{
    struct input *in = input_open(file, e);
    int result = in && check_start(in, e) == 0 ? 0 : -1;
    if (result == 0 && r && (r->field || is_json_lines(file)))
        result = records_read(all, in, r->field ? r->field : "text", r->joined, e);
    else if (result == 0)
        result = append_file(&all->text, in, e) || records_end(all, e) ? -1 : 0;
    input_close(in);
    return result;
}

int text_read_records(struct text *out, const char *const *files, int count,
                      const struct records_request *r, struct error *e)
{
    struct records all = {0};
    int any = 0;
    *out = (struct text){0};
    for (int i = 0; i < count; i++) {
        any |= r && !r->joined && (r->field || is_json_lines(files[i]));
        if (append(&all, files[i], r, e)) {
            records_free(&all);
            return -1;
        }
    }
    if (all.text.size == 0) {
        records_free(&all);
        return fail(e, "%s: holds no text (expected at least one byte)",
                    count > 0 ? files[0] : "text");
    }
    *out = (struct text){.bytes = all.text.text,
                         .size = all.text.size,
                         .name = name_files(files, count)};
    if (any) {
        out->end = all.end;
        out->records = all.count;
    } else
        free(all.end);
    return 0;
}

int text_read(struct text *out, const char *const *files, int count, struct error *e)
{
    return text_read_records(out, files, count, NULL, e);
}

void text_free(struct text *t)
{
    free(t->bytes);
    free(t->end);
    free(t->name);
    *t = (struct text){0};
}

static int append_bytes(struct ids *a, const char *bytes, size_t size, struct error *e)
{
    if (ids_reserve(a, size, e))
        return -1;
    for (size_t i = 0; i < size; i++)
        a->id[a->count++] = (unsigned char)bytes[i];
    return 0;
}

size_t text_broken(const struct text *text)
{
    return utf8_broken((struct span){text->bytes, text->size});
}

/* Other encodings and binary data, which a tokenizer would also turn into ids. A few broken bytes
 * are always allowed: those of a character cut at the start or end. */
static int check_encoding(const struct text *text, struct error *e)
{
    enum { FEW = 6, PERCENT = 1 };
    size_t wrong = text_broken(text);
    for (const char *at = text->bytes;
         (at = memchr(at, 0, (size_t)(text->bytes + text->size - at))); at++)
        wrong++;
    return wrong <= FEW + text->size / 100 * PERCENT
               ? 0
               : fail(e,
                      "%s: is not text: %.2g %% of its bytes are zero or not UTF-8 (expected %d %% "
                      "at most, in UTF-8)",
                      text->name ? text->name : "text", 100.0 * (double)wrong / (double)text->size,
                      PERCENT);
}

/* The ids of each record in turn; of one text that is all of it. */
static int append_records(struct ids *a, size_t *end, const struct text *text,
                          struct tokenizer *tokenizer, struct error *e)
{
    size_t from = 0, told = 0;
    for (size_t i = 0; i < (text->end ? text->records : 1); i++) {
        size_t to = text->end ? text->end[i] : text->size;
        if (tokenizer
                ? to > from && tokenizer_encode(tokenizer, a, text->bytes + from, to - from, e)
                : append_bytes(a, text->bytes + from, to - from, e))
            return -1;
        if (end)
            end[i] = a->count;
        from = to;
        if (tokenizer && end && from - told >= TEXT_PIECE && tokenizer_tell(tokenizer, from, e))
            return -1;
        told = from - told >= TEXT_PIECE ? from : told;
    }
    return 0;
}

int tokens_from_text(struct tokens *out, const struct text *text, struct tokenizer *tokenizer,
                     struct error *e)
{
    struct ids a = {0};
    size_t *end = text->end ? calloc(text->records, sizeof *end) : NULL;
    *out = (struct tokens){0};
    if (text->end && !end)
        return fail_memory(e, (double)text->records * sizeof *end, "records");
    int result = tokenizer && check_encoding(text, e) ? -1
                                                      : append_records(&a, end, text, tokenizer, e);
    if (result == 0 && a.count == 0)
        result = fail(e, "%s: the tokenizer makes no tokens from it",
                      text->name ? text->name : "text");
    if (result) {
        free(a.id);
        free(end);
        return result;
    }
    take_ids(out, &a, text->name ? strdup(text->name) : NULL);
    out->end = end;
    out->documents = end ? text->records : 0;
    return 0;
}

void tokens_free(struct tokens *t)
{
    free(t->ids);
    free(t->end);
    free(t->name);
    *t = (struct tokens){0};
}

/* -- documents -- */

int tokens_divided(const struct tokens *t, int boundary)
{
    return boundary >= 0 || t->end;
}

size_t tokens_record(const struct tokens *t, size_t at)
{
    size_t low = 0, high = t->documents; /* the first record that ends after it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->end[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int document_next(struct document *d, size_t *at, const struct tokens *t, int boundary)
{
    size_t end = t->total;
    while (*at < t->total && t->ids[*at] == boundary)
        ++*at;
    d->first = *at;
    if (t->end && *at < t->total)
        end = t->end[tokens_record(t, *at)];
    while (*at < end && t->ids[*at] != boundary)
        ++*at;
    d->count = *at - d->first;
    return d->count > 0;
}

/* -- segments -- */

static const char *name_of(const struct tokens *t)
{
    return t->name ? t->name : "tokens";
}

/* Starts and counts in units: tokens of a stream, rows of a table. */
struct cut {
    size_t unit; /* units per segment: L, or one row */
    size_t available; /* units; by document, places for a segment */
    size_t count, stride;
};

/* For the documents after the offset, with segments that use `taken` of their tokens. */
static int plan_documents(struct cut *cut, struct documents *all, const struct tokens *t,
                          const struct segments_request *r, int boundary, size_t taken,
                          struct error *e)
{
    struct document d;
    size_t places = 0;

    if (t->columns)
        return fail(e,
                    "%s: is 2-D, with one document per row, and cannot be divided at --boundary "
                    "(expected a 1-D stream)",
                    name_of(t));
    cut->stride = r->stride ? r->stride : taken;
    for (size_t at = r->offset; document_next(&d, &at, t, boundary);)
        if (documents_add(all, &d, taken))
            places += (d.count - taken) / cut->stride + 1;
    if (!places)
        return fail(e,
                    "%s: no document is long enough: the longest of %zu has %zu tokens (expected "
                    "at least %zu for one segment)",
                    name_of(t), all->count, all->longest, taken);
    cut->available = places;
    cut->count = r->segments < places ? r->segments : places;
    return 0;
}

static int plan_cut(struct cut *cut, struct documents *documents, const struct tokens *t,
                    const struct segments_request *r, const struct segment_bounds *b, size_t length,
                    struct error *e)
{
    int table = t->columns > 0;
    const char *name = table ? "rows" : "tokens";
    size_t all = table ? t->rows : t->total;
    if (r->segments == 0)
        return fail(e, "segments: 0 are requested (expected at least 1)");
    if (r->offset >= all)
        return fail(e, "%s: nothing is left after offset %zu (there are %zu %s)", name_of(t),
                    r->offset, all, name);
    if (tokens_divided(t, b->boundary))
        return plan_documents(cut, documents, t, r, b->boundary, length - (b->begins ? 1 : 0), e);
    cut->available = all - r->offset;
    cut->unit = table ? 1 : length;
    if (cut->available < cut->unit)
        return fail(e,
                    "%s: there are %zu tokens after offset %zu (expected at least %zu for one "
                    "segment; give more text or a "
                    "smaller --length)",
                    name_of(t), cut->available, r->offset, cut->unit);
    size_t most = r->stride ? (cut->available - cut->unit) / r->stride + 1
                            : cut->available / cut->unit;
    cut->count = r->segments < most ? r->segments : most;
    cut->stride = r->stride        ? r->stride
                  : cut->count > 1 ? (cut->available - cut->unit) / (cut->count - 1)
                                   : 0;
    return 0;
}

static int choose_length(size_t *length, const struct tokens *t, const struct segments_request *r,
                         struct error *e)
{
    *length = r->length ? r->length : t->columns ? t->columns : LENGTH_DEFAULT;
    if (*length < 2)
        return fail(e, "%s: segments of %zu tokens (expected at least 2: one input and the target)",
                    name_of(t), *length);
    if (t->columns && *length > t->columns)
        return fail(e, "%s: --length %zu is above its %zu columns (expected at most %zu)",
                    name_of(t), *length, t->columns, t->columns);
    return 0;
}

/* Copies `count` ids from t[from]; every one must be in the vocabulary. */
static int copy_ids(int32_t *out, const struct tokens *t, size_t from, size_t count,
                    size_t vocabulary, struct error *e)
{
    for (size_t i = 0; i < count; i++) {
        int32_t id = t->ids[from + i];
        size_t at = from + i;
        if (id >= 0 && (size_t)id < vocabulary)
            out[i] = id;
        else if (t->columns)
            return fail(
                e, "%s: id %d in row %zu, column %zu is not in the vocabulary (expected 0 to %zu)",
                name_of(t), id, at / t->columns, at % t->columns, vocabulary - 1);
        else
            return fail(e, "%s: id %d at index %zu is not in the vocabulary (expected 0 to %zu)",
                        name_of(t), id, at, vocabulary - 1);
    }
    return 0;
}

/* The starts of the segments, one after the other, and the number of documents with any. */
static void start_documents(uint64_t *start, struct documents *all, const struct cut *cut,
                            const struct tokens *t, const struct segments_request *r, int boundary,
                            size_t taken)
{
    size_t place = 0, i = 0;
    struct document d;

    for (size_t at = r->offset; i < cut->count && document_next(&d, &at, t, boundary);) {
        size_t before = i;

        for (size_t first = 0; d.count >= taken && first <= d.count - taken && i < cut->count;
             place++) {
            size_t wanted = r->stride
                                ? i
                                : (size_t)((unsigned __int128)cut->available * i / cut->count);

            if (place == wanted)
                start[i++] = d.first + first;
            if (d.count - taken - first < cut->stride)
                first = d.count; /* a stride may be any number */
            else
                first += cut->stride;
        }
        all->used += i > before;
    }
}

int segments_cut(struct segments *out, const struct tokens *t, const struct segments_request *r,
                 const struct segment_bounds *b, size_t vocabulary, struct error *e)
{
    struct cut cut = {0};
    size_t length = 0, bytes;
    *out = (struct segments){0};
    if (choose_length(&length, t, r, e) || plan_cut(&cut, &out->documents, t, r, b, length, e))
        return -1;
    size_t taken = length - (b->begins ? 1 : 0);
    if (b->begins && (b->bos < 0 || (size_t)b->bos >= vocabulary))
        return fail(
            e, "tokens: the beginning-of-text id %d is not in the vocabulary (expected 0 to %zu)",
            b->bos, vocabulary - 1);
    if (size_multiply(&bytes, cut.count, length) ||
        size_multiply(&bytes, bytes, sizeof *out->ids) || !(out->ids = malloc(bytes)) ||
        !(out->start = calloc(cut.count, sizeof *out->start))) {
        segments_free(out);
        return fail_memory(e, (double)cut.count * (double)length * sizeof *out->ids, "segments");
    }
    for (size_t i = 0; i < cut.count; i++)
        out->start[i] = r->offset + i * cut.stride;
    if (tokens_divided(t, b->boundary))
        start_documents(out->start, &out->documents, &cut, t, r, b->boundary, taken);
    for (size_t i = 0; i < cut.count; i++) {
        int32_t *segment = out->ids + i * length;
        size_t start = out->start[i];
        /* for a row, the last tokens: the same target at every length */
        size_t from = t->columns ? (start + 1) * t->columns - taken : start;
        if (b->begins)
            *segment++ = b->bos;
        if (copy_ids(segment, t, from, taken, vocabulary, e)) {
            segments_free(out);
            return -1;
        }
    }
    out->count = cut.count;
    out->length = length;
    out->stride = cut.stride;
    out->overlapping = !t->columns && cut.count > 1 &&
                       cut.stride < (tokens_divided(t, b->boundary) ? taken : length);
    return 0;
}

void segments_free(struct segments *s)
{
    free(s->ids);
    free(s->start);
    *s = (struct segments){0};
}
