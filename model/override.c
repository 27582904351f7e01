/* Position encodings that replace the checkpoint's. */
#include "model/rope.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was changed, each followed by ", ". */
struct changes {
    char text[sizeof((struct decoder *)0)->position_text];
    size_t at;
};

static void say(struct changes *c, const char *format, ...) PRINTF_LIKE(2, 3);

static void say(struct changes *c, const char *format, ...)
{
    va_list arguments;
    if (c->at >= sizeof c->text)
        return;
    va_start(arguments, format);
    c->at += (size_t)vsnprintf(c->text + c->at, sizeof c->text - c->at, format, arguments);
    va_end(arguments);
}

static int replace_rope(struct changes *c, struct decoder *d, const struct rope_spec *asked,
                        struct error *e)
{
    char text[ROTARIES * (ROPE_TEXT_MAX + 40)];
    if (rope_replace(text, sizeof text, d, asked, e))
        return -1;
    say(c, "--rope %s, ", text);
    return 0;
}

/* First keys kept with windows, at least one of which must exist. */
static int keep_first(struct decoder *d, int keep, struct error *e)
{
    int windows = 0;
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].score.window)
            d->blocks[l].score.keep = keep, windows++;
    return windows ? 0
                   : fail(e,
                          "%s: --keep-first %d: no layer has a window, so all keys are visible "
                          "(expected --window N with it)",
                          d->path, keep);
}

static int scale_by_log(struct decoder *d, int length, struct error *e)
{
    for (int l = 0; l < d->layers; l++) {
        if (d->blocks[l].clip > 0)
            return fail(e, "%s: --logn is not supported with clipped queries (clip_qkv %g)",
                        d->path, d->blocks[l].clip);
        d->blocks[l].score.log_length = length;
    }
    return 0;
}

/* Of position biases and of multipliers, which are computed in that type too. */
static int narrow_biases(struct decoder *d, enum element type, int has_bias, struct error *e)
{
    for (int l = 0; l < d->layers; l++) {
        struct score *s = &d->blocks[l].score;

        s->bias_type = s->key_bias_type = type;
        has_bias |= s->bias || s->key_bias || s->multiplier;
    }
    return has_bias
               ? 0
               : fail(e, "%s: --bias-dtype: the model has no position biases (its positions: %s)",
                      d->path, d->position_text);
}

/* Takes the formula over. */
static int replace_bias(struct decoder *d, struct formula *bias, struct error *e)
{
    const char *missing = formula_missing(bias);
    if (missing)
        return fail(e,
                    "--bias '%s': parameter '%s' has no value (write it in the formula, as in "
                    "alibi(delta=2))",
                    bias->source, missing);
    struct formula **grown = realloc(d->formulas, (size_t)(d->formula_count + 1) * sizeof *grown);
    if (!grown)
        return fail_memory(e, sizeof *grown, "formula table");
    d->formulas = grown;
    d->formulas[d->formula_count++] = bias;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.bias = bias, d->blocks[l].score.key_bias = NULL;
    return 0;
}

/* All that can be changed is how layers attend, so one of them must. */
static int check_attends(const struct decoder *d, const struct position_override *o,
                         struct error *e)
{
    const char *option = o->rope                       ? "--rope"
                         : o->window >= 0              ? "--window"
                         : o->keep                     ? "--keep-first"
                         : o->log_length               ? "--logn"
                         : o->bias_type != ELEMENT_F64 ? "--bias-dtype"
                         : o->positions_none           ? "--positions"
                                                       : "--bias";
    for (int l = 0; l < d->layers; l++)
        if (block_attends(&d->blocks[l]))
            return 0;
    return fail(e, "%s: %s: the model has no attention (expected a model whose layers attend)",
                d->path, option);
}

int decoder_override(struct decoder *d, struct position_override *o, struct error *e)
{
    if (check_attends(d, o, e))
        return -1;
    struct changes c = {.at = 0}; /* first in the text, because tables truncate long texts */
    if (o->bias)
        say(&c, "--bias %s, ", o->bias->source);
    if (o->rope && replace_rope(&c, d, o->rope, e))
        return -1;
    for (int l = 0; l < d->layers && o->window >= 0; l++)
        d->blocks[l].score.window = block_attends(&d->blocks[l]) ? o->window : 0,
        d->blocks[l].score.chunk = 0;
    if (o->window >= 0)
        say(&c, "--window %d, ", o->window);
    if (o->keep && keep_first(d, o->keep, e))
        return -1;
    if (o->keep)
        say(&c, "--keep-first %d, ", o->keep);
    if (o->log_length && scale_by_log(d, o->log_length, e))
        return -1;
    if (o->log_length)
        say(&c, "--logn, trained on %d, ", o->log_length);
    if (o->bias_type != ELEMENT_F64 && narrow_biases(d, o->bias_type, o->bias != NULL, e))
        return -1;
    if (o->bias_type != ELEMENT_F64)
        say(&c, "--bias-dtype %s, ", element_name(o->bias_type));
    if (o->positions_none) {
        d->position = POSITION_NONE;
        d->position_limit = 0;
        say(&c, "--positions none, ");
    }
    if (o->bias &&
        replace_bias(d, o->bias,
                     e)) /* last, since nothing fails after it: until then the caller owns it */
        return -1;
    say(&c, "on %.240s", d->position_text); /* truncated on purpose if too long */
    o->bias = NULL;
    memcpy(d->position_text, c.text, sizeof c.text);
    return 0;
}
