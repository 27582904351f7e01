#include "io/formats/json.h"

#include "io/system/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES_MAX = 16 << 20, KEY_MAX = 128 };

struct config {
    char *path;
    char *text;
    size_t size;
    json_t *root;
    json_t *read; /* object with the requested keys as keys, including the starts of dotted ones */
};

/* A config without its root. Takes over `text`, also on failure. */
static struct config *create(const char *path, char *text, size_t size, struct error *e)
{
    struct config *c = calloc(1, sizeof *c);
    if (c) {
        c->text = text;
        c->size = size;
        if ((c->path = strdup(path)) && (c->read = json_object()))
            return c;
        config_close(c);
    } else {
        free(text);
    }
    fail_memory(e, (double)sizeof *c + (double)strlen(path), path);
    return NULL;
}

struct config *config_open(const char *path, struct error *e)
{
    size_t size;
    char *text = file_read_whole(path, CONFIG_BYTES_MAX, &size, e);
    struct config *c = text ? create(path, text, size, e) : NULL;
    if (c && !(c->root = json_parse_lenient(path, "the file", text, size, e))) {
        config_close(c);
        c = NULL;
    }
    return c;
}

struct config *config_from_text(const char *path, const char *text, size_t size, struct error *e)
{
    if (size > CONFIG_BYTES_MAX) {
        fail(e, "%s: its config has %zu bytes (expected at most %d)", path, size, CONFIG_BYTES_MAX);
        return NULL;
    }
    char *copy = malloc(size + 1);
    if (!copy) {
        fail_memory(e, (double)size + 1, path);
        return NULL;
    }
    memcpy(copy, text, size);
    struct config *c = create(path, copy, size, e);
    if (c && !(c->root = json_parse_lenient(path, "its config", copy, size, e))) {
        config_close(c);
        c = NULL;
    }
    return c;
}

struct config *config_from_json(const char *path, json_t *object, struct error *e)
{
    char *text = object ? json_dumps(object, JSON_SORT_KEYS | JSON_INDENT(2)) : NULL;
    struct config *c = NULL;
    if (!text)
        fail_memory(e, (double)strlen(path), path);
    else
        c = create(path, text, strlen(text), e);
    if (c)
        c->root = object;
    else
        json_decref(object);
    return c;
}

void config_close(struct config *c)
{
    if (!c)
        return;
    json_decref(c->root);
    json_decref(c->read);
    free(c->text);
    free(c->path);
    free(c);
}

/* Makes config_text return the current state. */
static int write_text(struct config *c, struct error *e)
{
    char *text = json_dumps(c->root, JSON_INDENT(2));
    if (!text)
        return fail_memory(e, (double)c->size, c->path);
    free(c->text);
    c->text = text;
    c->size = strlen(text);
    return 0;
}

int config_remove(struct config *c, const char *key, struct error *e)
{
    return json_object_del(c->root, key) ? 0 : write_text(c, e);
}

int config_set(struct config *c, const char *key, json_t *value, struct error *e)
{
    return json_object_set_new(c->root, key, value) ? fail_memory(e, (double)c->size, c->path)
                                                    : write_text(c, e);
}

const char *config_path(const struct config *c)
{
    return c->path;
}

const char *config_name(const struct config *c)
{
    return path_base(c->path);
}

const char *config_text(const struct config *c, size_t *size)
{
    *size = c->size;
    return c->text;
}

/* Follows the dots of `key`. *value is the member, or NULL if it or a parent is absent or null. -1
 * with the name of the part in the way (`blocked`) if a parent is not an object. */
static int look_up(const struct config *c, const char *key, json_t **value, char blocked[KEY_MAX])
{
    json_t *at = c->root;
    const char *part = key;
    *value = NULL;
    for (;;) {
        size_t length = strcspn(part, ".");
        char name[KEY_MAX];
        snprintf(name, sizeof name, "%.*s", (int)length, part);
        at = json_object_get(at, name);
        if (!at || json_is_null(at))
            return 0;
        if (part[length] == '\0') {
            *value = at;
            return 0;
        }
        if (!json_is_object(at)) {
            snprintf(blocked, KEY_MAX, "%.*s", (int)(part + length - key), key);
            return -1;
        }
        part += length + 1;
    }
}

/* look_up() that remembers the key and its start. If memory runs out they stay unread, so they are
 * named or refused, never missed. */
static int look_up_and_mark(struct config *c, const char *key, json_t **value,
                            char blocked[KEY_MAX])
{
    if (look_up(c, key, value, blocked))
        return -1;
    for (const char *end = strchr(key, '.'); end; end = strchr(end + 1, '.')) { /* its start too */
        char name[KEY_MAX];
        snprintf(name, sizeof name, "%.*s", (int)(end - key), key);
        json_object_set_new(c->read, name, json_true());
    }
    json_object_set_new(c->read, key, json_true());
    return 0;
}

json_t *config_get(struct config *c, const char *key)
{
    json_t *value;
    char blocked[KEY_MAX];
    return look_up_and_mark(c, key, &value, blocked) ? NULL : value;
}

int config_has(struct config *c, const char *key)
{
    json_t *value;
    char blocked[KEY_MAX];
    return look_up(c, key, &value, blocked) == 0 && value != NULL;
}

int config_absent(const struct config *c, const char *key)
{
    return json_object_get(c->root, key) == NULL;
}

/* look_up for the typed getters: a parent of the wrong type is an error rather than an absent key.
 */
static int get(struct config *c, const char *key, json_t **value, struct error *e)
{
    char blocked[KEY_MAX];
    if (look_up_and_mark(c, key, value, blocked))
        return fail(e, "%s: %s is not an object (expected {...} with %s in it)", c->path, blocked,
                    key);
    return 0;
}

/* The text of a value in a message. */
static const char *describe(const json_t *value, char out[64])
{
    switch (json_typeof(value)) {
    case JSON_STRING: snprintf(out, 64, "'%.40s'", json_string_value(value)); break;
    case JSON_INTEGER: snprintf(out, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: snprintf(out, 64, "%.17g", json_real_value(value)); break;
    case JSON_TRUE:
    case JSON_FALSE: snprintf(out, 64, "%s", json_is_true(value) ? "true" : "false"); break;
    default:
        if (json_not_finite(value))
            snprintf(out, 64, "%.40s", json_not_finite(value));
        else
            snprintf(out, 64, "%s", json_is_object(value) ? "an object" : "a list");
    }
    return out;
}

/* The value as a whole number; 2048.0 counts as one. */
static int whole_number(const json_t *value, long *out)
{
    if (json_is_integer(value)) {
        *out = (long)json_integer_value(value);
        return 0;
    }
    double real = json_is_real(value) ? json_real_value(value) : NAN;
    if (!(fabs(real) <= 9007199254740992.0) || real != floor(real))
        return -1;
    *out = (long)real;
    return 0;
}

static int int_value(struct config *c, const char *key, json_t *value, long low, long high,
                     long *out, struct error *e)
{
    char text[64];
    long number;
    if (whole_number(value, &number) || number < low || number > high)
        return fail(e, "%s: %s is %s (expected a whole number from %ld to %ld)", c->path, key,
                    describe(value, text), low, high);
    *out = number;
    return 0;
}

int config_int(struct config *c, const char *key, long low, long high, long *out, struct error *e)
{
    json_t *value;
    if (get(c, key, &value, e))
        return -1;
    if (!value)
        return fail(e, "%s: %s is missing (expected a whole number from %ld to %ld)", c->path, key,
                    low, high);
    return int_value(c, key, value, low, high, out, e);
}

int config_int_or(struct config *c, const char *key, long low, long high, long fallback, long *out,
                  struct error *e)
{
    json_t *value;
    if (get(c, key, &value, e))
        return -1;
    *out = fallback;
    return value ? int_value(c, key, value, low, high, out, e) : 0;
}

int config_real_or(struct config *c, const char *key, double low, double high, double fallback,
                   double *out, struct error *e)
{
    json_t *value;
    if (get(c, key, &value, e))
        return -1;
    *out = fallback;
    if (!value)
        return 0;
    char text[64];
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (!(number >= low && number <= high))
        return fail(e, "%s: %s is %s (expected a number from %g to %g)", c->path, key,
                    describe(value, text), low, high);
    *out = number;
    return 0;
}

int config_bool_or(struct config *c, const char *key, int fallback, int *out, struct error *e)
{
    json_t *value;
    if (get(c, key, &value, e))
        return -1;
    *out = fallback;
    if (!value && fallback && !config_absent(c, key) &&
        !strchr(key, '.')) /* in Python null is false */
        return fail(e, "%s: %s is null (expected true or false)", c->path, key);
    if (!value)
        return 0;
    char text[64];
    if (!json_is_boolean(value))
        return fail(e, "%s: %s is %s (expected true or false)", c->path, key,
                    describe(value, text));
    *out = json_is_true(value);
    return 0;
}

int config_string_or(struct config *c, const char *key, const char *fallback, const char **out,
                     struct error *e)
{
    json_t *value;
    if (get(c, key, &value, e))
        return -1;
    *out = fallback;
    if (!value)
        return 0;
    char text[64];
    if (!json_is_string(value))
        return fail(e, "%s: %s is %s (expected text in quotes)", c->path, key,
                    describe(value, text));
    *out = json_string_value(value);
    return 0;
}

int config_choice_or(struct config *c, const char *key, const char *const *choices, int fallback,
                     int *out, struct error *e)
{
    json_t *value;
    if (get(c, key, &value, e))
        return -1;
    *out = fallback;
    if (!value)
        return 0;
    char list[512] = "";
    for (int i = 0; choices[i]; i++) {
        if (json_is_string(value) && strcmp(json_string_value(value), choices[i]) == 0) {
            *out = i;
            return 0;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", choices[i]);
    }
    char text[64];
    return fail(e, "%s: %s is %s (expected one of %s)", c->path, key, describe(value, text), list);
}

int config_asked(const struct config *c, const char *key)
{
    return json_object_get(c->read, key) != NULL;
}

json_t *config_root(const struct config *c)
{
    return c->root;
}

const char *config_first_unread(struct config *c)
{
    const char *key;
    json_t *value;
    json_object_foreach(c->root, key, value) if (!json_is_null(value) &&
                                                 !json_object_get(c->read, key)) return key;
    return NULL;
}
