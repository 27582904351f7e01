/* Values of options that are of `reach erf` alone. */
#include "commands/erf_values.h"

#include "commands/rows.h"
#include "io/formats/csv.h"
#include "io/order.h"
#include "run/erf/options.h"

#include <stdlib.h>
#include <string.h>

static const double standard_thresholds[] = {0.5, 0.9, 0.95, 0.99, 0.999};
enum { STANDARD_THRESHOLDS = sizeof standard_thresholds / sizeof *standard_thresholds };

static int is_standard(double q)
{
    int i = 0;

    while (i < STANDARD_THRESHOLDS && standard_thresholds[i] != q)
        i++;
    return i < STANDARD_THRESHOLDS;
}

/* Inserts Q in order, unless present; the first one is used in the table and the figure. */
int erf_read_threshold(void *options, const char *value, int nth, struct error *e)
{
    struct erf_options *o = options;
    double q;

    if (read_between("--threshold", value, 0, 1, &q, e) != 0)
        return -1;
    if (!o->threshold_count) {
        memcpy(o->thresholds, standard_thresholds, sizeof standard_thresholds);
        o->threshold_count = STANDARD_THRESHOLDS;
    }
    if (nth == 0)
        o->main_threshold = q;
    for (size_t i = 0; i < o->threshold_count; i++)
        if (o->thresholds[i] == q)
            return 0;
    if (o->threshold_count == THRESHOLDS_MAX)
        return fail(e, "--threshold: too many (expected at most %d in all)", THRESHOLDS_MAX);
    o->thresholds[o->threshold_count++] = q;
    qsort(o->thresholds, o->threshold_count, sizeof *o->thresholds, order_numbers);
    return 0;
}

/* The main one, then optional ones. */
int erf_write_threshold(FILE *f, const void *options, int nth)
{
    const struct erf_options *o = options;
    char number[32];
    size_t i = 0;

    if (nth == 0) {
        fputs(csv_format_real(number, o->main_threshold), f);
        return 1;
    }
    for (; i < o->threshold_count; i++)
        if (o->thresholds[i] != o->main_threshold && !is_standard(o->thresholds[i]) && --nth == 0)
            break;
    if (i < o->threshold_count)
        fputs(csv_format_real(number, o->thresholds[i]), f);
    return i < o->threshold_count;
}

int erf_read_targets(void *options, const char *value, int nth, struct error *e)
{
    struct erf_options *o = options;

    (void)nth;
    return read_targets(o->targets, &o->target_count, value, e);
}

int erf_write_targets(FILE *f, const void *options, int nth)
{
    const struct erf_options *o = options;

    return write_targets(f, o->targets, o->target_count, nth);
}

int erf_read_layer(void *options, const char *value, int nth, struct error *e)
{
    struct erf_options *o = options;
    long whole = LAYER_ALL;

    (void)nth;
    if (strcmp(value, "none") == 0)
        whole = LAYER_NONE;
    else if (strcmp(value, "all") != 0 && read_whole("--layer", value, 0, 1L << 20, &whole, e) != 0)
        return fail(e,
                    "--layer: \"%s\" is not valid (expected all, or the number of a block from 0)",
                    value);
    o->layer = (int)whole;
    return 0;
}

int erf_write_layer(FILE *f, const void *options, int nth)
{
    const struct erf_options *o = options;

    if (nth == 0 && o->layer >= 0)
        fprintf(f, "%d", o->layer);
    else if (nth == 0)
        fputs(o->layer == LAYER_ALL ? "all" : "none", f);
    return nth == 0;
}

/* I/N */
int erf_read_shard(void *options, const char *value, int nth, struct error *e)
{
    struct erf_options *o = options;
    const char *slash = strchr(value, '/');
    char first[32];

    (void)nth;
    snprintf(first, sizeof first, "%.*s", slash && slash - value < 31 ? (int)(slash - value) : 0,
             value);
    if (!slash || read_whole("--shard", slash + 1, 1, 1L << 31, &o->shards, e) != 0 ||
        read_whole("--shard", first, 1, o->shards, &o->shard, e) != 0)
        return fail(e,
                    "--shard: \"%s\" is not valid (expected I/N, the I-th of N parts, such as 1/4)",
                    value);
    return 0;
}

int erf_write_shard(FILE *f, const void *options, int nth)
{
    const struct erf_options *o = options;

    if (nth || !o->shards)
        return 0;
    fprintf(f, "%ld/%ld", o->shard, o->shards);
    return 1;
}

/* The default depends on the input: tables of tokens have their own length. */
int erf_write_length(FILE *f, const void *options, int nth)
{
    const struct erf_options *o = options;

    if (nth || !o->cut.length || (o->cut.length == 2048 && !o->tokens.count))
        return 0;
    fprintf(f, "%zu", o->cut.length);
    return 1;
}
