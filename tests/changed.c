#include "tests/changed.h"

#include "tests/scratch.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        assert_int_equal(json_object_set_new(at, path, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
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
