/* The parts of `reach ppl`: options, run, output. Private to commands/ppl*.c. */
#ifndef REACH_COMMANDS_PPL_H
#define REACH_COMMANDS_PPL_H

#include "analyze/perplexity.h"
#include "commands/model_text.h"
#include "commands/models.h"
#include "commands/options.h"
#include "commands/progress.h"
#include "io/tokens.h"
#include "kernels/ops.h"
#include "model/engine.h"

#include <stddef.h>

extern const struct verb_help ppl_help;

/* Which inputs see which targets ([A] section 3.4 and appendix B; [B] "Sliding window attention"). */
enum protocol { PROTOCOL_LAST, PROTOCOL_NONOVERLAPPING, PROTOCOL_SLIDING, PROTOCOL_CACHED, PROTOCOLS };
extern const char *const protocol_names[PROTOCOLS];

enum { CONTEXTS_MAX = 64, SEGMENTS_DEFAULT = 1000 };

struct ppl_options {
    struct text_list models, text, tokens; /* arguments, borrowed */
    const char *folder; /* NULL: nothing is written */
    const char *per_token; /* NULL: not written */
    enum protocol protocol;
    size_t contexts[CONTEXTS_MAX]; /* inputs, ascending; none for cached */
    size_t context_count;
    size_t stride; /* sliding: 0 is half of each context; last: between segments, 0 spreads them over the text */
    size_t segments; /* of last, at most */
    long train_length, threads; /* train_length 0: as the checkpoint says; threads 0: all */
    const char *device, *dtype, *bias, *bias_dtype, *formats; /* bias_dtype NULL: none */
    int positions_none, window; /* window -1: as the checkpoint says */
    size_t memory; /* bytes; 0: most of what is free */
    int strict, force, quiet, timing;
};

/* Parses; 0, ARGUMENT_HELP, or -1 with a message (wrong usage). */
int ppl_options_parse(struct ppl_options *o, int argc, char **argv, struct error *e);
void ppl_options_free(struct ppl_options *o);
/* The command as it is recorded: all that can change a number, in one order, defaults left out. Caller frees; NULL when memory
 * runs out. */
char *ppl_options_command(const struct ppl_options *o);

/* One model at one context. */
struct ppl_result {
    size_t context, stride; /* inputs; stride 0: none was given, or not of this protocol */
    struct perplexity perplexity;
    double seconds; /* of the forward passes */
    int paired; /* 1: `difference` to the first model is there */
    struct perplexity_difference difference;
};

struct ppl_model {
    struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text;
    const struct tokens *tokens; /* a stream, or a table of streams; borrowed from the run or from `text` */
    char tokens_digest[33];
    struct segments segments; /* of last, for the longest context; owned */
    int train_length; /* 0: unknown */
    int window; /* keys that every layer attends to; 0: all of them, or layers differ */
    struct memory_plan plan; /* at the longest context */
    struct ppl_result *results; /* [result_count of the run]; owned */
};

struct ppl_run {
    const struct ppl_options *options;
    struct progress *progress;
    struct model_argument *arguments;
    struct ppl_model *models;
    size_t count;
    struct run_text text;
    size_t result_count; /* of each model: contexts, or 1 */
    char *command;
    struct kernels *kernels;
    struct csv *per_token; /* while measuring; NULL: not wanted */
};

/* Opens models and text; everything that can be refused before the work is refused here. */
int ppl_prepare(struct ppl_run *r, struct error *e) MUST_USE;
/* Scores all targets of all models and contexts, and reduces them. */
int ppl_measure(struct ppl_run *r, struct error *e) MUST_USE;
void ppl_run_free(struct ppl_run *r);

/* The file of --per-token: begins it (what is there already is refused), adds the targets of a model at a context, and ends it:
 * kept or not. Without the option nothing is done. */
int ppl_tokens_open(struct ppl_run *r, struct error *e) MUST_USE;
void ppl_tokens_add(struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at, const double *nll);
int ppl_tokens_close(struct ppl_run *r, int keep, struct error *e) MUST_USE;

/* Writes ppl.csv, ppl.gp and the pictures. 0; 1 when only the pictures are missing (message); -1. */
int ppl_write(const struct ppl_run *r, const char *folder, struct error *e) MUST_USE;
/* The table, the paired differences and notes, to standard output. */
int ppl_print(const struct ppl_run *r, struct error *e) MUST_USE;

#endif
