/* The options of `reach explain`. */
#ifndef REACH_RUN_EXPLAIN_OPTIONS_H
#define REACH_RUN_EXPLAIN_OPTIONS_H

#include "io/text_list.h"
#include "model/attribution.h"
#include "run/erf/options.h"
#include "run/shared_options.h"

#include <stddef.h>
#include <stdint.h>

/* What shares are of. */
enum explain_by { BY_TOKEN, BY_WORD, BY_SENTENCE, BY_LINE };
extern const char *const explain_units[]; /* their names, ended by NULL */
extern const char *const explain_parts[]; /* those that may be left out; the first is none */

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct explain_options {
    const char *source; /* a model, or with `segment` a result */
    const char *prompt; /* NULL: prompts, text, or a result */
    const char *prompts; /* a file of JSON lines; NULL: none */
    struct text_list text, tokens;
    size_t segment; /* in the result, from 1; 0: a model is run */
    const char *model; /* in the result, if it has several; NULL: not given */
    size_t positions[TARGETS_MAX]; /* of targets in the text, ascending */
    size_t position_count; /* 0: its end */
    const char *target, *against; /* target NULL: see `targets`; against NULL: no contrast */
    const char *answer; /* to a prompt, of any number of tokens; NULL: none */
    long targets; /* after a prompt: the likeliest tokens, so many */
    struct text_list adapters; /* DIR or DIR=FACTOR */
    const char *folder; /* NULL: nothing is written */
    struct reading_options reading;
    struct machine_options machine;
    struct encoding_options encoding;
    enum attribution attribution;
    uint64_t seed;
    long train_length; /* 0: as in the checkpoint */
    long top, drawn; /* rows of the table; tokens drawn, counted from the end. 0: none */
    enum explain_by by, leave_out; /* leave_out BY_TOKEN: nothing is left out */
    enum color_choice color;
    int strict, force;
    struct shown_options shown;
};

#endif
