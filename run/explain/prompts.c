/* Questions from a file of JSON lines. */
#include "run/explain/parts.h"

#include "io/formats/json.h"
#include "io/spelling.h"

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
static int read_member(char **out, const struct prompt_line *line, const char *name, int or_number,
                       struct error *e)
{
    const json_t *value = json_object_get(line->object, name);
    int made;

    *out = NULL;
    if (!value || json_is_null(value))
        return 0;
    if (json_is_string(value))
        made = asprintf(out, "%s", json_string_value(value));
    else if (or_number && json_is_integer(value) && json_integer_value(value) >= 0)
        made = asprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        return fail(e, "%s: the value of %s is not valid (expected a text%s)", line->where, name,
                    or_number ? ", or a whole number from 0 on" : "");
    if (made >= 0)
        return 0;
    *out = NULL;
    return fail(e, "%s: out of memory", line->where);
}

/* Members with other names are told once, and refused if one of ours was meant: one that is not
 * there, with a name long enough that another word is not as near. */
static int check_members(const struct prompt_line *line, struct progress *p, int *told,
                         struct error *e)
{
    static const char *const known[] = {"prompt", "target", "against", "answer",
                                        "text",   "id",     NULL};
    const char *name;
    json_t *value;

    json_object_foreach(line->object, name, value)
    {
        const char *near = NULL;
        size_t i = 0;

        for (; known[i] && strcmp(known[i], name) != 0; i++)
            if (!json_object_get(line->object, known[i]) && strlen(known[i]) > 4 &&
                edit_distance(name, strlen(name), known[i]) <= NEAR)
                near = known[i];
        if (known[i])
            continue;
        if (near)
            return fail(e, "%s: unknown member %s (did you mean %s?)", line->where, name, near);
        if (!*told)
            progress_message(p,
                             "%s: %s is not used (prompt, text, target, against, answer and id "
                             "are)",
                             line->where, name);
        *told = 1;
    }
    return 0;
}

/* A token that the line names, if it does. */
static int take_token(struct named_token *n, struct explainer *x, const struct prompt_line *line,
                      const char *name, const char *written, struct error *e)
{
    const json_t *value = json_object_get(line->object, name);

    if (!written)
        return 0;
    if (json_is_integer(value) && json_integer_value(value) > INT32_MAX)
        return fail(e, "%s: %s %s is not an id (expected 0 to %d)", line->where, name, written,
                    INT32_MAX);
    return named_find(n, x, line->where, name, written, json_is_integer(value), e);
}

static int read_text(struct questions *q, struct explainer *x, struct question *like,
                     const char *text, int is_prompt, struct error *e)
{
    const char *where = like->from->where;
    /* borrowed */
    struct run_text read = {.text = {.bytes = (char *)(uintptr_t)text,
                                     .size = strlen(text),
                                     .name = (char *)(uintptr_t)where}};
    const struct tokens *t = model_text_tokens(&x->reading, &read, x->progress, e);
    struct question *next;

    if (!t || question_check(x, t, where, e) != 0 || !(next = questions_add(q, like, e)) ||
        question_take(next, x, t, 0, is_prompt, e) != 0)
        return -1;
    next->targets = next->predicted && !next->target.written ? like->targets : 1;
    return 0;
}

static int read_line(struct questions *q, struct explainer *x, struct prompt_line *line,
                     const struct question *standard, struct error *e)
{
    struct question like = *standard;
    char *prompt = NULL, *text = NULL;
    int rc = -1;

    like.from = line;
    if (read_member(&prompt, line, "prompt", 0, e) != 0 ||
        read_member(&text, line, "text", 0, e) != 0 ||
        read_member(&line->name, line, "id", 1, e) != 0 ||
        read_member(&line->target, line, "target", 1, e) != 0 ||
        read_member(&line->against, line, "against", 1, e) != 0 ||
        read_member(&line->answer, line, "answer", 0, e) != 0 ||
        take_token(&like.target, x, line, "target", line->target, e) != 0 ||
        take_token(&like.against, x, line, "against", line->against, e) != 0)
        goto end;
    if (!prompt == !text)
        fail(e, "%s: has %s (expected one of them)", line->where,
             text ? "both a prompt and a text" : "neither a prompt nor a text");
    else if (line->answer && (text || line->target || line->against))
        fail(e, "%s: has an answer and a %s (expected an answer to a prompt)", line->where,
             text           ? "text"
             : line->target ? "target"
                            : "token to compare it with");
    else if (line->answer || (prompt && x->options->answer))
        rc = questions_add_answer(q, x, &like, line->where, prompt,
                                  line->answer ? line->answer : x->options->answer, e);
    else
        rc = read_text(q, x, &like, prompt ? prompt : text, prompt != NULL, e);
end:
    free(prompt);
    free(text);
    return rc;
}

static struct prompt_line *add_line(struct questions *q, const struct lines *l, struct error *e)
{
    void *array = q->line;
    int rc = grow(&array, q->line_count, &q->line_room, sizeof *q->line, e);
    struct prompt_line *line = NULL;

    q->line = array;
    if (rc == 0 && !(line = calloc(1, sizeof *line)))
        fail_memory(e, sizeof *line, "a line");
    if (!line)
        return NULL;
    q->line[q->line_count++] = line;
    line->number = l->number;
    if (asprintf(&line->where, "%s: line %zu", l->text.name, l->number) >= 0)
        return line;
    line->where = NULL;
    fail(e, "%s: out of memory", l->path);
    return NULL;
}

int questions_of_prompts(struct questions *q, struct explainer *x, const struct question *like,
                         struct error *e)
{
    struct lines l = {.path = x->options->prompts};
    size_t size;
    const char *text;
    int rc = 0, told = 0;

    if (text_read(&l.text, &l.path, 1, e) != 0)
        return -1;
    l.at = l.text.bytes;
    while (rc == 0 && (text = next_line(&l, &size))) {
        struct prompt_line *line = add_line(q, &l, e);
        char what[32];

        snprintf(what, sizeof what, "line %zu", l.number);
        if (!line || !(line->object = json_parse_object(l.text.name, what, text, size, e))) {
            rc = -1;
        } else {
            rc = check_members(line, x->progress, &told, e) != 0 ? -1
                                                                 : read_line(q, x, line, like, e);
        }
    }
    if (rc == 0 && q->count == 0)
        rc = fail(e, "%s: has no lines (expected a JSON object a line)", l.text.name);
    text_free(&l.text);
    return rc;
}
