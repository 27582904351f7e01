/* config.json through Jansson: duplicate keys rejected, nesting and size bounded, typed getters with one message form.
 *
 * A `config` remembers which keys were read, so that a family can refuse what it does not know. */
#ifndef REACH_IO_FORMATS_JSON_H
#define REACH_IO_FORMATS_JSON_H

#include "io/error.h"

#include <jansson.h>

struct config;

struct config *config_open(const char *path, struct error *e) MUST_USE; /* caller closes; NULL on failure */
/* The same of `size` bytes of text, or of an object that is taken over (on failure too). `path` says in messages where the config
 * comes from. */
struct config *config_from_text(const char *path, const char *text, size_t size, struct error *e) MUST_USE;
struct config *config_from_json(const char *path, json_t *object, struct error *e) MUST_USE;
void config_close(struct config *c);
const char *config_path(const struct config *c);
/* The last part of it: "config.json", or the name of the file that holds tensors and config. */
const char *config_name(const struct config *c);
/* What was parsed; of an object its text with sorted keys. Borrowed. */
const char *config_text(const struct config *c, size_t *size);
/* The member of that name, marked as read; NULL if absent or null. Dots descend: "rope_scaling.factor" (typed getters refuse a
 * rope_scaling that is not an object). Borrowed. */
json_t *config_get(struct config *c, const char *key);
int config_has(struct config *c, const char *key); /* present and not null; does not mark it as read */
/* Not there at all: null counts as there. For settings that null turns off, and whose absence means a default; a top-level key.
 */
int config_absent(const struct config *c, const char *key);

/* Typed getters: on success 0 and *out. When the key is absent or null: *out = fallback for the *_or forms, an error for the
 * others. A wrong type, a fraction where a whole number is due, or a value outside [low, high] is an error that names the key and
 * the range. */
int config_int(struct config *c, const char *key, long low, long high, long *out, struct error *e) MUST_USE;
int config_int_or(struct config *c, const char *key, long low, long high, long fallback, long *out, struct error *e) MUST_USE;
int config_real_or(struct config *c, const char *key, double low, double high, double fallback, double *out,
                   struct error *e) MUST_USE;
/* A null where true is the fallback is refused: Python takes it for false. */
int config_bool_or(struct config *c, const char *key, int fallback, int *out, struct error *e) MUST_USE;
/* *out is borrowed from the config. */
int config_string_or(struct config *c, const char *key, const char *fallback, const char **out, struct error *e) MUST_USE;
/* Index of the string in a NULL-terminated list of choices; the error lists them. */
int config_choice_or(struct config *c, const char *key, const char *const *choices, int fallback, int *out,
                     struct error *e) MUST_USE;

/* Takes a top-level key away, if it is there, and what config_text gives is the rest. */
int config_remove(struct config *c, const char *key, struct error *e) MUST_USE;
/* Gives a top-level key a value, which is taken over (on failure too), and what config_text gives has it. */
int config_set(struct config *c, const char *key, json_t *value, struct error *e) MUST_USE;

/* A getter was asked for the key (dotted, or what a dotted one begins with), whether it is there or not. */
int config_asked(const struct config *c, const char *key);
/* The parsed object itself, for a look at all its members. Borrowed; marks nothing as read. */
json_t *config_root(const struct config *c);

/* The first top-level key never read, or NULL. A key whose value is null counts as absent. Borrowed. */
const char *config_first_unread(struct config *c);

/* Parses `size` bytes of text as one JSON object, duplicate keys and broken UTF-8 refused, and so is text whose values would take
 * more than 512 MiB: a list of nothing but {} takes 80 times its text. `what` names the text in the message ("the header"). Whole
 * numbers beyond 64 bits and numbers beyond doubles are refused wherever they stand: for files whose every number counts. Caller
 * calls json_decref. */
json_t *json_parse_object(const char *path, const char *what, const char *text, size_t size, struct error *e) MUST_USE;
/* The same for settings and tables, where such a number may stand under a key that nobody reads, and so may the NaN, Infinity and
 * -Infinity that Python writes. A whole number beyond 64 bits becomes a real. What is not finite becomes a list that no reader
 * takes for anything: whoever does read the key refuses it. */
json_t *json_parse_lenient(const char *path, const char *what, const char *text, size_t size, struct error *e) MUST_USE;
/* How a value that is not finite stands in the text; NULL of all other values. Borrowed. */
const char *json_not_finite(const json_t *value);

#endif
