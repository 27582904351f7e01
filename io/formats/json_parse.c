/* Text to Jansson's values, within memory bounds; numbers it cannot hold are converted. */
#include "io/formats/json.h"

#include "io/system/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARSED_BYTES_MAX = 512000000 };

/* An upper bound of Jansson's memory for the text: the measured sizes of its objects, lists,
 * members and strings, rounded up. Not valid after the first mistake in the text, where Jansson
 * stops. */
static size_t parsed_bytes(const char *text, size_t size)
{
    static const unsigned short bytes[256] = {
        ['{'] = 256, ['['] = 160, [':'] = 96, [','] = 64, ['"'] = 32};
    size_t total = size;
    for (size_t i = 0; i < size; i++) {
        total += bytes[(unsigned char)text[i]];
        if (text[i] == '"')
            for (i++; i < size && text[i] != '"'; i++)
                i += text[i] == '\\';
    }
    return total;
}

/* NULL with *problem on a mistake in the text. */
static json_t *load(const char *path, const char *what, const char *text, size_t size,
                    json_error_t *problem, struct error *e)
{
    size_t bytes = parsed_bytes(text, size);
    if (bytes > PARSED_BYTES_MAX) {
        char takes[BYTES_TEXT], most[BYTES_TEXT];
        fail(e, "%s: %s holds values that would take about %s (expected at most %s)", path, what,
             bytes_text(takes, (double)bytes), bytes_text(most, PARSED_BYTES_MAX));
        return NULL;
    }
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, problem);
    if (!root) {
        if (json_error_code(problem) == json_error_invalid_utf8)
            fail(e, "%s: %s is not UTF-8 (line %d)", path, what, problem->line);
        else
            fail(e, "%s: %s is not valid JSON: %s (line %d, column %d)", path, what, problem->text,
                 problem->line, problem->column);
        return NULL;
    }
    if (!json_is_object(root)) {
        fail(e, "%s: %s is not a JSON object (expected {...})", path, what);
        json_decref(root);
        return NULL;
    }
    return root;
}

json_t *json_parse_object(const char *path, const char *what, const char *text, size_t size,
                          struct error *e)
{
    json_error_t problem;
    return load(path, what, text, size, &problem, e);
}

/* -- numbers that Jansson cannot hold -- */

#define NOT_FINITE "not finite"
static const char before[] = "[{\"" NOT_FINITE "\":\"", behind[] = "\"}]";

static int is_part_of_word(char c)
{
    return c != '\0' && !strchr(" \t\r\n,:[]{}\"", c);
}

static size_t digits(const char *text, size_t at, size_t size)
{
    while (at < size && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* Whether the word is a JSON number, and whether one without fraction and exponent. */
static int is_number(const char *word, size_t size, int *is_integer)
{
    size_t sign = size && word[0] == '-', at = digits(word, sign, size);
    if (at == sign || (word[sign] == '0' && at > sign + 1))
        return 0;
    *is_integer = at == size;
    if (at < size && word[at] == '.') {
        size_t first = at + 1;
        if ((at = digits(word, first, size)) == first)
            return 0;
    }
    if (at < size && (word[at] == 'e' || word[at] == 'E')) {
        size_t first = at + 1;
        first += first < size && (word[first] == '+' || word[first] == '-');
        if ((at = digits(word, first, size)) == first)
            return 0;
    }
    return at == size;
}

static int is_named(const char *word, size_t size, const char *name)
{
    return size == strlen(name) && memcmp(word, name, size) == 0;
}

/* Writes the word in a form that Jansson can hold to `out` and returns the end of the output; a
 * character that is not part of a word follows the word. */
static char *write_word(char *out, const char *word, size_t size)
{
    int is_integer = 0, number = is_number(word, size, &is_integer), finite = 1, wide = 0;
    if (number) {
        finite = isfinite(strtod(word, NULL));
        errno = 0;
        wide = is_integer && finite && (strtoll(word, NULL, 10), errno == ERANGE);
    } else {
        finite = !is_named(word, size, "NaN") && !is_named(word, size, "Infinity") &&
                 !is_named(word, size, "-Infinity");
    }
    if (!finite)
        out = stpcpy(out, before);
    memcpy(out, word, size);
    out += size;
    if (!finite)
        out = stpcpy(out, behind);
    return wide ? stpcpy(out, ".0") : out;
}

/* A copy of the text with numbers that Jansson can hold; *size becomes its size. Caller frees; NULL
 * when memory runs out. */
static char *with_held_numbers(const char *text, size_t *size)
{
    size_t words = 0, at = 0;
    for (size_t i = 1; i < *size; i++)
        words += is_part_of_word(text[i - 1]) && !is_part_of_word(text[i]);
    char *copy = malloc(*size + words * (sizeof before + sizeof behind) + 1), *out = copy;
    if (!copy)
        return NULL;
    while (at < *size) {
        size_t start = at;
        if (text[at] == '"') {
            for (at++; at < *size && text[at] != '"'; at++)
                at += text[at] == '\\';
            at = at < *size ? at + 1 : *size;
        } else {
            while (at < *size && is_part_of_word(text[at]))
                at++;
            if (at > start && at < *size) {
                out = write_word(out, text + start, at - start);
                continue;
            }
            at += at == start;
        }
        memcpy(out, text + start, at - start);
        out += at - start;
    }
    *size = (size_t)(out - copy);
    return copy;
}

json_t *json_parse_lenient(const char *path, const char *what, const char *text, size_t size,
                           struct error *e)
{
    json_error_t problem = {0};
    struct error first = {""};
    json_t *root = load(path, what, text, size, &problem, &first);
    if (root)
        return root;
    enum json_error_code code = json_error_code(&problem);
    if (!*problem.text ||
        (code != json_error_numeric_overflow && code != json_error_invalid_syntax)) {
        fail(e, "%s", first.text);
        return NULL;
    }
    char *held = with_held_numbers(text, &size);
    if (!held) {
        fail_memory(e, (double)size, path);
        return NULL;
    }
    root = load(path, what, held, size, &problem, e);
    free(held);
    return root;
}

const char *json_not_finite(const json_t *value)
{
    return json_string_value(json_object_get(json_array_get(value, 0), NOT_FINITE));
}
