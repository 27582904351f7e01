/* The tokenizer of a model, from the files in its folder or the GGUF file itself. */
#include "io/formats/json.h"
#include "io/system/watch.h"
#include "io/tensors/store.h"
#include "io/tokenizer/gguf.h"
#include "io/tokenizer/source.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 256 << 20 };

static int open_gguf(struct tokenizer **out, const char *model, struct error *e)
{
    struct gguf g;
    struct tensors *t;
    int result = source_map_gguf(&g, &t, model, e) || tokenizer_from_gguf(out, &g, e) ? -1 : 0;
    if (result == 0 && (result = tensors_unchanged(t, e))) {
        tokenizer_close(*out);
        *out = NULL;
    }
    gguf_free(&g);
    tensors_close(t);
    return result;
}

int tokenizer_text(char **json, char **settings, struct error *refused, const char *model,
                   struct error *e)
{
    json_t *root = NULL, *other = NULL;
    struct gguf g;
    struct tensors *t;
    *json = *settings = NULL;
    *refused = (struct error){""};
    if (!source_is_gguf(model))
        return 0;
    int result = source_map_gguf(&g, &t, model, e);
    if (result == 0 && gguf_tokenizer(&root, &other, &g, 1, refused) == 0 && root) {
        *json = json_dumps(root, JSON_INDENT(1));
        *settings = json_dumps(other, JSON_INDENT(1));
        result = *json && *settings ? tensors_unchanged(t, e)
                                    : fail_memory(e, (double)g.size, "the tokenizer");
    }
    json_decref(root);
    json_decref(other);
    gguf_free(&g);
    tensors_close(t);
    return result;
}

/* The files beside the tokenizer as one text, like tokenizer_config.json; text NULL: none. */
static int read_beside(struct source *out, struct watch *w, const char *path, struct error *e)
{
    json_t *joined;
    char *name;
    *out = (struct source){0};
    if (source_read_settings(&joined, &name, w, path, e))
        return -1;
    char *text = json_dumps(joined, 0);
    *out = (struct source){.path = name, .text = text, .size = text ? strlen(text) : 0};
    json_decref(joined);
    return text ? 0 : fail_memory(e, 4096, path);
}

static struct tokenizer *parse_model(const char *name, struct source model,
                                     const struct source *settings, struct error *e)
{
    return strcmp(name, "tokenizer.model") == 0 &&
                   !tiktoken_recognize((struct span){model.text, model.size})
               ? tokenizer_parse_pieces(model, settings, e)
               : tokenizer_parse_ranks(model, settings, e);
}

/* The tokenizer from the first existing file; *out NULL: none exists. */
static int open_first(struct tokenizer **out, struct source parts[4], struct watch *w,
                      const char *path, struct error *e)
{
    static const char *const models[] = {"tokenizer.model", "tiktoken.model", "qwen.tiktoken"};
    enum { MODELS = sizeof models / sizeof *models };
    struct source *json = &parts[0], *vocabulary = &parts[1], *merges = &parts[2],
                  *model = &parts[3], settings = {0};
    if (source_read(json, w, path, "tokenizer.json", FILE_BYTES_MAX, e) ||
        (!json->text && (source_read(vocabulary, w, path, "vocab.json", FILE_BYTES_MAX, e) ||
                         source_read(merges, w, path, "merges.txt", FILE_BYTES_MAX, e))))
        return -1;
    const int two = vocabulary->text && merges->text;
    int k = 0;
    for (; !json->text && !two && !model->text && k < MODELS; k++) {
        source_free(model);
        if (source_read(model, w, path, models[k], FILE_BYTES_MAX, e))
            return -1;
    }
    if (!json->text && !two && !model->text)
        return 0;
    if (read_beside(&settings, w, path, e) == 0)
        *out = json->text ? tokenizer_parse(*json, &settings, e)
               : two      ? tokenizer_parse_merges(*vocabulary, *merges, &settings, e)
                          : parse_model(models[k - 1], *model, &settings, e);
    source_free(&settings);
    return *out ? 0 : -1;
}

int tokenizer_open(struct tokenizer **out, const char *path, struct error *e)
{
    struct source parts[4] = {0};
    struct watch w = {0};
    *out = NULL;
    if (source_is_gguf(path) && (open_gguf(out, path, e) || *out))
        return *out ? 0 : -1;
    int result = open_first(out, parts, &w, path, e);
    if (result == 0 && watch_check(&w, e)) { /* the files of two tokenizers would be mixed up */
        tokenizer_close(*out);
        *out = NULL;
        result = -1;
    }
    watch_close(&w);
    for (int i = 0; i < 4; i++)
        source_free(&parts[i]);
    return result;
}
