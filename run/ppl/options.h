/* The options of `reach ppl`. */
#ifndef REACH_RUN_PPL_OPTIONS_H
#define REACH_RUN_PPL_OPTIONS_H

#include "io/text_list.h"
#include "run/shared_options.h"

#include <stddef.h>
#include <stdint.h>

/* Which inputs each target sees ([A] section 3.4 and appendix B; [B] "Sliding window
 * attention"). */
enum protocol {
    PROTOCOL_LAST,
    PROTOCOL_NONOVERLAPPING,
    PROTOCOL_SLIDING,
    PROTOCOL_CACHED,
    PROTOCOLS
};

extern const char *const protocol_names[]; /* ended by NULL */

enum { CONTEXTS_MAX = 64 };

struct ppl_options {
    struct text_list models, text, tokens; /* arguments, borrowed */
    struct reading_options reading;
    const char *folder; /* NULL: nothing is written */
    struct text_list adapters; /* DIR or DIR=FACTOR */
    const char *per_token; /* NULL: not written */
    enum protocol protocol;
    size_t contexts[CONTEXTS_MAX]; /* inputs, ascending; none for cached */
    size_t context_count;
    size_t stride; /* sliding: 0 is half of each context; last: between segments, 0 spreads them
                      over the text */
    size_t segments; /* for last, at most; 0: another protocol */
    long train_length; /* 0: as in the checkpoint */
    const char *formats;
    struct machine_options machine;
    struct encoding_options encoding;
    int gain; /* 1: measure the gain of more context */
    double gain_within; /* nats above the NLL at the longest context that count as enough */
    int strict, force, timing;
    struct shown_options shown;
};

#endif
