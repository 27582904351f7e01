/* The parts of a run of `reach erf`. Private to run/erf, run/attention and run/merge. */
#ifndef REACH_RUN_ERF_PARTS_H
#define REACH_RUN_ERF_PARTS_H

#include "io/atomic.h"
#include "model/attribution.h"
#include "run/erf/run.h"

/* The segments of shard I of N: [*first, *first + count) of `segments`; returns count, which may be 0. */
size_t erf_shard(size_t *first, size_t segments, long shard, long shards);
/* Targets, fields and room for what is measured, for models whose segments, and layers of the decoder, are known. */
int erf_lay_out(struct erf_run *r, struct error *e) MUST_USE;
/* Opens models and text and cuts the segments; everything that can be refused before the work is refused here. */
int erf_prepare(struct erf_run *r, struct error *e) MUST_USE;
/* Says what of a journal could not be taken over. */
struct journal_found;
void erf_tell_found(const struct erf_run *r, const char *path, const struct journal_found *found);
/* Measures all segments that `journal` (a path) does not hold, and reduces them. 0, or -1. */
int erf_measure(struct erf_run *r, const char *journal, struct error *e) MUST_USE;
/* Removes the sums of --attention that are kept beside the journal PATH; and the journal, last, so that it is never missing
 * beside them. */
void erf_sums_remove(const char *path);
void erf_journal_remove(const char *path);
/* An error that names a file of a model that was written to while the run read from it: what was computed last is of no one
 * model. */
int erf_unchanged(const struct erf_run *r, struct error *e) MUST_USE;
/* Summaries of all fields of target `target` from their norms. 0, -1, or ERF_UNUSABLE when every segment of one is excluded. */
enum { ERF_UNUSABLE = -2 };
int erf_reduce(struct erf_run *r, struct erf_model *m, size_t target, struct error *e) MUST_USE;
/* `key=value` lines: everything that results depend on. NULL when memory runs out; the caller frees. */
char *erf_settings(const struct erf_run *r);
/* How an engine is asked for to measure segments of this length; its decoder's model. */
struct engine_request erf_engine_options(const struct erf_run *r, const struct erf_model *m, size_t length);

/* 1 and a message if FOLDER holds results. */
int erf_results_exist(const char *folder, struct error *e);
/* Writes erf.h5, curve.csv, summary.csv, erf.gp and the pictures. Returns as figure_draw does. */
int erf_write(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
/* The figures of --layer, --target-position and --attention; return as figure_draw does. */
int erf_layers_draw(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
int erf_targets_draw(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;
int erf_attention_draw(const struct erf_run *r, const char *folder, struct error *e) MUST_USE;

/* FOLDER/NAME; NULL with *e when memory runs out. Caller frees. */
char *erf_path(const char *folder, const char *name, struct error *e);

#endif
