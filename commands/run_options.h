/* Options that all verbs which run a model share: what it runs on and with, and changes of its position encoding. */
#ifndef REACH_COMMANDS_RUN_OPTIONS_H
#define REACH_COMMANDS_RUN_OPTIONS_H

#include "io/error.h"
#include "model/decoder.h"
#include "run/formula_options.h"

/* The options as the tables of the verbs list them. */
#define BIAS_ROW \
    { \
        "bias", "FORMULA", \
            "replace the additive position bias of every layer, as 'alibi(delta=2)' or '-ln(1+t)/h'; t is the distance, h the " \
            "head from 1; " \
            "doc/formula.md has the language and the presets" \
    }
#define BIAS_DTYPE_ROW \
    { \
        "bias-dtype", "TYPE", \
            "f32, bf16 or f16: compute the position biases as a program does that computes them in this type. Distance, slopes " \
            "and parameters, and the " \
            "result of every operation are rounded to it, to nearest, ties to even; in bf16 distances above 256 fall together " \
            "(default: in double, " \
            "rounded once, or as the model's own code does)" \
    }
#define POSITIONS_ROW \
    { \
        "positions", "none", "take rotary and absolute positions away" \
    }
#define DEVICE_ROW \
    { \
        "device", "NAME", \
            "auto, cpu, cuda or cuda:N, the N-th GPU from 0 (default auto: the first GPU if there is one, else cpu)" \
    }
#define DTYPE_ROW \
    { \
        "dtype", "TYPE", \
            "f32, f64, tf32 or bf16: arithmetic of the run (default f32; f64 is slow and its own oracle; tf32 and bf16 need a " \
            "GPU)" \
    }
#define MEMORY_ROW \
    { \
        "memory", "SIZE", "bytes the run may take, of the GPU if it runs there, as 800M or 16G (default: most of what is free)" \
    }
#define THREADS_ROW \
    { \
        "threads", "N", "threads (default: all cores); results do not depend on it" \
    }

/* Checks of values at the time of parsing: 0, or -1 (wrong usage). */
int read_bias(const char *text, struct error *e) MUST_USE;
int read_bias_dtype(const char *text, struct error *e) MUST_USE;
int read_positions(const char *text, struct error *e) MUST_USE;
int read_device(const char *text, struct error *e) MUST_USE;
int read_dtype(const char *text, struct error *e) MUST_USE;

/* The option of all verbs that open a model, as their tables list it. */
#define STRICT_ROW \
    { \
        "strict", NULL, \
            "refuse a model whose config.json has a key that is not understood; without it a line on standard error names the " \
            "key" \
    }

/* The options of formulas, as the tables of `reach trf`, `fit` and `bias` list them. */
#define HEADS_ROW \
    { \
        "heads", "H", \
            "heads of formulas and presets, whose biases may differ by head (default 8); a checkpoint has its own number" \
    }
#define SET_ROW \
    { \
        "set", "NAME=VALUE", \
            "give a parameter its value, as p=1.05, or one value for each head, as p=0.5,0.7; read as the exact decimal; may " \
            "be repeated" \
    }
#define SLOPES_ROW \
    { \
        "slopes", "KIND", \
            "paper or press: ALiBi's slopes 2^(-8h/H), or those of released code, which differ when H is no power of two " \
            "(default paper)" \
    }

int read_heads(struct formula_options *o, const char *value, struct error *e) MUST_USE;
/* Writes those that are not defaults, as a shell reads them back. */
void formula_options_write(FILE *f, const struct formula_options *o);
int read_slopes(struct formula_options *o, const char *value, struct error *e) MUST_USE;

#endif
