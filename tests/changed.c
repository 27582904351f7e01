#include "tests/changed.h"

#include "model/decoder.h"
#include "tests/program.h"
#include "tests/scratch.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Sets the member at a dotted path to a value in JSON; an empty value takes it away. */
static void change(json_t *config, const char *path, const char *value)
{
    char step[64];
    const char *dot;
    json_t *at = config;
    while ((dot = strchr(path, '.'))) {
        snprintf(step, sizeof step, "%.*s", (int)(dot - path), path);
        if (!json_is_object(json_object_get(at, step)))
            json_object_set_new(at, step, json_object());
        at = json_object_get(at, step);
        path = dot + 1;
    }
    if (*value)
        assert_int_equal(json_object_set_new(at, path, json_loads(value, JSON_DECODE_ANY, NULL)),
                         0);
    else
        json_object_del(at, path);
}

static void write_changed(const char *from, const char *path, const char *value)
{
    json_t *config = json_load_file(from, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(config);
    change(config, path, value);
    char *text = json_dumps(config, 0);
    scratch_write(scratch_folder, "config.json", text, strlen(text));
    free(text);
    json_decref(config);
}

const char *changed(const char *golden, const char *path, const char *value)
{
    char name[256];
    size_t size;
    snprintf(name, sizeof name, "tests/goldens/%s/config.json", golden);
    write_changed(name, path, value);
    snprintf(name, sizeof name, "tests/goldens/%s/model.safetensors", golden);
    unsigned char *file = scratch_read(name, &size);
    scratch_write(scratch_folder, "model.safetensors", file, size);
    free(file);
    return scratch_folder;
}

void change_again(const char *path, const char *value)
{
    write_changed(scratch_path(scratch_folder, "config.json"), path, value);
}

int rename_tensors(const char *folder, const char *from, const char *to)
{
    char path[4096];
    size_t size, header = 0;
    int count = 0;
    const char *name;
    json_t *member;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    unsigned char *file = scratch_read(path, &size);
    for (size_t i = 0; i < 8; i++)
        header |= (size_t)file[i] << 8 * i;
    json_t *old = json_loadb((char *)file + 8, header, 0, NULL), *new = json_object();
    assert_non_null(old);
    json_object_foreach(old, name, member)
    {
        char other[256];
        const char *at = strstr(name, from);
        snprintf(other, sizeof other, "%.*s%s%s", at ? (int)(at - name) : 0, name, at ? to : "",
                 at ? at + strlen(from) : name);
        count += at != NULL;
        assert_int_equal(json_object_set(new, other, member), 0);
    }
    char *text = json_dumps(new, JSON_COMPACT);
    size_t length = strlen(text), data = size - 8 - header;
    unsigned char *out = malloc(8 + length + data);
    assert_non_null(out);
    for (size_t i = 0; i < 8; i++)
        out[i] = (unsigned char)(length >> 8 * i);
    memcpy(out + 8, text, length);
    memcpy(out + 8 + length, file + 8 + header, data);
    scratch_write(folder, "model.safetensors", out, 8 + length + data);
    free(out), free(text), free(file);
    json_decref(old), json_decref(new);
    return count;
}

void nest(const char *outer, const char *member)
{
    json_t *config = json_load_file(scratch_path(scratch_folder, "config.json"), 0, NULL),
           *whole = json_pack("{s:s, s:o, s:{s:i}}", "model_type", outer, member, config,
                              "vision_config", "hidden_size", 8);
    assert_non_null(whole);
    char *text = json_dumps(whole, 0);
    scratch_write(scratch_folder, "config.json", text, strlen(text));
    free(text);
    json_decref(whole);
}

/* `count` elements of a tensor of a safetensors file, of 2 bytes each, set to `value`. */
static void set_elements(unsigned char *bytes, size_t size, const char *tensor, uint16_t value,
                         size_t count)
{
    static const char offsets[] = "\"data_offsets\":[";
    char quoted[256];
    snprintf(quoted, sizeof quoted, "\"%s\"", tensor);
    const char *at_tensor = memmem(bytes, size, quoted, strlen(quoted)),
               *at_offset = at_tensor ? strstr(at_tensor, offsets) : NULL;
    assert_non_null(at_offset);
    size_t from = 8 + (size_t)(bytes[0] + 256 * bytes[1]) +
                  strtoul(at_offset + strlen(offsets), NULL, 10);
    assert_true(from + 2 * count <= size);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + from + 2 * i, &value, 2);
}

void change_elements(const char *tensor, uint16_t value, size_t count)
{
    size_t size;
    unsigned char *bytes = scratch_read(scratch_path(scratch_folder, "model.safetensors"), &size);
    set_elements(bytes, size, tensor, value, count);
    scratch_write(scratch_folder, "model.safetensors", bytes, size);
    free(bytes);
}

void change_tensor(const char *golden, const char *name, const char *tensor, uint16_t value,
                   size_t count)
{
    char path[512];
    size_t size;
    unsigned char *bytes, *config;

    snprintf(path, sizeof path, "%s/model.safetensors", golden);
    bytes = scratch_read(path, &size);
    set_elements(bytes, size, tensor, value, count);
    assert_int_equal(mkdir(at("%s", name), 0700), 0);
    scratch_write(at("%s", name), "model.safetensors", bytes, size);
    free(bytes);
    snprintf(path, sizeof path, "%s/config.json", golden);
    config = scratch_read(path, &size);
    scratch_write(at("%s", name), "config.json", config, size);
    free(config);
}

void check_refused(const struct refusal *rows, size_t count)
{
    struct error e;
    int other = 0;
    for (size_t i = 0; i < count; i++) {
        struct decoder *d = decoder_open(changed(rows[i].golden, rows[i].path, rows[i].value), &e);
        if (d)
            fail_msg("%s with %s = %s was opened (expected: %s)", rows[i].golden, rows[i].path,
                     rows[i].value, rows[i].words);
        char what[256];
        snprintf(what, sizeof what, "%s, %s = %s", rows[i].golden, rows[i].path, rows[i].value);
        other += check_message(what, &e, rows[i].words) != 0;
    }
    if (other)
        fail_msg("%d other messages than expected", other);
}

const char *changed_bytes(const char *golden, const char *from, size_t size, const char *to)
{
    size_t total, found = 0;
    unsigned char *bytes = scratch_read(golden, &total);
    for (unsigned char *at = bytes; (at = memmem(at, total - (size_t)(at - bytes), from, size));
         at += size, found++)
        memcpy(at, to, size);
    if (!found)
        fail_msg("%s does not hold %.*s", golden, (int)size, from);
    const char *path = scratch_write(scratch_folder, "changed.gguf", bytes, total);
    free(bytes);
    return path;
}
