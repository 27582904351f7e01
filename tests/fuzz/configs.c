/* Targets: config.json by itself, and with the tensors of a model. */
#include "tests/fuzz/fuzz.h"

#include "io/formats/json.h"
#include "model/engine.h"

#include <stdlib.h>
#include <string.h>

int fuzz_config(const uint8_t *data, size_t size)
{
    static const char *const choices[] = {"gelu", "relu", NULL};
    struct error e = {""};
    struct config *c = config_from_text("fuzz", (const char *)data, size, &e);
    if (!c)
        return 0;
    const char *key;
    json_t *value, *keys = json_loadb((const char *)data, size, 0, NULL);
    json_object_foreach(keys, key, value)
    {
        struct error refused = {""};
        long whole;
        double real;
        int flag, taken = 0;
        const char *text;
        taken += config_int(c, key, -5, 1 << 20, &whole, &refused) == 0;
        taken += config_int_or(c, key, 1, 100, 7, &whole, &refused) == 0;
        taken += config_real_or(c, key, 0, 1e6, 0.5, &real, &refused) == 0;
        taken += config_bool_or(c, key, 1, &flag, &refused) == 0;
        taken += config_string_or(c, key, "", &text, &refused) == 0;
        taken += config_choice_or(c, key, choices, 0, &flag, &refused) == 0;
        if (taken < 6 && !refused.text[0])
            abort();
        (void)config_has(c, key);
    }
    if (keys && config_first_unread(c) && !strchr(config_first_unread(c), '.') &&
        strlen(config_first_unread(c)) < 100)
        abort(); /* all were asked for */
    json_decref(keys);
    config_close(c);
    return 1;
}

/* The most bytes of data that a header of safetensors claims, so that inputs need not hold them. */
static size_t data_bytes(const uint8_t *header, size_t size)
{
    size_t most = 0;
    const char *name;
    json_t *entry, *root = json_loadb((const char *)header, size, 0, NULL);
    json_object_foreach(root, name, entry)
    {
        json_int_t end = json_integer_value(
            json_array_get(json_object_get(entry, "data_offsets"), 1));
        if (end > 0 && (size_t)end > most)
            most = (size_t)end;
    }
    json_decref(root);
    return most;
}

/* Runs the model forward and back on a short segment, on plain loops, which the sanitizers see.
 * Numbers may come out as anything.
 */
static void run(const struct decoder *d)
{
    enum { POSITIONS = 5 };
    static struct kernels *plain;
    struct error e = {""};
    const struct engine_request o = {.positions = POSITIONS,
                                     .weights = WEIGHTS_RESIDENT,
                                     .memory = 1u << 28};
    const int32_t last = d->vocabulary - 1, ids[POSITIONS + 1] = {0, last, last / 2, 0, last, last};
    double norm[POSITIONS], logprob;
    if (!plain && !(plain = kernels_open("f64", &e)))
        abort();
    struct engine *g = engine_create(plain, d, &o, &e);
    if ((!g || engine_measure(g, norm, &logprob, ids, 1, &e)) && !e.text[0])
        abort();
    engine_close(g);
}

/* config.json, and the header of its model.safetensors, whose data are all the same number. */
int fuzz_family(const uint8_t *data, size_t size)
{
    enum { DATA_MAX = 4 << 20 };
    struct fuzz_part parts[2];
    struct error e = {""};
    fuzz_split(parts, 2, data, size);
    size_t numbers = data_bytes(parts[1].data, parts[1].size);
    if (numbers > DATA_MAX)
        return 0;
    uint64_t header = parts[1].size;
    uint8_t *file = malloc(sizeof header + header + numbers);
    if (!file)
        abort();
    memset(file + sizeof header + header, 0x40,
           numbers); /* 3.004 as float32: fairseq takes such a version for one of today */
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, parts[1].data, header);
    fuzz_write("config.json", parts[0].data, parts[0].size);
    fuzz_write("model.safetensors", file, sizeof header + header + numbers);
    free(file);
    struct decoder *d = decoder_open(fuzz_folder(), &e);
    if (!d && !e.text[0])
        abort();
    if (d) {
        fuzz_read_tensors(d->tensors);
        run(d);
    }
    decoder_close(d);
    return d != NULL;
}
