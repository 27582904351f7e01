#include "io/containers/llmc.h"

#include <stdio.h>
#include <string.h>

enum { HEADER_NUMBERS = 256, HEADER_BYTES = 4 * HEADER_NUMBERS, GPT2_TOKENS = 50257 };

/* The header's sizes, in its order from its third number on. */
struct sizes {
    size_t positions, vocabulary, layers, heads, hidden, padded;
};

/* The file being read. */
struct reader {
    struct tensors *t;
    const struct mapped *file;
    const struct stored_type *type;
    size_t at; /* bytes */
    struct error *e;
};

static int read_header(struct sizes *out, const struct stored_type **type,
                       const struct mapped *file, struct error *e)
{
    static const struct {
        const char *name;
        int32_t most;
    } rows[] = {{"positions", 1 << 30}, {"tokens in the vocabulary", 1 << 26},
                {"layers", 10000},      {"heads", 1 << 16},
                {"hidden", 1 << 20},    {"rows in the padded vocabulary", 1 << 27}};
    size_t *sizes[] = {&out->positions, &out->vocabulary, &out->layers,
                       &out->heads,     &out->hidden,     &out->padded};
    int32_t header[HEADER_NUMBERS];
    if (file->size < HEADER_BYTES)
        return fail(e, "%s: has %zu bytes (expected llm.c's header of %d)", file->path, file->size,
                    HEADER_BYTES);
    memcpy(header, file->bytes, sizeof header);
    if (header[0] != LLMC_MAGIC || (header[1] != 3 && header[1] != 5))
        return fail(e, "%s: is llm.c's format %d, version %d (expected %d, version 3 or 5)",
                    file->path, header[0], header[1], LLMC_MAGIC);
    *type = stored_type_find(header[1] == 3 ? "F32" : "BF16");
    for (int i = 0; i < 6; i++) {
        if (header[2 + i] < 1 || header[2 + i] > rows[i].most)
            return fail(e, "%s: has %d %s (expected 1 to %d)", file->path, header[2 + i],
                        rows[i].name, rows[i].most);
        *sizes[i] = (size_t)header[2 + i];
    }
    if (out->padded < out->vocabulary)
        return fail(e, "%s: pads a vocabulary of %zu to %zu rows", file->path, out->vocabulary,
                    out->padded);
    return 0;
}

/* One kind of parameter: `count` tensors in a row, named by "FORMAT" with the layer's number. Of a
 * matrix of `rows` by `columns` (0: a vector) the first `kept` rows are used, transposed or as
 * stored. */
static int add(struct reader *r, const char *format, size_t count, size_t rows, size_t columns,
               size_t kept, int transposed)
{
    size_t bytes = r->type->bytes, one = rows * (columns ? columns : 1);
    if (size_multiply(&bytes, bytes, one) || bytes > (r->file->size - r->at) / count)
        return fail(r->e, "%s: ends before %s (it is cut off, or its header is wrong)",
                    r->file->path, format);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        size_t shape[2] = {kept, columns};
        const char *number = strchr(format, '#');
        if (number)
            snprintf(name, sizeof name, "%.*s%zu%s", (int)(number - format), format, i, number + 1);
        else
            snprintf(name, sizeof name, "%s", format);
        struct tensor *t = store_add(r->t, r->file, name, strlen(name), r->e);
        if (transposed)
            shape[0] = columns, shape[1] = kept;
        if (!t || store_shape(t, r->type, columns ? 2 : 1, shape, r->file->path, r->e))
            return -1;
        if (transposed)
            t->stride[0] = 1, t->stride[1] = columns;
        t->data = r->file->bytes + r->at;
        r->at += bytes;
    }
    return 0;
}

/* attention's and MLP's, each grouped over layers */
static int add_layers(struct reader *r, const struct sizes *s)
{
    size_t l = s->layers, c = s->hidden;
    return add(r, "h.#.ln_1.weight", l, c, 0, c, 0) || add(r, "h.#.ln_1.bias", l, c, 0, c, 0) ||
           add(r, "h.#.attn.c_attn.weight", l, 3 * c, c, 3 * c, 1) ||
           add(r, "h.#.attn.c_attn.bias", l, 3 * c, 0, 3 * c, 0) ||
           add(r, "h.#.attn.c_proj.weight", l, c, c, c, 1) ||
           add(r, "h.#.attn.c_proj.bias", l, c, 0, c, 0) ||
           add(r, "h.#.ln_2.weight", l, c, 0, c, 0) || add(r, "h.#.ln_2.bias", l, c, 0, c, 0) ||
           add(r, "h.#.mlp.c_fc.weight", l, 4 * c, c, 4 * c, 1) ||
           add(r, "h.#.mlp.c_fc.bias", l, 4 * c, 0, 4 * c, 0) ||
           add(r, "h.#.mlp.c_proj.weight", l, c, 4 * c, c, 1) ||
           add(r, "h.#.mlp.c_proj.bias", l, c, 0, c, 0);
}

int llmc_read(struct tensors *t, const struct mapped *file, struct config **own, struct error *e)
{
    struct reader r = {.t = t, .file = file, .at = HEADER_BYTES, .e = e};
    struct sizes s;
    if (read_header(&s, &r.type, file, e))
        return -1;
    size_t c = s.hidden;
    if (add(&r, "wte.weight", 1, s.padded, c, s.vocabulary, 0) ||
        add(&r, "wpe.weight", 1, s.positions, c, s.positions, 0) || add_layers(&r, &s) ||
        add(&r, "ln_f.weight", 1, c, 0, c, 0) || add(&r, "ln_f.bias", 1, c, 0, c, 0))
        return -1;
    if (r.at != file->size)
        return fail(e, "%s: %zu bytes follow its last weight (expected none)", file->path,
                    file->size - r.at);
    json_t *config = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:b}", "model_type",
                               "gpt2", "vocab_size", (json_int_t)s.vocabulary, "n_positions",
                               (json_int_t)s.positions, "n_embd", (json_int_t)s.hidden, "n_layer",
                               (json_int_t)s.layers, "n_head", (json_int_t)s.heads,
                               "activation_function", "gelu_new", "layer_norm_epsilon", 1e-5,
                               "tie_word_embeddings", 1);
    if (config && s.vocabulary == GPT2_TOKENS)
        json_object_set_new(config, "bos_token_id", json_integer(GPT2_TOKENS - 1));
    *own = config_from_json(file->path, config, e);
    return *own ? 0 : -1;
}
