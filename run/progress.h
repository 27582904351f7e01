/* What a long run says while it goes on. A run prints nothing: it speaks to this, and whoever started it decides what is seen. */
#ifndef REACH_RUN_PROGRESS_H
#define REACH_RUN_PROGRESS_H

#include "io/error.h"

#include <stddef.h>

enum progress_kind {
    PROGRESS_LOG, /* for a log alone */
    PROGRESS_MESSAGE, /* for people, unless they asked for quiet */
    PROGRESS_WARNING, /* for people always: what went wrong and was put right */
    PROGRESS_NOT_DRAWN /* why pictures are missing though gnuplot is there: results are whole, and the run goes on */
};

/* What a log keeps of a run beside words: a text, or without one a number. */
struct progress_fact {
    const char *name;
    const char *text;
    double number;
};

struct progress {
    void (*say)(struct progress *p, enum progress_kind kind, const char *line);
    void (*show)(
        struct progress *p,
        const char *what); /* the counts below have changed; `what` is being worked on, NULL: nothing more. May be NULL */
    void (*tell)(struct progress *p, const char *event, const struct progress_fact *facts); /* may be NULL */
    const char *unit; /* of the work: segments, runs of the model, tokens */
    double started; /* seconds on the monotonic clock */
    double measuring, measured; /* when the measuring began and ended: the rate is that of it alone */
    char plan[256]; /* the memory that was told last */
    int products, slow_products; /* kinds of matrix products that were told; of these, those that people were warned of */
    size_t total, done, at_start; /* units; at_start of them came from a journal */
    struct {
        double total, done, at_start;
    } cost; /* of these units, where they differ: operations. total 0: all cost the same */
};

void progress_message(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
void progress_warning(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
void progress_not_drawn(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
void progress_log(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* For a log: an event and its facts, which end with one without a name. */
void progress_tell(struct progress *p, const char *event, const struct progress_fact *facts);
/* The memory plan of a model, in words and bytes: told, but to a log alone where the one before was the same. */
void progress_plan(struct progress *p, const char *model, const char *plan, double bytes);
/* The work: `total` units of which `done` need not be measured again. */
void progress_start(struct progress *p, size_t total, size_t done);
/* Behind progress_start: what all units cost, and those that need not be measured again. Their steps then say what each cost. */
void progress_costs(struct progress *p, double total, double done);
/* `done` more units are measured. */
void progress_step(struct progress *p, size_t done, const char *what);

void progress_step_of(struct progress *p, size_t done, double cost_of_each, const char *what);

/* The work is over, or has stopped: what shows it goes. */
void progress_end(struct progress *p);

/* Units a second since the measuring began, until it ended; 0 where nothing was measured. */
double progress_rate(const struct progress *p);

/* Seconds that the rest takes at the pace so far; 0 where nothing was measured. */
double progress_left(const struct progress *p);

/* Seconds on the monotonic clock, and since `started`. */
double progress_now(void);
double progress_seconds(const struct progress *p);

#endif
