/* Questions from a file of JSON lines. */
#include "run/explain/parts.h"

#include "io/formats/json.h"

#include <stdlib.h>
#include <string.h>

/* The lines of a file. */
struct lines {
    const char *path;
    struct text text;
    const char *at; /* the rest */
    size_t number; /* of the last one returned, from 1 */
};

/* The next line that is not empty; *size 0 and NULL: the end. */
static const char *next_line(struct lines *l, size_t *size)
{
    const char *end = l->text.bytes + l->text.size;

    while (l->at < end) {
        const char *line = l->at, *feed = memchr(line, '\n', (size_t)(end - line));
        size_t white = 0;

        *size = (size_t)((feed ? feed : end) - line);
        l->at = feed ? feed + 1 : end;
        l->number++;
        while (white < *size && strchr(" \t\r", line[white]) && line[white])
            white++;
        if (white < *size)
            return line;
    }
    *size = 0;
    return NULL;
}

/* A member that is a text, or if `or_number` a whole number from 0 on; *out is owned, and NULL if
 * there is no such member. */
static int read_member(char **out, const struct question *q, const char *name, int or_number,
                       struct error *e)
{
    const json_t *value = json_object_get(q->line, name);
    int made;

    *out = NULL;
    if (!value || json_is_null(value))
        return 0;
    if (json_is_string(value))
        made = asprintf(out, "%s", json_string_value(value));
    else if (or_number && json_is_integer(value) && json_integer_value(value) >= 0)
        made = asprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        return fail(e, "%s: the value of %s is not valid (expected a text%s)", q->where, name,
                    or_number ? ", or a whole number from 0 on" : "");
    if (made >= 0)
        return 0;
    *out = NULL;
    return fail(e, "%s: out of memory", q->where);
}

/* The names of all members are known; others are told once. */
static void tell_unused(const struct question *q, struct progress *p, int *told)
{
    static const char *const known[] = {"prompt", "text", "target", "against", "id", NULL};
    const char *name;
    json_t *value;

    json_object_foreach(q->line, name, value)
    {
        size_t i = 0;

        while (known[i] && strcmp(known[i], name) != 0)
            i++;
        if (!known[i] && !*told) {
            progress_message(p, "%s: %s is not used (prompt, text, target, against and id are)",
                             q->where, name);
            *told = 1;
        }
    }
}

static int is_number(const struct question *q, const char *name)
{
    return json_is_integer(json_object_get(q->line, name));
}

/* A line's own token, else that of the option. */
static int take_token(struct named_token *n, struct explainer *x, struct question *q, char **owned,
                      const char *name, const struct named_token *standard, struct error *e)
{
    if (read_member(owned, q, name, 1, e) != 0)
        return -1;
    if (!*owned) {
        *n = *standard;
        return 0;
    }
    if (is_number(q, name) && json_integer_value(json_object_get(q->line, name)) > INT32_MAX)
        return fail(e, "%s: %s %s is not an id (expected 0 to %d)", q->where, name, *owned,
                    INT32_MAX);
    return named_find(n, x, q->where, name, *owned, is_number(q, name), e);
}

static int read_question(struct question *q, struct explainer *x, const struct named_token *target,
                         const struct named_token *against, struct error *e)
{
    char *prompt = NULL, *text = NULL;
    struct run_text read = {0};
    const struct tokens *t;
    int rc = -1;

    if (read_member(&prompt, q, "prompt", 0, e) != 0 || read_member(&text, q, "text", 0, e) != 0 ||
        read_member(&q->name, q, "id", 1, e) != 0 ||
        take_token(&q->target, x, q, &q->target_text, "target", target, e) != 0 ||
        take_token(&q->against, x, q, &q->against_text, "against", against, e) != 0)
        goto end;
    if (!prompt == !text) {
        fail(e, "%s: has %s (expected one of them)", q->where,
             text ? "both a prompt and a text" : "neither a prompt nor a text");
        goto end;
    }
    read.text = (struct text){.bytes = prompt ? prompt : text,
                              .size = strlen(prompt ? prompt : text),
                              .name = q->where};
    if ((t = model_text_tokens(&x->reading, &read, x->progress, e)) &&
        question_check(x, t, q->where, e) == 0)
        rc = question_take(q, x, t, 0, prompt != NULL, e);
    q->targets = q->predicted && !q->target.written ? (size_t)x->options->targets : 1;
end:
    free(prompt);
    free(text);
    return rc;
}

static int add(struct questions *q, size_t *room, struct error *e)
{
    struct question *grown;

    if (q->count < *room)
        return 0;
    grown = realloc(q->item, (2 * *room + 16) * sizeof *grown);
    if (!grown)
        return fail_memory(e, (double)(2 * *room + 16) * sizeof *grown, "the questions");
    q->item = grown;
    *room = 2 * *room + 16;
    return 0;
}

int questions_of_prompts(struct questions *q, struct explainer *x, const struct named_token *target,
                         const struct named_token *against, struct error *e)
{
    struct lines l = {.path = x->options->prompts};
    size_t room = 0, size;
    const char *line;
    int rc = 0, told = 0;

    if (text_read(&l.text, &l.path, 1, e) != 0)
        return -1;
    l.at = l.text.bytes;
    while (rc == 0 && (line = next_line(&l, &size))) {
        struct question *next;
        char what[32];

        if ((rc = add(q, &room, e)) != 0)
            break;
        next = &q->item[q->count++];
        *next = (struct question){.number = l.number};
        snprintf(what, sizeof what, "line %zu", l.number);
        if (asprintf(&next->where, "%s: %s", l.text.name, what) < 0) {
            next->where = NULL;
            rc = fail(e, "%s: out of memory", l.path);
        } else if (!(next->line = json_parse_object(l.text.name, what, line, size, e))) {
            rc = -1;
        } else {
            tell_unused(next, x->progress, &told);
            rc = read_question(next, x, target, against, e);
        }
    }
    if (rc == 0 && q->count == 0)
        rc = fail(e, "%s: has no lines (expected a JSON object a line)", l.text.name);
    text_free(&l.text);
    return rc;
}
