/* Reports from a long run. A run prints nothing: it calls these functions, and whoever started it
 * decides what is shown. */
#ifndef REACH_RUN_PROGRESS_H
#define REACH_RUN_PROGRESS_H

#include "io/error.h"

#include <stddef.h>

enum progress_kind {
    PROGRESS_LOG, /* only for a log */
    PROGRESS_MESSAGE, /* for people, unless they asked for quiet */
    PROGRESS_WARNING, /* always for people: a damaged file, or what changes the meaning of numbers
                       */
    PROGRESS_NOT_DRAWN /* why pictures are missing although gnuplot exists; the run continues */
};

/* A log's fact about a run: a text, or without one a number. */
struct progress_fact {
    const char *name;
    const char *text;
    double number;
};

struct progress {
    void (*say)(struct progress *p, enum progress_kind kind, const char *line);
    void (*show)(
        struct progress *p,
        const char *what); /* the counts changed; `what` is in progress, NULL: done. May be NULL */
    void (*tell)(struct progress *p, const char *event,
                 const struct progress_fact *facts); /* may be NULL */
    const char *unit; /* of work: segments, model runs, tokens */
    double started; /* seconds on the monotonic clock */
    double measuring, measured; /* when measuring began and ended: the rate is for this time only */
    char plan[256]; /* the memory plan last reported */
    struct progress_said *said; /* of models; owned */
    int products, slow_products; /* kinds of matrix products reported; those with a warning */
    size_t total, done, at_start; /* units; at_start of them came from a journal */
    struct {
        double total, done, at_start;
    } cost; /* of these units, if they differ: operations. total 0: all cost the same */
};

/* A `say` for runs whose reports nobody wants. */
void progress_silent(struct progress *p, enum progress_kind kind, const char *line);

void progress_message(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
void progress_warning(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* A message or warning about one of several models. What was said of an earlier one goes to the log
 * alone; progress_repeat names the models that a warning was also about. */
void progress_about(struct progress *p, enum progress_kind kind, const char *model,
                    const char *format, ...) PRINTF_LIKE(4, 5);
/* At the end of a run, however it ended: also frees what was kept for this. */
void progress_repeat(struct progress *p);
void progress_not_drawn(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
void progress_log(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* For a log: an event and its facts, ended by one without a name. */
void progress_tell(struct progress *p, const char *event, const struct progress_fact *facts);
/* The memory plan of a model, in words and bytes: reported, but only to a log if unchanged. */
void progress_plan(struct progress *p, const char *model, const char *plan, double bytes);
/* The work: `total` units, `done` of which need not be measured again. */
void progress_start(struct progress *p, size_t total, size_t done);
/* Call after progress_start: the cost of all units, and of those that need not be measured again.
 * Steps then give their own costs. */
void progress_costs(struct progress *p, double total, double done);
/* `done` more units are measured. */
void progress_step(struct progress *p, size_t done, const char *what);

void progress_step_of(struct progress *p, size_t done, double cost_of_each, const char *what);
/* A part of a unit is measured, of this cost. */
void progress_spend(struct progress *p, double cost, const char *what);

/* The work is over, or has stopped: removes the display. */
void progress_end(struct progress *p);

/* Units a second from the start of measuring to its end; 0 if nothing was measured. */
double progress_rate(const struct progress *p);

/* The part of the work that is done, 0 to 1. */
double progress_part(const struct progress *p);

/* Seconds left at the pace so far; 0 if nothing was measured. */
double progress_left(const struct progress *p);

/* A time in seconds for people: "0.4 s", "12 s", "35 min", "2 h 05 min", "37 days".
 * Returns `out`. */
enum { DURATION_TEXT = 40 };
const char *duration_text(char out[DURATION_TEXT], double seconds);

/* Seconds on the monotonic clock, and since `started`. */
double progress_now(void);
double progress_seconds(const struct progress *p);

#endif
