#include "io/tokens/records.h"

#include "io/formats/json.h"
#include "io/system/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16, GROWTH_ASKED = 64 << 20 };

int records_end(struct records *r, struct error *e)
{
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 64, *end = reallocarray(r->end, room, sizeof *end);

        if (!end)
            return fail_memory(e, (double)room * sizeof *end, "records");
        r->end = end;
        r->room = room;
    }
    r->end[r->count++] = r->text.size;
    return 0;
}

void records_free(struct records *r)
{
    buffer_free(&r->text);
    free(r->end);
    *r = (struct records){0};
}

static const char *kind_of(const json_t *value)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};

    return kinds[json_typeof(value)];
}

static int add_line(struct records *r, const char *line, size_t size, size_t number,
                    const char *name, const char *field, int joined, struct error *e)
{
    char what[40];
    json_t *object;
    const json_t *value;
    int rc;

    while (size && strchr(" \t\r", line[size - 1]))
        size--;
    if (!size)
        return 0;
    snprintf(what, sizeof what, "line %zu", number);
    if (!(object = json_parse_lenient(name, what, line, size, e)))
        return -1;
    value = json_object_get(object, field);
    if (!value)
        rc = fail(e, "%s: line %zu has no member `%s` (expected a text; --field names another)",
                  name, number, field);
    else if (!json_is_string(value))
        rc = fail(e, "%s: line %zu: `%s` is %s (expected a text)", name, number, field,
                  kind_of(value));
    else if (r->text.room >= GROWTH_ASKED &&
             r->text.room - r->text.size <= json_string_length(value) &&
             memory_check(r->text.room, name, e))
        rc = -1;
    else if (buffer_add(&r->text, json_string_value(value), json_string_length(value), e))
        rc = -1;
    else
        rc = joined ? buffer_add(&r->text, "\n", 1, e) : records_end(r, e);
    json_decref(object);
    return rc;
}

int records_read(struct records *r, struct input *in, const char *field, int joined,
                 struct error *e)
{
    struct buffer ahead = {0};
    size_t number = 0, got = PIECE, from = 0, searched = 0; /* from: of the line's beginning */
    int rc = 0;

    while (rc == 0) {
        char *end = searched < ahead.size
                        ? memchr(ahead.text + searched, '\n', ahead.size - searched)
                        : NULL;
        size_t to = end ? (size_t)(end - ahead.text) : ahead.size;

        if (end || got < PIECE) { /* a whole line, or the last one */
            number++;
            if (to > from)
                rc = add_line(r, ahead.text + from, to - from, number, input_name(in), field,
                              joined, e);
            from = searched = to + 1;
            if (!end)
                break;
            continue;
        }
        if (from) {
            memmove(ahead.text, ahead.text + from, ahead.size - from);
            ahead.size -= from;
            from = 0;
        }
        searched = ahead.size;
        if ((ahead.room >= GROWTH_ASKED && ahead.room - ahead.size < PIECE &&
             memory_check(ahead.room, input_name(in), e)) ||
            buffer_reserve(&ahead, PIECE, e) ||
            input_read(in, ahead.text + ahead.size, PIECE, &got, e))
            rc = -1;
        else
            ahead.size += got;
    }
    buffer_free(&ahead);
    return rc;
}
