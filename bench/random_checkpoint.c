/* Writes a random checkpoint of a given shape, for benchmarks: the time does not depend on the
 * values.
 *
 *   random_checkpoint FOLDER gpt2 LAYERS HEADS HIDDEN VOCABULARY POSITIONS     GPT-2 layout, f32
 *   random_checkpoint FOLDER llama LAYERS HEADS HIDDEN MLP VOCABULARY [KV_HEADS [zeros]]   Llama
 * layout, bf16
 *
 * zeros: a file that takes no room on disk, for plans. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    char name[96];
    long rows, columns; /* columns 0: a vector */
    float mean, spread;
};

static struct entry *entries;
static size_t entry_count, entry_room;
static int half; /* 1: bf16 */
static int zeros; /* 1: of all weights */

static void add(const char *name, long rows, long columns, float mean, float spread)
{
    if (entry_count == entry_room) {
        entry_room = 2 * entry_room + 64;
        entries = realloc(entries, entry_room * sizeof *entries);
        if (!entries)
            abort();
    }
    struct entry *e = &entries[entry_count++];
    *e = (struct entry){.rows = rows, .columns = columns, .mean = mean, .spread = spread};
    snprintf(e->name, sizeof e->name, "%s", name);
}

static void add_layer(const char *format, int layer, long rows, long columns, float mean,
                      float spread)
{
    char name[96];
    snprintf(name, sizeof name, format, layer);
    add(name, rows, columns, mean, spread);
}

static uint64_t generator = 1;

/* Uniform on [-1, 1) by xorshift. */
static float uniform(void)
{
    generator ^= generator << 13, generator ^= generator >> 7, generator ^= generator << 17;
    return (float)((double)(generator >> 11) / 4503599627370496.0 - 1);
}

static int write_tensors(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *f = fopen(path, "wb");
    if (!f)
        return -1;
    size_t size = half ? 2 : 4, offset = 0, room = 160 * entry_count + 64, at = 0;
    char *header = malloc(room);
    if (!header)
        abort();
    at += (size_t)snprintf(header, room, "{");
    for (size_t i = 0; i < entry_count; i++) {
        const struct entry *e = &entries[i];
        size_t bytes = (size_t)e->rows * (size_t)(e->columns ? e->columns : 1) * size;
        char shape[64];
        snprintf(shape, sizeof shape, e->columns ? "%ld,%ld" : "%ld", e->rows, e->columns);
        at += (size_t)
            snprintf(header + at, room - at,
                     "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                     i ? "," : "", e->name, half ? "BF16" : "F32", shape, offset, offset + bytes);
        offset += bytes;
    }
    at += (size_t)snprintf(header + at, room - at, "}");
    while (at % 8)
        header[at++] = ' ';
    uint64_t length = at;
    fwrite(&length, 8, 1, f);
    fwrite(header, 1, at, f);
    free(header);
    enum { BLOCK = 1 << 16 };
    static float values[BLOCK];
    static uint16_t halves[BLOCK];
    if (zeros && (fflush(f) || ftruncate(fileno(f), (off_t)(8 + at + offset)))) {
        fclose(f);
        return -1;
    }
    for (size_t i = 0; i < entry_count && !zeros; i++) {
        const struct entry *e = &entries[i];
        size_t left = (size_t)e->rows * (size_t)(e->columns ? e->columns : 1);
        while (left) {
            size_t n = left < BLOCK ? left : BLOCK;
            for (size_t j = 0; j < n; j++) {
                values[j] = e->mean + e->spread * uniform();
                uint32_t bits;
                memcpy(&bits, &values[j], 4);
                halves[j] = (uint16_t)(bits >> 16);
            }
            if (fwrite(half ? (void *)halves : (void *)values, size, n, f) != n)
                break;
            left -= n;
        }
    }
    int bad = ferror(f) != 0;
    return fclose(f) || bad ? -1 : 0;
}

static void gpt2(FILE *config, char **v)
{
    long layers = atol(v[0]), heads = atol(v[1]), d = atol(v[2]), vocabulary = atol(v[3]),
         positions = atol(v[4]);
    fprintf(config,
            "{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2LMHeadModel\"], \"vocab_size\": "
            "%ld, \"n_positions\": %ld, "
            "\"n_ctx\": %ld, \"n_embd\": %ld,\n"
            " \"n_layer\": %ld, \"n_head\": %ld, \"activation_function\": \"gelu_new\", "
            "\"layer_norm_epsilon\": 1e-05, "
            "\"bos_token_id\": 0, \"eos_token_id\": 0}\n",
            vocabulary, positions, positions, d, layers, heads);
    float w = 1.7f / sqrtf((float)d);
    add("transformer.wte.weight", vocabulary, d, 0, 0.05f);
    add("transformer.wpe.weight", positions, d, 0, 0.02f);
    for (int l = 0; l < layers; l++) {
        add_layer("transformer.h.%d.ln_1.weight", l, d, 0, 1, 0.1f);
        add_layer("transformer.h.%d.ln_1.bias", l, d, 0, 0, 0.1f);
        add_layer("transformer.h.%d.attn.c_attn.weight", l, d, 3 * d, 0, w);
        add_layer("transformer.h.%d.attn.c_attn.bias", l, 3 * d, 0, 0, 0.1f);
        add_layer("transformer.h.%d.attn.c_proj.weight", l, d, d, 0, w / 4);
        add_layer("transformer.h.%d.attn.c_proj.bias", l, d, 0, 0, 0.1f);
        add_layer("transformer.h.%d.ln_2.weight", l, d, 0, 1, 0.1f);
        add_layer("transformer.h.%d.ln_2.bias", l, d, 0, 0, 0.1f);
        add_layer("transformer.h.%d.mlp.c_fc.weight", l, d, 4 * d, 0, w);
        add_layer("transformer.h.%d.mlp.c_fc.bias", l, 4 * d, 0, 0, 0.1f);
        add_layer("transformer.h.%d.mlp.c_proj.weight", l, 4 * d, d, 0, w / 8);
        add_layer("transformer.h.%d.mlp.c_proj.bias", l, d, 0, 0, 0.1f);
    }
    add("transformer.ln_f.weight", d, 0, 1, 0.1f);
    add("transformer.ln_f.bias", d, 0, 0, 0.1f);
}

static void llama(FILE *config, char **v)
{
    long layers = atol(v[0]), heads = atol(v[1]), d = atol(v[2]), mlp = atol(v[3]),
         vocabulary = atol(v[4]), kv_heads = v[5] ? atol(v[5]) : heads, kv = d / heads * kv_heads;
    half = 1;
    zeros = v[5] && v[6] && strcmp(v[6], "zeros") == 0;
    fprintf(config,
            "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], "
            "\"vocab_size\": %ld, \"hidden_size\": %ld, "
            "\"intermediate_size\": %ld,\n"
            " \"num_hidden_layers\": %ld, \"num_attention_heads\": %ld, \"num_key_value_heads\": "
            "%ld, \"hidden_act\": \"silu\", "
            "\"rms_norm_eps\": 1e-05,\n"
            " \"rope_theta\": 10000.0, \"tie_word_embeddings\": false, "
            "\"max_position_embeddings\": 4096, \"torch_dtype\": "
            "\"bfloat16\"}\n",
            vocabulary, d, mlp, layers, heads, kv_heads);
    float w = 1.7f / sqrtf((float)d);
    add("model.embed_tokens.weight", vocabulary, d, 0, 0.05f);
    for (int l = 0; l < layers; l++) {
        add_layer("model.layers.%d.input_layernorm.weight", l, d, 0, 1, 0.1f);
        add_layer("model.layers.%d.self_attn.q_proj.weight", l, d, d, 0, w);
        add_layer("model.layers.%d.self_attn.k_proj.weight", l, kv, d, 0, w);
        add_layer("model.layers.%d.self_attn.v_proj.weight", l, kv, d, 0, w);
        add_layer("model.layers.%d.self_attn.o_proj.weight", l, d, d, 0, w / 4);
        add_layer("model.layers.%d.post_attention_layernorm.weight", l, d, 0, 1, 0.1f);
        add_layer("model.layers.%d.mlp.gate_proj.weight", l, mlp, d, 0, w);
        add_layer("model.layers.%d.mlp.up_proj.weight", l, mlp, d, 0, w);
        add_layer("model.layers.%d.mlp.down_proj.weight", l, d, mlp, 0, w / 8);
    }
    add("model.norm.weight", d, 0, 1, 0.1f);
    add("lm_head.weight", vocabulary, d, 0, w);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 8 ||
        (strcmp(argv[2], "gpt2") == 0 ? argc > 8 : strcmp(argv[2], "llama") != 0 || argc > 10)) {
        fprintf(stderr,
                "usage: random_checkpoint FOLDER gpt2 LAYERS HEADS HIDDEN VOCABULARY POSITIONS\n"
                "       random_checkpoint FOLDER llama LAYERS HEADS HIDDEN MLP VOCABULARY "
                "[KV_HEADS [zeros]]\n");
        return 2;
    }
    if (mkdir(argv[1], 0777) && errno != EEXIST) {
        perror(argv[1]);
        return 1;
    }
    snprintf(path, sizeof path, "%s/config.json", argv[1]);
    FILE *config = fopen(path, "w");
    if (!config) {
        perror(path);
        return 1;
    }
    (strcmp(argv[2], "gpt2") == 0 ? gpt2 : llama)(config, argv + 3);
    if (fclose(config) || write_tensors(argv[1])) {
        perror(argv[1]);
        return 1;
    }
    free(entries);
    return 0;
}
