/* What `reach info --json` says. */
#include "commands/info.h"

#include <math.h>

struct model_row {
    const char *path, *adapter, *family;
    long long parameters, tensors, bytes;
    const char *stored_as;
    long long vocabulary;
    double bos;
    long long layers, hidden, heads, kv_heads, head_size;
    const char *mlp, *experts, *blocks;
    long long tied;
    const char *positions;
    long long declared;
    const char *declared_by, *windows;
    long long inputs, cone;
    const char *assumed, *not_understood;
    long long train_length;
    const char *digest, *verified;
};

static const struct csv_column model_columns[] = {
    CSV_COLUMN(model_row, path, "", "of the checkpoint"),
    CSV_OPTIONAL(model_row, adapter, "", "path of the adapter merged onto it; empty: none"),
    CSV_COLUMN(model_row, family, "", "of the model"),
    CSV_COLUMN(model_row, parameters, "", "of all tensors"),
    CSV_COLUMN(model_row, tensors, "", "number of tensors"),
    CSV_COLUMN(model_row, bytes, "bytes", "of all tensors, as stored"),
    CSV_COLUMN(model_row, stored_as, "", "their element types, with commas"),
    CSV_COLUMN(model_row, vocabulary, "tokens", "size of the vocabulary"),
    CSV_OPTIONAL(model_row, bos, "", "id of the token that begins a text; empty: none"),
    CSV_COLUMN(model_row, layers, "", "number of blocks"),
    CSV_COLUMN(model_row, hidden, "", "width of the residual stream"),
    CSV_COLUMN(model_row, heads, "", "of a block"),
    CSV_COLUMN(model_row, kv_heads, "", "heads of keys and values"),
    CSV_COLUMN(model_row, head_size, "", "of a head"),
    CSV_OPTIONAL(model_row, mlp, "", "in words; empty: all blocks have experts"),
    CSV_OPTIONAL(model_row, experts, "", "in words; empty: no block has any"),
    CSV_COLUMN(model_row, blocks, "", "their other parts, in words"),
    CSV_COLUMN(model_row, tied, "", "1: the head is tied to the embedding; else 0"),
    CSV_COLUMN(model_row, positions, "", "position encoding, in words"),
    CSV_OPTIONAL(model_row, declared, "tokens", "positions that the configuration declares"),
    CSV_OPTIONAL(model_row, declared_by, "", "the key that does"),
    CSV_COLUMN(model_row, windows, "", "of the layers, in words"),
    CSV_COLUMN(model_row, inputs, "tokens", "of a segment, in the estimate and for the cone"),
    CSV_COLUMN(model_row, cone, "tokens", "inputs that can reach the last output"),
    CSV_OPTIONAL(model_row, assumed, "", "what the checkpoint does not say"),
    CSV_OPTIONAL(model_row, not_understood, "", "keys of the configuration"),
    CSV_OPTIONAL(model_row, train_length, "tokens", "it was trained on; empty: unknown"),
    CSV_OPTIONAL(model_row, digest, "",
                 "of its tensors and configuration; empty: no weights were read"),
    CSV_OPTIONAL(model_row, verified, "", "what --verify found; empty without it"),
};

static const struct csv_layout model_layout = {
    .file = "model",
    .origin = "`reach info --json`",
    .row = "the checkpoint",
    .columns = model_columns,
    .count = sizeof model_columns / sizeof *model_columns,
};

static int model_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct info_found *x = found;
    const struct decoder *d = x->decoder;

    (void)e;
    csv_row(csv, &(struct model_row){.path = d->path,
                                     .adapter = x->adapter,
                                     .family = d->family,
                                     .parameters = (long long)x->parameters,
                                     .tensors = (long long)tensors_count(d->tensors),
                                     .bytes = (long long)x->bytes,
                                     .stored_as = x->text[INFO_TYPES],
                                     .vocabulary = d->vocabulary,
                                     .bos = d->bos >= 0 ? d->bos : NAN,
                                     .layers = d->layers,
                                     .hidden = d->hidden,
                                     .heads = d->heads,
                                     .kv_heads = d->kv_heads,
                                     .head_size = d->head_size,
                                     .mlp = x->text[INFO_MLP],
                                     .experts = x->text[INFO_EXPERTS],
                                     .blocks = x->text[INFO_BLOCKS],
                                     .tied = d->tied,
                                     .positions = d->position_text,
                                     .declared = d->declared_length,
                                     .declared_by = d->declared_length ? d->declared_by : NULL,
                                     .windows = x->windows,
                                     .inputs = x->length - 1,
                                     .cone = decoder_cone(d, x->length - 1),
                                     .assumed = tensors_assumed(d->tensors),
                                     .not_understood = d->not_understood,
                                     .train_length = d->train_length,
                                     .digest = x->digest,
                                     .verified = x->verified});
    return 0;
}

struct fields_row {
    const char *layers, *head, *verdict, *trf_lo, *trf_hi, *reason;
};

static const struct csv_column fields_columns[] = {
    CSV_OPTIONAL(fields_row, layers, "", "those that share the bias, in words; empty: all"),
    CSV_COLUMN(fields_row, head, "",
               "from 1; `all`: heads that are alike; `mean`: the mean of their normalized kernels"),
    CSV_COLUMN(fields_row, verdict, "", "as in trf.csv"),
    CSV_OPTIONAL(fields_row, trf_lo, "tokens", "lower bound of TRF(0.01), as in trf.csv"),
    CSV_OPTIONAL(fields_row, trf_hi, "tokens", "upper bound of it"),
    CSV_OPTIONAL(fields_row, reason, "",
                 "why there is no series, or only that of the window; empty: it is the model's"),
};

static const struct csv_layout fields_layout = {
    .file = "trf",
    .origin = "`reach info --json`",
    .row = "a head of a position bias; no row if a bias uses the length",
    .columns = fields_columns,
    .count = sizeof fields_columns / sizeof *fields_columns,
};

static int fields_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct trf_run *r = &((const struct info_found *)found)->fields;

    (void)e;
    for (int i = 0; i < r->head_count; i++) {
        const struct trf_head *head = &r->heads[i];
        const struct bias_set *set = &r->arguments->set;
        const struct trf_value *v = head->values;
        const char *reason = set->biases[head->bias].reason;
        char layers[128], number[16] = "all";

        bias_layers_text(layers, sizeof layers, set, head->bias);
        if (head->head)
            snprintf(number, sizeof number, "%d", head->head);
        csv_row(csv,
                &(struct fields_row){.layers = layers,
                                     .head = head->averaged ? "mean" : number,
                                     .verdict = *reason || !v ? "not applicable"
                                                              : series_verdict_name(v->verdict),
                                     .trf_lo = v ? v->count.lo : NULL,
                                     .trf_hi = v ? v->count.hi : NULL,
                                     .reason = reason});
    }
    return 0;
}

struct estimate_row {
    long long length;
    const char *dtype, *kernels;
    long long refused;
    const char *plan;
    double memory_bytes, disk_bytes, flops, seconds;
    long long segments;
    double run_seconds, run_bytes;
};

static const struct csv_column estimate_columns[] = {
    CSV_COLUMN(estimate_row, length, "tokens", "of a segment"),
    CSV_COLUMN(estimate_row, dtype, "", "type of the arithmetic"),
    CSV_COLUMN(estimate_row, kernels, "", "name of the kernel set"),
    CSV_COLUMN(estimate_row, refused, "",
               "1: the model reads fewer inputs (learned positions, or an indexer); else 0"),
    CSV_OPTIONAL(estimate_row, plan, "", "the memory plan, in words"),
    CSV_OPTIONAL(estimate_row, memory_bytes, "bytes", "that measuring takes by it"),
    CSV_OPTIONAL(estimate_row, disk_bytes, "bytes", "in the folder of --scratch"),
    CSV_OPTIONAL(estimate_row, flops, "", "floating-point operations of a segment"),
    CSV_OPTIONAL(estimate_row, seconds, "seconds", "for a segment, at this machine's rates now"),
    CSV_OPTIONAL(estimate_row, segments, "", "--segments; empty: not given"),
    CSV_OPTIONAL(estimate_row, run_seconds, "seconds", "for all of them"),
    CSV_OPTIONAL(estimate_row, run_bytes, "bytes",
                 "on the disk for all of them, in the journal and in erf.h5 before it is packed"),
};

static const struct csv_layout estimate_layout = {
    .file = "estimate",
    .origin = "`reach info --json`",
    .row = "a segment of `reach erf`",
    .columns = estimate_columns,
    .count = sizeof estimate_columns / sizeof *estimate_columns,
};

static int estimate_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct info_found *x = found;
    const struct run_estimate *u = &x->estimate;
    char text[MEMORY_PLAN_TEXT];
    int is_planned = u->plan.total > 0, is_run = x->segments && u->seconds > 0;

    (void)e;
    csv_row(csv,
            &(struct estimate_row){.length = x->length,
                                   .dtype = x->dtype,
                                   .kernels = u->kernels,
                                   .refused = u->refused,
                                   .plan = is_planned ? memory_plan_text(text, &u->plan) : NULL,
                                   .memory_bytes = is_planned ? u->plan.total : NAN,
                                   .disk_bytes = is_planned ? u->plan.disk : NAN,
                                   .flops = is_planned ? u->plan.flops : NAN,
                                   .seconds = u->seconds > 0 ? u->seconds : NAN,
                                   .segments = x->segments,
                                   .run_seconds = is_run ? u->seconds * (double)x->segments : NAN,
                                   .run_bytes = is_run ? u->record_bytes * (double)x->segments
                                                       : NAN});
    return 0;
}

struct chat_row {
    const char *name, *text;
};

static const struct csv_column template_columns[] = {
    CSV_COLUMN(chat_row, name, "", "of the template; `default` where there is only one"),
    CSV_COLUMN(chat_row, text, "", "the template, in Jinja"),
};

static const struct csv_layout template_layout = {
    .file = "templates",
    .origin = "`reach info --chat --json`",
    .row = "a chat template",
    .columns = template_columns,
    .count = sizeof template_columns / sizeof *template_columns,
};

static const struct csv_column token_columns[] = {
    CSV_COLUMN(chat_row, name, "", "what the token is for: bos_token, ..."),
    CSV_OPTIONAL(chat_row, text, "", "of the token; empty: the tokenizer has none"),
};

static const struct csv_layout token_layout = {
    .file = "special_tokens",
    .origin = "`reach info --chat --json`",
    .row = "a special token that files or the tokenizer's class decide",
    .columns = token_columns,
    .count = sizeof token_columns / sizeof *token_columns,
};

static void chat_rows(const struct chat_text *list, size_t count, struct csv *csv)
{
    for (size_t i = 0; i < count; i++)
        csv_row(csv, &(struct chat_row){list[i].name, list[i].text});
}

static int template_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct chat *c = ((const struct info_found *)found)->chat;

    (void)e;
    chat_rows(c->template, c->template_count, csv);
    return 0;
}

static int token_rows(const void *found, struct csv *csv, struct error *e)
{
    const struct chat *c = ((const struct info_found *)found)->chat;

    (void)e;
    chat_rows(c->token, c->token_count, csv);
    return 0;
}

static int is_chat(const void *found)
{
    return ((const struct info_found *)found)->chat != NULL;
}

static int is_model(const void *found)
{
    return !is_chat(found);
}

#define OF(wanted, name) .is_wanted = (wanted), .layout = &name##_layout, .rows = name##_rows

const struct results_file *const info_shown[] = {
    &(const struct results_file){OF(is_model, model), .single = 1},
    &(const struct results_file){OF(is_model, fields)},
    &(const struct results_file){OF(is_model, estimate), .single = 1},
    &(const struct results_file){OF(is_chat, template)},
    &(const struct results_file){OF(is_chat, token)},
    NULL};
