/* Values of options of `reach erf` alone: how rows of OPTION_OWN are read and written. */
#ifndef REACH_COMMANDS_ERF_VALUES_H
#define REACH_COMMANDS_ERF_VALUES_H

#include "io/error.h"

#include <stdio.h>

/* Q: the first is used in the table and the figure. */
int erf_read_threshold(void *options, const char *value, int nth, struct error *e) MUST_USE;
/* The main one, then optional ones. */
int erf_write_threshold(FILE *f, const void *options, int nth);

/* P[,P...], each once. */
int erf_read_targets(void *options, const char *value, int nth, struct error *e) MUST_USE;
int erf_write_targets(FILE *f, const void *options, int nth);

/* K, all or none. */
int erf_read_layer(void *options, const char *value, int nth, struct error *e) MUST_USE;
int erf_write_layer(FILE *f, const void *options, int nth);

/* I/N */
int erf_read_shard(void *options, const char *value, int nth, struct error *e) MUST_USE;
int erf_write_shard(FILE *f, const void *options, int nth);

/* The default depends on the input: tables of tokens have their own length. */
int erf_write_length(FILE *f, const void *options, int nth);

#endif
