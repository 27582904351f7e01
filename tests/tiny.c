/* Tiny checkpoints and files for tests. */
#include "tests/tiny.h"

#include "analyze/curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Collects the header and the data of one safetensors file. */
struct writer {
    FILE *header, *data;
    const struct tiny *t;
    size_t offset;
    uint64_t drawn;
};

static void add_tensor(struct writer *w, const char *name, size_t rows, size_t columns,
                       float centre, float spread)
{
    size_t count = rows * (columns ? columns : 1), bytes = count * sizeof(float);

    if (w->t->missing && strcmp(name, w->t->missing) == 0)
        return;
    fprintf(w->header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%zu", w->offset ? "," : "", name,
            rows);
    if (columns)
        fprintf(w->header, ",%zu", columns);
    fprintf(w->header, "],\"data_offsets\":[%zu,%zu]}", w->offset, w->offset + bytes);
    w->offset += bytes;
    for (size_t i = 0; i < count; i++) {
        double uniform = (double)(random_at(w->t->seed, w->drawn++) >> 11) * 0x1p-53;
        float value = centre + spread * (float)(2 * uniform - 1);

        if (i == 0 && w->t->spoiled && strcmp(name, w->t->spoiled) == 0)
            value = NAN;
        fwrite(&value, sizeof value, 1, w->data);
    }
}

static void add_layer(struct writer *w, int layer, size_t hidden)
{
    static const struct part {
        const char *name;
        int rows, columns; /* multiples of hidden; columns 0: a vector */
        float centre, spread;
    } parts[] = {
        {"attention_norm.weight", 1, 0, 1, 0.1f},   {"attention_norm.bias", 1, 0, 0, 0.1f},
        {"attention.query.weight", 1, 1, 0, 0.5f},  {"attention.query.bias", 1, 0, 0, 0.1f},
        {"attention.key.weight", 1, 1, 0, 0.5f},    {"attention.key.bias", 1, 0, 0, 0.1f},
        {"attention.value.weight", 1, 1, 0, 0.5f},  {"attention.value.bias", 1, 0, 0, 0.1f},
        {"attention.output.weight", 1, 1, 0, 0.4f}, {"attention.output.bias", 1, 0, 0, 0.1f},
        {"mlp_norm.weight", 1, 0, 1, 0.1f},         {"mlp_norm.bias", 1, 0, 0, 0.1f},
        {"mlp.up.weight", 2, 1, 0, 0.4f},           {"mlp.up.bias", 2, 0, 0, 0.1f},
        {"mlp.down.weight", 1, 2, 0, 0.4f},         {"mlp.down.bias", 1, 0, 0, 0.1f},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];

        snprintf(name, sizeof name, "layers.%d.%s", layer, parts[i].name);
        add_tensor(w, name, (size_t)parts[i].rows * hidden, (size_t)parts[i].columns * hidden,
                   parts[i].centre, parts[i].spread);
    }
}

static int write_config(const char *folder, const struct tiny *t)
{
    char path[4200];
    FILE *f;

    snprintf(path, sizeof path, "%s/config.json", folder);
    f = fopen(path, "w");
    if (!f)
        return -1;
    fprintf(f,
            "{\"format\": \"reach-checkpoint/1\", \"vocabulary\": %d, \"hidden\": %d, \"layers\": "
            "%d, \"heads\": %d, ",
            t->vocabulary, t->hidden, t->layers, t->heads);
    if (t->learned)
        fprintf(f, "\"position\": {\"kind\": \"learned\", \"length\": %d}, ", t->learned);
    if (t->untied)
        fputs("\"tied_head\": false, ", f);
    fprintf(f, "%s \"mlp\": %d}\n", t->settings ? t->settings : "", 2 * t->hidden);
    return fclose(f);
}

int tiny_checkpoint(const char *folder, const struct tiny *given)
{
    struct tiny t = *given;
    struct writer w = {.t = &t};
    char path[4200], *header = NULL, *data = NULL;
    size_t header_size, data_size;
    uint64_t length;
    FILE *f;
    int rc = -1;

    t.vocabulary = t.vocabulary ? t.vocabulary : 256;
    t.hidden = t.hidden ? t.hidden : 16;
    t.layers = t.layers ? t.layers : 2;
    t.heads = t.heads ? t.heads : 2;
    if (mkdir(folder, 0777) != 0 || write_config(folder, &t) != 0)
        return -1;
    w.header = open_memstream(&header, &header_size);
    w.data = open_memstream(&data, &data_size);
    if (!w.header || !w.data)
        return -1;
    fputc('{', w.header);
    add_tensor(&w, "embedding.weight", (size_t)t.vocabulary, (size_t)t.hidden, 0, 0.5f);
    if (t.learned)
        add_tensor(&w, "position.weight", (size_t)t.learned, (size_t)t.hidden, 0, 0.2f);
    for (int i = 0; i < t.layers; i++)
        add_layer(&w, i, (size_t)t.hidden);
    add_tensor(&w, "final_norm.weight", (size_t)t.hidden, 0, 1, 0.1f);
    add_tensor(&w, "final_norm.bias", (size_t)t.hidden, 0, 0, 0.1f);
    if (t.untied)
        add_tensor(&w, "head.weight", (size_t)t.vocabulary, (size_t)t.hidden, 0, 0.5f);
    fputc('}', w.header);
    fclose(w.header);
    fclose(w.data);

    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    f = fopen(path, "wb");
    if (f) {
        length = header_size;
        fwrite(&length, sizeof length, 1, f);
        fwrite(header, 1, header_size, f);
        fwrite(data, 1, data_size, f);
        rc = fclose(f);
    }
    free(header);
    free(data);
    return rc;
}

int tiny_text(const char *path, size_t bytes, uint64_t seed)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz      ";
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    for (size_t i = 0; i < bytes; i++)
        fputc(letters[random_at(seed, i) % 32], f);
    return fclose(f);
}

int tiny_npy(const char *path, const int32_t *ids, size_t rows, size_t columns)
{
    FILE *f = fopen(path, "wb");
    char header[118];
    int used;

    if (!f)
        return -1;
    if (rows)
        used = snprintf(header, sizeof header,
                        "{'descr': '<i4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows,
                        columns);
    else
        used = snprintf(header, sizeof header,
                        "{'descr': '<i4', 'fortran_order': False, 'shape': (%zu,), }", columns);
    memset(header + used, ' ', sizeof header - (size_t)used);
    header[sizeof header - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
    fwrite(header, 1, sizeof header, f);
    fwrite(ids, sizeof *ids, (rows ? rows : 1) * columns, f);
    return fclose(f);
}

char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL, chunk[4096];
    size_t length = 0, n;
    FILE *out = f ? open_memstream(&text, &length) : NULL;

    if (out)
        while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
            fwrite(chunk, 1, n, out);
    if (out)
        fclose(out);
    if (f)
        fclose(f);
    if (size)
        *size = length;
    return text;
}
