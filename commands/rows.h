/* Options shared by several verbs: rows for their tables, for fields of the same name in their
 * structs. OPTIONS names the struct. */
#ifndef REACH_COMMANDS_ROWS_H
#define REACH_COMMANDS_ROWS_H

#include "commands/options.h"
#include "commands/table.h"
#include "model/attribution.h"
#include "plots/figure.h"
#include "run/erf/options.h"
#include "run/threads.h"

extern const char *const picture_formats[],
    *const device_choices[], *const dtype_choices[],
                                 *const keep_choices[],
                                     *const bias_dtype_choices[],
                                         *const positions_choices[],
                                             *const none_choices[],
                                                 *const slopes_choices[],
                                                     *const bos_choices[],
                                                         *const tokens_dtype_choices[],
                                                             *const records_choices[];

/* Checks of texts during parsing. */
int check_bias(const char *text, struct error *e) MUST_USE;
int check_rope(const char *text, struct error *e) MUST_USE;
int check_device(const char *text, struct error *e) MUST_USE;

/* Refuses conflicting options of an encoding. */
struct encoding_options;
int check_encoding(const struct encoding_options *o, struct error *e) MUST_USE;

/* --keep and --dtype. */
struct machine_options;
int check_keep(const struct machine_options *o, struct error *e) MUST_USE;

/* --target-position P[,P...]: each once, ascending; and as it is recorded. */
int read_targets(size_t targets[TARGETS_MAX], size_t *count, const char *value,
                 struct error *e) MUST_USE;
int write_targets(FILE *f, const size_t *targets, size_t count, int nth);

/* ---- input ---- */

#define TEXT_ROW(short, says) \
    { \
        .name = "text", .value = "FILE", .brief = short, .help = says, .type = OPTION_LIST, \
        .at = AT(text), .flags = OPTION_RESULT | OPTION_COMMON \
    }
#define TOKENS_ROW(short, says) \
    { \
        .name = "tokens", .value = "FILE", .brief = short, .help = says, .type = OPTION_LIST, \
        .at = AT(tokens), .flags = OPTION_RESULT | OPTION_COMMON \
    }

/* ---- struct reading_options reading ---- */

#define TOKENS_DTYPE_ROW \
    { \
        .name = "tokens-dtype", .value = "TYPE", \
        .brief = "type of the integers that bare --tokens are", \
        .help = "--tokens are files of nothing but little-endian integers of this type, as the " \
                "training programs of nanoGPT and others write them: uint8, uint16, uint32, " \
                "uint64, int16, int32 or int64", \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(reading.tokens_dtype), \
        .choices = tokens_dtype_choices, .with = "tokens", .flags = OPTION_RESULT \
    }

#define BOS_ROW(says) \
    { \
        .name = "bos", .value = "WHEN", .standard = "auto", \
        .brief = "beginning-of-text: auto, always, never", .help = says, \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(reading.bos), .choices = bos_choices, \
        .flags = OPTION_RESULT \
    }

#define BOUNDARY_ROW(says) \
    { \
        .name = "boundary", .value = "TOKEN", .brief = "token that separates documents", \
        .help = says, .type = OPTION_TEXT, .at = AT(reading.boundary), .flags = OPTION_RESULT \
    }

#define FIELD_ROW \
    { \
        .name = "field", .value = "NAME", \
        .help = "member of JSON lines that is the text (default: text); files whose names end in " \
                ".jsonl, before .gz, .zst, .xz or .bz2, are JSON lines, and with this option all " \
                "are", \
        .type = OPTION_TEXT, .at = AT(reading.records.field), .with = "text", \
        .flags = OPTION_RESULT \
    }
#define RECORDS_ROW \
    { \
        .name = "records", .value = "HOW", .standard = "apart", \
        .brief = "records of JSON lines: apart or joined", \
        .help = "apart or joined: each record of JSON lines is a document, which no segment " \
                "crosses, or all of them are one text, with a newline after each (default %s)", \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(reading.records.joined), \
        .choices = records_choices, .with = "text", .flags = OPTION_RESULT \
    }

/* ---- struct encoding_options encoding ---- */

#define BIAS_ROW \
    { \
        .name = "bias", .value = "FORMULA", .brief = "replace the additive position bias", \
        .help = \
            "replace the additive position bias of every layer, for example by 'alibi(delta=2)' " \
            "or '-ln(1+t)/h'; t is the " \
            "distance, h the head from 1; doc/formula.md describes the language and the presets", \
        .type = OPTION_TEXT, .at = AT(encoding.bias), .check = check_bias, .group = GROUP_MODEL, \
        .flags = OPTION_RESULT \
    }
#define BIAS_DTYPE_ROW \
    { \
        .name = "bias-dtype", .value = "TYPE", \
        .brief = "compute position biases in f32, bf16 or f16", \
        .help = "f32, bf16 or f16: compute the position biases as a program that works in this " \
                "type does. Distance, slopes and " \
                "parameters, and the result of every operation are rounded to it, to nearest, " \
                "ties to even; so in bf16 some " \
                "distances above 256 become equal (default: in double, rounded once, or as the " \
                "model's own code does)", \
        .type = OPTION_CHOICE, .at = AT(encoding.bias_dtype), .choices = bias_dtype_choices, \
        .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }
#define POSITIONS_ROW \
    { \
        .name = "positions", .value = "none", .help = "remove rotary and absolute positions", \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(encoding.positions_none), \
        .choices = positions_choices, .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }
#define ROPE_ROW \
    { \
        .name = "rope", .value = "SPEC", .brief = "turn rotary positions by SPEC", \
        .help = "turn rotary positions by SPEC instead of the checkpoint's own scaling, which is " \
                "dropped whole: " \
                "[base=B,]KIND[:NAME=VALUE,...], such as linear:factor=4, dynamic:factor=4, " \
                "base=500000,yarn:factor=4,original=8192 or " \
                "llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=8192; " \
                "none: unscaled; base=B alone: unscaled, with that base; the numbers mean what " \
                "they do in rope_parameters of " \
                "transformers. doc/encodings.md lists them all", \
        .type = OPTION_TEXT, .at = AT(encoding.rope), .choices = none_choices, \
        .check = check_rope, .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }
#define WINDOW_ROW(more) \
    { \
        .name = "window", .value = "N", .brief = "let layers attend to the last N keys only", \
        .help = "let every layer attend to the last N keys only, its own included (0 or none: no " \
                "window)" more, \
        .absent = -1, WHOLE_AT(encoding.window, 0, 1 << 30), .choices = none_choices, \
        .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }

#define ADAPTER_ROW \
    { \
        .name = "adapter", .value = "DIR", .brief = "merge a LoRA adapter into the weights", \
        .help = \
            "merge a LoRA adapter into the weights: a folder that PEFT saved, or its name in " \
            "the cache of models; takes one MODEL, the adapter's base; may be repeated: changes " \
            "add up, with DIR=FACTOR each times its factor", \
        .type = OPTION_LIST, .at = AT(adapters), .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }

#define KEEP_FIRST_ROW \
    { \
        .name = "keep-first", .value = "K", \
        .brief = "keep the first K keys visible beside a window", \
        .help = "in every layer that has a window, its own or by --window, keep the first K keys " \
                "of a segment visible too " \
                "(attention sinks)", \
        WHOLE_AT(encoding.keep_first, 1, 1 << 30), .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }
#define LOGN_ROW \
    { \
        .name = "logn", .brief = "multiply queries by a logarithm of the position", \
        .help = "multiply the query of position i, from 1, by max(1, ln i / ln T) in every " \
                "layer, T the length the model was " \
                "trained on (train_length of our own layout, else --train-length)", \
        .type = OPTION_FLAG, .at = AT(encoding.logn), .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }

/* All of them, in the order of --help; `window_says` as of WINDOW_ROW. */
#define ENCODING_ROWS(window_says) \
    BIAS_ROW, BIAS_DTYPE_ROW, POSITIONS_ROW, ROPE_ROW, WINDOW_ROW(window_says), KEEP_FIRST_ROW, \
        LOGN_ROW

/* ---- what is measured ---- */

#define ATTRIBUTION_ROW(says) \
    { \
        .name = "attribution", .value = "KIND", .standard = "grad", \
        .brief = "grad, inputxgrad, ig or smoothgrad", .help = says, \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(attribution), .choices = attribution_names, \
        .group = GROUP_MEASURED, .flags = OPTION_RESULT \
    }
#define SEED_ROW(short, says) \
    { \
        .name = "seed", .value = "N", .standard = "0", .brief = short, .help = says, \
        .type = OPTION_UNSIGNED, .at = AT(seed), .group = GROUP_MEASURED, .flags = OPTION_RESULT \
    }

/* ---- struct machine_options machine ---- */

#define DEVICE_ROW \
    { \
        .name = "device", .value = "NAME", .standard = "auto", \
        .brief = "auto, cpu, cuda or cuda:N", \
        .help = "auto, cpu, cuda or cuda:N, the N-th GPU from 0 (default %s: the first GPU if " \
                "there is one, else cpu)", \
        .type = OPTION_TEXT, .at = AT(machine.device), .choices = device_choices, \
        .check = check_device, .group = GROUP_MACHINE, .flags = OPTION_COMMON \
    }
#define DTYPE_ROW \
    { \
        .name = "dtype", .value = "TYPE", .standard = "f32", \
        .brief = "f32, f64, tf32, bf16 or bf16x3", \
        .help = \
            "f32, f64, tf32, bf16 or bf16x3: arithmetic of the run (default %s; f64 is slow, " \
            "and the reference for the others; " \
            "bf16: products with weights take bf16 numbers; bf16x3: they take sums of two, on " \
            "a processor; tf32 needs a GPU)", \
        .type = OPTION_CHOICE, .at = AT(machine.dtype), .choices = dtype_choices, \
        .group = GROUP_MACHINE, .flags = OPTION_RESULT | OPTION_COMMON \
    }
#define MEMORY_ROW \
    { \
        .name = "memory", .value = "SIZE", \
        .brief = "memory that the run may take, such as 800M or 16G", \
        .help = "memory that the run may take, of the GPU if it runs there, such as 800M or 16G, " \
                "in powers of 1000 (default: most of what is free)", \
        .type = OPTION_BYTES, .at = AT(machine.memory), .group = GROUP_MACHINE \
    }
#define KEEP_ROW \
    { \
        .name = "keep", .value = "TYPE", .standard = "f32", \
        .brief = "keep inputs of layers in f32 or bf16", \
        .help = "f32 or bf16: what layers keep between forward and reverse (default %s: " \
                "everything as it was computed or, if " \
                "that does not fit, only their inputs). bf16: only their inputs, rounded to bf16 " \
                "and so half as large; the " \
                "rest is computed again from these, which takes a third more time; log p does " \
                "not change, and c changes by up " \
                "to 5e-3 (doc/performance.md). Not with --dtype f64, on a GPU, or for models " \
                "with experts", \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(machine.keep_bf16), .choices = keep_choices, \
        .group = GROUP_MACHINE, .flags = OPTION_RESULT \
    }
#define SCRATCH_ROW \
    { \
        .name = "scratch", .value = "DIR", \
        .brief = "folder for layer inputs that do not fit into memory", \
        .help = "if a segment does not fit into memory: keep the inputs of as few layers as " \
                "necessary in a file in DIR until " \
                "the reverse pass; the file has no name, and disappears with the run, however " \
                "that ends. Results do not depend " \
                "on it. Not on a GPU", \
        .type = OPTION_TEXT, .at = AT(machine.scratch), .group = GROUP_MACHINE \
    }
#define THREADS_ROW \
    { \
        .name = "threads", .value = "N", \
        .help = "threads (default: all cores); results do not depend on it", \
        WHOLE_AT(machine.threads, 1, THREADS_MOST), .group = GROUP_MACHINE \
    }

/* ---- struct formula_options formulas ---- */

#define HEADS_ROW \
    { \
        .name = "heads", .value = "H", .standard = "8", .brief = "heads of formulas and presets", \
        .help = "heads of formulas and presets, whose biases may differ by head (default %s); a " \
                "checkpoint has its own number", \
        WHOLE_AT(formulas.heads, 1, HEADS_MAX), .group = GROUP_MODEL, \
        .flags = OPTION_RESULT | OPTION_COMMON \
    }
#define SET_ROW \
    { \
        .name = "set", .value = "NAME=VALUE", \
        .brief = "give a parameter its value, such as p=1.05", \
        .help = "give a parameter its value, such as p=1.05, or one value for each head, such as " \
                "p=0.5,0.7; read as the exact " \
                "decimal; may be repeated", \
        .type = OPTION_LIST, .at = AT(formulas.sets), .group = GROUP_MODEL, \
        .flags = OPTION_RESULT | OPTION_COMMON \
    }
#define SLOPES_ROW \
    { \
        .name = "slopes", .value = "KIND", .standard = "paper", \
        .brief = "ALiBi's slopes: paper or press", \
        .help = "paper or press: ALiBi's slopes 2^(-8h/H), or those of released code, which " \
                "differ when H is not a power of two", \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(formulas.press), .choices = slopes_choices, \
        .group = GROUP_MODEL, .flags = OPTION_RESULT \
    }

/* ---- all that open a model, and all that write ---- */

#define STRICT_ROW(member) \
    { \
        .name = "strict", .brief = "refuse keys of config.json that are not understood", \
        .help = "refuse a model whose config.json has a key that reach does not understand; " \
                "without --strict a line on " \
                "standard error names the key", \
        .type = OPTION_FLAG, .at = AT(member), .group = GROUP_INPUT \
    }
#define FOLDER_ROW(says, folder_standard) \
    { \
        .name = "o", .value = "DIR", .help = says, .standard = folder_standard, \
        .type = OPTION_TEXT, .at = AT(folder), .group = GROUP_OUTPUT, .flags = OPTION_COMMON \
    }
#define FORCE_ROW(says) \
    { \
        .name = "force", .help = says, .type = OPTION_FLAG, .at = AT(force), .group = GROUP_OUTPUT \
    }
#define FORMAT_ROW \
    { \
        .name = "format", .value = "LIST", .brief = "pictures: png, svg, pdf, tikz", \
        .help = "pictures to draw: png, svg, pdf, tikz, several with commas", .standard = "png", \
        .type = OPTION_TEXT, .at = AT(formats), .choices = picture_formats, \
        .check = figure_check_formats, .with = "o", .group = GROUP_OUTPUT, .flags = OPTION_COMMON \
    }
/* ---- struct shown_options shown, which verb.c handles ---- */

#define QUIET_ROW \
    { \
        .name = "quiet", .brief = "no progress and no notes", \
        .help = "nothing on standard error but errors, and warnings that change what the numbers " \
                "mean", \
        .type = OPTION_FLAG, .at = AT(shown.quiet), .group = GROUP_RUN, .flags = OPTION_COMMON \
    }
#define WIDE_ROW \
    { \
        .name = "wide", .brief = "all columns of tables", \
        .help = "all columns of tables, even if the terminal is too narrow for them (always so " \
                "outside a terminal)", \
        .type = OPTION_FLAG, .at = AT(shown.wide), .group = GROUP_OUTPUT \
    }
#define TABLE_ROW \
    { \
        .name = "table", .value = "FORMAT", .brief = "tables alone, as latex, markdown or csv", \
        .help = "latex, markdown or csv: print the tables alone, in that format: latex for the " \
                "package booktabs, with as many columns as fit one of a page's two (with --wide " \
                "all), markdown as on GitHub", \
        .type = OPTION_NUMBERED_CHOICE, .at = AT(shown.table), .choices = table_formats, \
        .against = "json", .group = GROUP_OUTPUT, .flags = OPTION_COMMON \
    }
#define JSON_ROW \
    { \
        .name = "json", .brief = "the result as one JSON document", \
        .help = "print the result as one JSON document instead of text (doc/outputs.md)", \
        .type = OPTION_FLAG, .at = AT(shown.json), .group = GROUP_OUTPUT, .flags = OPTION_COMMON \
    }
#define TRAIN_LENGTH_ROW(says) \
    { \
        .name = "train-length", .value = "N", .brief = "training length of the models, in tokens", \
        .help = says, WHOLE_AT(train_length, 1, 1 << 30), .group = GROUP_OUTPUT, \
        .flags = OPTION_RESULT \
    }

#endif
