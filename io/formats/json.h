/* config.json through Jansson: duplicate keys rejected, nesting and size bounded, typed getters
 * with one message form.
 *
 * A `config` remembers which keys were read, so that a family can refuse keys it does not know. */
#ifndef REACH_IO_FORMATS_JSON_H
#define REACH_IO_FORMATS_JSON_H

#include "io/error.h"

#include <jansson.h>

struct config;

struct config *config_open(const char *path,
                           struct error *e) MUST_USE; /* caller closes; NULL on failure */
/* The same from `size` bytes of text, or from an object, which is taken over (on failure too).
 * `path` names the source of the config in messages. */
struct config *config_from_text(const char *path, const char *text, size_t size,
                                struct error *e) MUST_USE;
struct config *config_from_json(const char *path, json_t *object, struct error *e) MUST_USE;
void config_close(struct config *c);
const char *config_path(const struct config *c);
/* The last part of the path: "config.json", or the name of the file that holds tensors and
 * config. */
const char *config_name(const struct config *c);
/* The parsed text; for an object its text with sorted keys. Borrowed. */
const char *config_text(const struct config *c, size_t *size);
/* The member of that name, marked as read; NULL if absent or null. Dots descend:
 * "rope_scaling.factor" (typed getters refuse a rope_scaling that is not an object). Borrowed. */
json_t *config_get(struct config *c, const char *key);
int config_has(struct config *c,
               const char *key); /* present and not null; does not mark it as read */
/* 1 if a top-level key is absent; null counts as present. For settings that null turns off and that
 * have a default when absent. */
int config_absent(const struct config *c, const char *key);

/* Typed getters: on success 0 and *out. When the key is absent or null: *out = fallback for the
 * *_or forms, an error for the others. A wrong type, a fraction instead of a whole number, or a
 * value outside [low, high] is an error that names the key and the range. */
int config_int(struct config *c, const char *key, long low, long high, long *out,
               struct error *e) MUST_USE;
int config_int_or(struct config *c, const char *key, long low, long high, long fallback, long *out,
                  struct error *e) MUST_USE;
int config_real_or(struct config *c, const char *key, double low, double high, double fallback,
                   double *out, struct error *e) MUST_USE;
/* If the fallback is true, null is refused: Python treats it as false. */
int config_bool_or(struct config *c, const char *key, int fallback, int *out,
                   struct error *e) MUST_USE;
/* *out is borrowed from the config. */
int config_string_or(struct config *c, const char *key, const char *fallback, const char **out,
                     struct error *e) MUST_USE;
/* Index of the string in a NULL-terminated list of choices; the error lists them. */
int config_choice_or(struct config *c, const char *key, const char *const *choices, int fallback,
                     int *out, struct error *e) MUST_USE;

/* Removes a top-level key, if present, also from the result of config_text. */
int config_remove(struct config *c, const char *key, struct error *e) MUST_USE;
/* Sets a top-level key, also in the result of config_text. The value is taken over (on failure
 * too). */
int config_set(struct config *c, const char *key, json_t *value, struct error *e) MUST_USE;

/* 1 if a getter asked for the key (dotted, or the start of a dotted key), present or not. */
int config_asked(const struct config *c, const char *key);
/* The parsed object itself, for access to all its members. Borrowed; marks nothing as read. */
json_t *config_root(const struct config *c);

/* The first top-level key never read, or NULL. A key whose value is null counts as absent.
 * Borrowed. */
const char *config_first_unread(struct config *c);

/* Parses `size` bytes of text as one JSON object. Duplicate keys and broken UTF-8 are refused, and
 * so is text whose values would take more than 512 MB (a list of nothing but {} takes 80 times its
 * text). `what` names the text in the message ("the header"). Whole numbers beyond 64 bits and
 * numbers beyond doubles are refused anywhere: for files where every number counts. Caller calls
 * json_decref. */
json_t *json_parse_object(const char *path, const char *what, const char *text, size_t size,
                          struct error *e) MUST_USE;
/* The same for settings and tables, in which a key that nobody reads may have such a number, or the
 * NaN, Infinity and -Infinity that Python writes. A whole number beyond 64 bits becomes a real. A
 * value that is not finite becomes a list that no reader accepts, so whoever reads the key refuses
 * it. */
json_t *json_parse_lenient(const char *path, const char *what, const char *text, size_t size,
                           struct error *e) MUST_USE;
/* The text of a value that is not finite; NULL for all other values. Borrowed. */
const char *json_not_finite(const json_t *value);

#endif
