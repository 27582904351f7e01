#include "io/torch/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { NESTING_MAX = 32, NUMBER_MAX = 64 };

/* -- scalars -- */

static int is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return 1;
    return 0;
}

/* [-+]? (0 | [1-9][0-9_]* | 0[0-7_]+ | 0x[0-9a-fA-F_]+ | 0b[01_]+), copied without sign and
 * underscores. Returns the base, 0: not an integer. */
static int integer_base(const char *text, char digits[NUMBER_MAX])
{
    const char *allowed;
    int base;
    text += *text == '-' || *text == '+';
    if (strncmp(text, "0x", 2) == 0)
        base = 16, allowed = "0123456789abcdefABCDEF_", text += 2;
    else if (strncmp(text, "0b", 2) == 0)
        base = 2, allowed = "01_", text += 2;
    else if (text[0] == '0' && text[1])
        base = 8, allowed = "01234567_", text += 1;
    else if (isdigit((unsigned char)*text))
        base = 10, allowed = "0123456789_";
    else
        return 0;
    if (*text == '\0' || text[strspn(text, allowed)] || strlen(text) >= NUMBER_MAX)
        return 0;
    size_t n = 0;
    for (; *text; text++)
        if (*text != '_')
            digits[n++] = *text;
    digits[n] = '\0';
    return n ? base : 0;
}

static json_t *integer_scalar(const char *text)
{
    char digits[NUMBER_MAX];
    int base = integer_base(text, digits);
    if (!base)
        return NULL;
    errno = 0;
    long long value = strtoll(digits, NULL, base);
    if (errno)
        return json_string(text); /* beyond 64 bits: nothing that we read */
    return json_integer(*text == '-' ? -value : value);
}

/* ([-+]? [0-9][0-9_]* \. [0-9_]* | \. [0-9][0-9_]*) ([eE][-+][0-9]+)?, or NULL. */
static json_t *real_scalar(const char *text)
{
    char copy[NUMBER_MAX];
    size_t n = 0, whole, fraction;
    const char *p = text + (*text == '-' || *text == '+');
    whole = strspn(p, "0123456789_");
    if (p[whole] != '.' || (whole && *p == '_') || strlen(text) >= sizeof copy)
        return NULL;
    fraction = strspn(p + whole + 1, "0123456789_");
    if (!whole && (p > text || !fraction || p[1] == '_'))
        return NULL;
    p += whole + 1 + fraction;
    if (*p == 'e' || *p == 'E') {
        if ((p[1] != '-' && p[1] != '+') || !isdigit((unsigned char)p[2]))
            return NULL;
        p += 2 + strspn(p + 2, "0123456789");
    }
    if (*p)
        return NULL;
    for (p = text; *p; p++)
        if (*p != '_')
            copy[n++] = *p;
    copy[n] = '\0';
    double value = strtod(copy, NULL);
    return isfinite(value) ? json_real(value) : json_string(text);
}

static json_t *plain_scalar(const char *text)
{
    static const char *const nothing[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes",
                                      "YES",  "on",   "On",   "ON",  NULL};
    static const char *const no[] = {"false", "False", "FALSE", "no",  "No",
                                     "NO",    "off",   "Off",   "OFF", NULL};
    if (is_one_of(text, nothing))
        return json_null();
    if (is_one_of(text, yes))
        return json_true();
    if (is_one_of(text, no))
        return json_false();
    json_t *number = integer_scalar(text);
    if (!number)
        number = real_scalar(text);
    return number ? number : json_string(text);
}

/* -- nodes -- */

struct reader {
    const char *path;
    yaml_document_t *document;
    struct error *e;
};

static json_t *refuse(const struct reader *r, const yaml_node_t *node, const char *what)
{
    fail(r->e, "%s: line %zu: %s", r->path, node ? node->start_mark.line + 1 : 0, what);
    return NULL;
}

static json_t *convert(struct reader *r, int index, int depth);

static json_t *convert_mapping(struct reader *r, const yaml_node_t *node, int depth)
{
    json_t *object = json_object();
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         object && pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
        json_t *value = NULL;
        if (!key || key->type != YAML_SCALAR_NODE ||
            strlen((const char *)key->data.scalar.value) != key->data.scalar.length)
            refuse(r, node, "a key is not a plain name");
        else
            value = convert(r, pair->value, depth + 1);
        if (!value || json_object_set_new(object, (const char *)key->data.scalar.value, value)) {
            if (value)
                refuse(r, node, "a key is not UTF-8, or memory has run out");
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *convert_sequence(struct reader *r, const yaml_node_t *node, int depth)
{
    json_t *list = json_array();
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         list && item < node->data.sequence.items.top; item++) {
        json_t *value = convert(r, *item, depth + 1);
        if (!value || json_array_append_new(list, value)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *convert(struct reader *r, int index, int depth)
{
    const yaml_node_t *node = yaml_document_get_node(r->document, index);
    json_t *value = NULL;
    if (!node || depth > NESTING_MAX)
        return refuse(r, node, "is nested too deeply");
    switch (node->type) {
    case YAML_SCALAR_NODE: {
        const char *text = (const char *)node->data.scalar.value;
        int plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (strlen(text) == node->data.scalar.length)
            value = plain ? plain_scalar(text) : json_string(text);
        return value ? value : refuse(r, node, "holds text that cannot be kept");
    }
    case YAML_SEQUENCE_NODE: return convert_sequence(r, node, depth);
    case YAML_MAPPING_NODE: return convert_mapping(r, node, depth);
    default: return refuse(r, node, "is neither a scalar, a list nor a mapping");
    }
}

/* -- the document -- */

/* Anchors and tags would let a small file expand: checks events before building the document. */
static int check_events(const char *path, const char *text, size_t size, struct error *e)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int done = 0, documents = 0, result = -1;
    long depth = 0;
    if (!yaml_parser_initialize(&parser))
        return fail_memory(e, sizeof parser, path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    while (!done) {
        const unsigned char *anchor = NULL, *tag = NULL;
        if (!yaml_parser_parse(&parser, &event)) {
            fail(e, "%s: is not YAML: %s (line %zu)", path,
                 parser.problem ? parser.problem : "it cannot be read",
                 parser.problem_mark.line + 1);
            goto end;
        }
        if (event.type == YAML_SCALAR_EVENT)
            anchor = event.data.scalar.anchor, tag = event.data.scalar.tag;
        if (event.type == YAML_SEQUENCE_START_EVENT)
            anchor = event.data.sequence_start.anchor, tag = event.data.sequence_start.tag, depth++;
        if (event.type == YAML_MAPPING_START_EVENT)
            anchor = event.data.mapping_start.anchor, tag = event.data.mapping_start.tag, depth++;
        depth -= event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        documents += event.type == YAML_DOCUMENT_START_EVENT;
        done = event.type == YAML_STREAM_END_EVENT;
        size_t line = event.start_mark.line + 1;
        int refused = anchor || tag || event.type == YAML_ALIAS_EVENT || depth > NESTING_MAX ||
                      documents > 1;
        int tagged = tag != NULL;
        yaml_event_delete(&event);
        if (refused) {
            fail(e, "%s: line %zu: %s", path, line,
                 tagged                ? "a tag is not read (nothing in a checkpoint is ever run)"
                 : depth > NESTING_MAX ? "is nested too deeply"
                 : documents > 1       ? "a second document begins (expected one)"
                                       : "anchors and aliases are not read");
            goto end;
        }
    }
    result = 0;
end:
    yaml_parser_delete(&parser);
    return result;
}

json_t *yaml_load_memory(const char *path, const char *text, size_t size, struct error *e)
{
    yaml_parser_t parser;
    yaml_document_t document;
    json_t *root = NULL;
    if (check_events(path, text, size, e))
        return NULL;
    if (!yaml_parser_initialize(&parser)) {
        fail_memory(e, sizeof parser, path);
        return NULL;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (!yaml_parser_load(&parser, &document)) {
        fail(e, "%s: is not YAML: %s (line %zu)", path,
             parser.problem ? parser.problem : "it cannot be read", parser.problem_mark.line + 1);
        goto end;
    }
    const yaml_node_t *first = yaml_document_get_root_node(&document);
    if (first && first->type == YAML_MAPPING_NODE)
        root = convert(&(struct reader){path, &document, e}, 1, 0);
    else
        fail(e, "%s: is not a mapping (expected names with values)", path);
    yaml_document_delete(&document);
end:
    yaml_parser_delete(&parser);
    return root;
}
