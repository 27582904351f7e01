/* Targets: what reach wrote itself, or anybody in its name. */
#include "tests/fuzz/fuzz.h"

#include "run/fit/fit.h"
#include "io/formats/csv.h"
#include "io/results/journal.h"
#include "io/results/result.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int fuzz_result(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct result r;
    if (result_read(fuzz_write("input", data, size), &r, &e)) {
        if (!e.text[0] || r.models)
            abort();
        return 0;
    }
    double sum = 0;
    for (size_t i = 0; i < r.model_count; i++) {
        const struct result_model *m = &r.models[i];
        const struct result_attention *a = &m->attention;
        for (size_t k = 0; k < m->field_count; k++) {
            const struct result_field *f = &m->fields[k];
            const struct erf_summary *u = &f->summary;
            size_t n = f->positions;
            sum += f->norm[m->segments * n - 1] + f->logprob[m->segments - 1] +
                   f->status[m->segments - 1];
            sum += u->s[n - 1] + u->c[n - 1] + u->c_lo[n - 1] + u->c_hi[n - 1];
            sum += f->completeness ? f->completeness[2 * m->segments - 1] : 0;
        }
        sum += (double)m->start[m->segments - 1];
        sum += m->tokens ? m->tokens[m->segments * m->fields[0].target - 1] : 0;
        for (size_t k = 0; k < m->pieces.count; k++) {
            size_t bytes;
            const char *text = texts_find(&m->pieces, m->pieces.id[k], &bytes);
            sum += bytes ? text[bytes - 1] : 0;
        }
        sum += a->high ? (double)a->high[a->layers * a->heads * a->positions - 1] : 0;
        sum += a->decay_high ? (double)a->decay_high[a->layers * a->recurrence_heads - 1] : 0;
        sum += a->decay_low ? (double)a->decay_low[a->layers * a->recurrence_heads - 1] : 0;
        sum += a->log_decay ? a->log_decay[a->layers * a->recurrence_heads - 1] : 0;
        sum += a->low ? (double)a->low[a->layers * a->heads * a->positions - 1] : 0;
    }
    result_free(&r);
    return sum == sum || sum != sum; /* all was read */
}

static int add_record(void *context, const struct journal_record *r)
{
    double *sum = context;
    if (r->kind == JOURNAL_ATTENTION) {
        *sum += (double)r->attention.high[1] + (double)r->attention.low[1];
        return r->attention.used > r->attention.measured;
    }
    if (r->kind == JOURNAL_LOSSES) {
        for (uint64_t i = 0; i < r->losses.count; i++)
            *sum += r->losses.values[i];
        return 0;
    }
    *sum += r->segment.values[0] + r->segment.values[2] + r->segment.logprob;
    return r->segment.status > 2;
}

/* Sets the checksum at the end of a record right. */
static void mend(uint8_t *record, size_t bytes, uint64_t digest)
{
    uint64_t checksum = XXH3_64bits_withSeed(record, bytes - sizeof checksum, digest);
    memcpy(record + bytes - sizeof checksum, &checksum, sizeof checksum);
}

/* Checksums are set right first: no input would get behind them. */
int fuzz_journal(const uint8_t *data, size_t size)
{
    enum {
        FIXED = 64,
        CHECKSUM = 8,
        VALUES = 3,
        WORDS = 2,
        SLOTS = 4,
        RECORD = 32 + 8 * VALUES + CHECKSUM,
        SLOT = 32 + 16 * WORDS + CHECKSUM
    };
    static const char settings[] = "seed=1\nlength=4\nmodel=a b\n";
    static const struct journal_sizes sizes = {.models = 2, .values = VALUES, .words = WORDS};
    struct error e = {""};
    double sum = 0;
    struct journal_found found;
    uint8_t *copy = (uint8_t *)fuzz_text(data, size);
    uint64_t length, digest, checksum;
    if (size >= FIXED + CHECKSUM) {
        memcpy(&length, copy + 56, sizeof length);
        memcpy(&digest, copy + 16, sizeof digest);
        size_t at = length <= size - FIXED - CHECKSUM ? FIXED + (size_t)length : size - CHECKSUM;
        checksum = XXH3_64bits(copy, at);
        memcpy(copy + at, &checksum, sizeof checksum);
        at += CHECKSUM;
        for (int i = 0; i < SLOTS && size - at >= SLOT; i++, at += SLOT)
            mend(copy + at, SLOT, digest);
        for (; size - at >= RECORD; at += RECORD)
            mend(copy + at, RECORD, digest);
    }
    struct journal *j = journal_resume(fuzz_write("erf.part", copy, size), &sizes, settings,
                                       add_record, &sum, &found, &e);
    free(copy);
    if (!j)
        return 0;
    const double values[VALUES] = {1, 2, 3};
    const uint64_t words[WORDS] = {1, 2};
    const struct journal_record segment = {.kind = JOURNAL_SEGMENT,
                                           .model = 1,
                                           .segment = {.segment = 2,
                                                       .status = 1,
                                                       .values = values}},
                                attention = {.kind = JOURNAL_ATTENTION,
                                             .model = 1,
                                             .attention = {2, 1, WORDS, words, words}};
    int result = journal_append(j, &segment, &e) || journal_append(j, &attention, &e) ||
                 journal_close(j, &e);
    if (result)
        abort();
    return 1;
}

int fuzz_csv(const uint8_t *data, size_t size)
{
    struct error e = {""};
    struct csv_table table;
    const char *path = fuzz_write("input.csv", data,
                                  size); /* a report is told to be a table by its name */
    if (csv_read(path, &table, &e)) {
        if (!e.text[0])
            abort();
        return 0;
    }
    size_t length = 0;
    for (size_t i = 0; i < table.columns * table.rows; i++)
        length += strlen(table.cell[i]);
    if (length > size || csv_column(&table, table.header[0]) != 0)
        abort();
    csv_table_free(&table);
    const struct fit_options options = {.first = 0, .last = -1};
    struct fit_run run = {.options = &options};
    if (fit_read_csv(&run, path, &e) && !e.text[0])
        abort();
    fit_run_free(&run);
    return 1;
}
