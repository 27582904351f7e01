#include "io/results/journal_parts.h"

#include "io/element.h"
#include "io/system/atomic.h"
#include "io/system/clock.h"
#include "io/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static void destroy(struct journal *j)
{
    if (!j)
        return;
    if (j->descriptor >= 0)
        close(j->descriptor);
    free(j->record);
    free(j->next_slot);
    free(j->path);
    free(j);
}

/* Bytes of a record with this many 8-byte numbers; -1 beyond 64 bits. */
static int record_bytes(size_t *out, size_t numbers)
{
    return size_multiply(out, numbers, 8) || size_add(out, *out, RECORD_HEAD_BYTES + CHECKSUM_BYTES)
               ? -1
               : 0;
}

static struct journal *prepare(const char *path, const struct journal_sizes *sizes,
                               const char *settings, struct error *e)
{
    struct journal *j = calloc(1, sizeof *j);
    size_t words, slots;
    if (!j || !(j->path = strdup(path))) {
        fail_memory(e, (double)sizeof *j + (double)strlen(path), path);
        free(j);
        return NULL;
    }
    j->descriptor = -1;
    j->sizes = *sizes;
    j->digest = XXH3_64bits(settings, strlen(settings));
    j->slots = j->begin = FIXED_BYTES + strlen(settings) + CHECKSUM_BYTES;
    if (record_bytes(&j->segment_bytes, sizes->values) || size_multiply(&words, sizes->words, 2) ||
        record_bytes(&j->attention_bytes, words) ||
        size_multiply(&slots, j->attention_bytes, sizes->words ? SLOTS : 0) ||
        size_multiply(&slots, slots, sizes->models) || size_add(&j->begin, j->slots, slots) ||
        !(j->record = malloc(j->segment_bytes > j->attention_bytes ? j->segment_bytes
                                                                   : j->attention_bytes)) ||
        !(j->next_slot = calloc(sizes->models ? sizes->models : 1, 1))) {
        fail_memory(e, ((double)sizes->values + 2 * (double)sizes->words) * 8,
                    "a record of the journal");
        destroy(j);
        return NULL;
    }
    return j;
}

/* -- opening -- */

struct journal *journal_create(const char *path, const struct journal_sizes *sizes,
                               const char *settings, struct error *e)
{
    struct journal *j = prepare(path, sizes, settings, e);
    if (!j)
        return NULL;
    struct atomic_file f = {0};
    size_t bytes = 0;
    unsigned char *header = journal_build_header(j, settings, &bytes);
    if (!header) {
        fail_memory(e, (double)bytes, "the journal's header");
        goto failed;
    }
    if (strlen(settings) > SETTINGS_BYTES_MAX) {
        fail(e, "%s: the settings take %zu bytes (expected at most %d)", path, strlen(settings),
             SETTINGS_BYTES_MAX);
        goto failed;
    }
    /* atomic: after a kill there is no journal or one with a header */
    if (atomic_open(&f, path, e))
        goto failed;
    fwrite(header, 1, bytes, f.stream);
    if (fflush(f.stream) ||
        ftruncate(fileno(f.stream), (off_t)j->begin)) { /* slots take no room yet */
        fail(e, "%s: cannot be written: %s", path, strerror(errno));
        atomic_abandon(&f);
        goto failed;
    }
    if (atomic_commit(&f, e))
        goto failed;
    j->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (j->descriptor < 0 || lseek(j->descriptor, (off_t)j->begin, SEEK_SET) < 0) {
        fail(e, "%s: cannot be opened: %s", path, strerror(errno));
        goto failed;
    }
    j->size = j->begin;
    j->synced = clock_seconds(CLOCK_MONOTONIC);
    free(header);
    return j;
failed:
    free(header);
    destroy(j);
    return NULL;
}

/* Passes a valid record to `each`; -1 with *e if it is not accepted. */
static int pass_on(struct journal *j, const struct journal_record *r,
                   int (*each)(void *context, const struct journal_record *r), void *context,
                   struct journal_found *found, struct error *e)
{
    if (each(context, r) == 0) {
        found->records++;
        return 0;
    }
    if (e && e->text[0])
        return -1;
    if (r->kind == JOURNAL_SEGMENT)
        return fail(e, "%s: the record of model %u, target %u, segment %u does not fit this run",
                    j->path, r->model, r->segment.target, r->segment.segment);
    return fail(e, "%s: the record of the %s of model %u does not fit this run", j->path,
                r->kind == JOURNAL_ATTENTION ? "attention" : "losses", r->model);
}

static size_t slot_offset(const struct journal *j, size_t model, size_t slot)
{
    return j->slots + (model * SLOTS + slot) * j->attention_bytes;
}

/* Reads one slot: 1 if it holds a record, 0 if nothing was written to it or it is damaged, -1 with
 * *e. */
static int read_slot(struct journal *j, size_t model, size_t slot, struct journal_record *r,
                     int *is_damaged, struct error *e)
{
    static const unsigned char nothing[RECORD_HEAD_BYTES];
    *is_damaged = 0;
    if (file_read_at(j->descriptor, j->path, j->record, j->attention_bytes,
                     slot_offset(j, model, slot), e))
        return -1;
    if (memcmp(j->record, nothing, sizeof nothing) == 0)
        return 0;
    *is_damaged = journal_unpack(j, JOURNAL_ATTENTION, r) || r->model != model;
    return !*is_damaged;
}

/* Passes on the newest valid record of attention of each model. */
static int read_slots(struct journal *j, int (*each)(void *context, const struct journal_record *r),
                      void *context, struct journal_found *found, struct error *e)
{
    for (size_t m = 0; j->sizes.words && m < j->sizes.models; m++) {
        uint64_t measured[SLOTS] = {0};
        int valid[SLOTS], is_damaged;
        struct journal_record r;
        for (size_t s = 0; s < SLOTS; s++) {
            if ((valid[s] = read_slot(j, m, s, &r, &is_damaged, e)) < 0)
                return -1;
            measured[s] = valid[s] ? r.attention.measured : 0;
            found->damaged += (size_t)is_damaged;
        }
        size_t newest = valid[1] && (!valid[0] || measured[1] > measured[0]);
        j->next_slot[m] = valid[newest] ? !newest : 0;
        if (valid[newest] && (read_slot(j, m, newest, &r, &is_damaged, e) != 1 ||
                              pass_on(j, &r, each, context, found, e)))
            return -1;
    }
    return 0;
}

/* Passes on valid records of segments, skips damaged ones; damaged or torn ends are cut off. */
static int read_segments(struct journal *j, size_t file_bytes,
                         int (*each)(void *context, const struct journal_record *r), void *context,
                         struct journal_found *found, struct error *e)
{
    size_t at = j->size;
    for (; file_bytes - at >= j->segment_bytes; at += j->segment_bytes) {
        struct journal_record r;
        if (file_read_at(j->descriptor, j->path, j->record, j->segment_bytes, at, e))
            return -1;
        if (journal_unpack(j, JOURNAL_SEGMENT, &r)) {
            found->damaged++;
            continue;
        }
        if (pass_on(j, &r, each, context, found, e))
            return -1;
        j->size = at + j->segment_bytes;
    }
    found->torn = file_bytes - at;
    if ((j->size < file_bytes &&
         (ftruncate(j->descriptor, (off_t)j->size) || fsync(j->descriptor))) ||
        lseek(j->descriptor, (off_t)j->size, SEEK_SET) < 0)
        return fail(e, "%s: its unfinished end cannot be cut off: %s", j->path, strerror(errno));
    return 0;
}

struct journal *journal_resume(const char *path, const struct journal_sizes *sizes,
                               const char *settings,
                               int (*each)(void *context, const struct journal_record *r),
                               void *context, struct journal_found *found, struct error *e)
{
    *found = (struct journal_found){0};
    if (e)
        e->text[0] = '\0';
    struct journal *j = prepare(path, sizes, settings, e);
    if (!j)
        return NULL;
    struct stat st;
    j->descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (j->descriptor < 0 || fstat(j->descriptor, &st)) {
        found->absent = errno == ENOENT;
        fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        fail(e, "%s: is not a journal of reach (expected a regular file)", path);
    } else if (journal_check_header(j, (size_t)st.st_size, settings, e) == 0 &&
               read_slots(j, each, context, found, e) == 0 &&
               read_segments(j, (size_t)st.st_size, each, context, found, e) == 0) {
        j->synced = clock_seconds(CLOCK_MONOTONIC);
        return j;
    }
    destroy(j);
    return NULL;
}

/* -- writing -- */

/* Overwrites the older of the two; the other one is on the disk by now. */
static int write_slot(struct journal *j, uint32_t model, struct error *e)
{
    size_t done = 0, offset = slot_offset(j, model, j->next_slot[model]);
    while (done < j->attention_bytes) {
        ssize_t n = pwrite(j->descriptor, j->record + done, j->attention_bytes - done,
                           (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(e, "%s: cannot be written: %s", j->path, strerror(errno));
        done += (size_t)n;
    }
    j->next_slot[model] = !j->next_slot[model];
    return fdatasync(j->descriptor)
               ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno))
               : 0;
}

static int write_segment(struct journal *j, struct error *e)
{
    /* one write: a kill leaves the record out or whole; only a full disk or a power cut tears it */
    if (file_write_all(j->descriptor, j->record, j->segment_bytes)) {
        fail(e, "%s: cannot be written: %s", j->path, strerror(errno));
        int cut = ftruncate(j->descriptor, (off_t)j->size) ||
                  lseek(j->descriptor, (off_t)j->size, SEEK_SET) < 0;
        (void)cut; /* if even that fails, the torn end is removed when the journal is next opened */
        return -1;
    }
    j->size += j->segment_bytes;
    double now = clock_seconds(CLOCK_MONOTONIC);
    if (now - j->synced < 1)
        return 0;
    j->synced = now;
    return fdatasync(j->descriptor)
               ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno))
               : 0;
}

/* A journal without a name, and later measurements, would be lost on closing: better fail now. */
static int check_place(const struct journal *j, struct error *e)
{
    struct stat ours, present;
    if (stat(j->path, &present) && (errno == ENOENT || errno == ENOTDIR))
        return fail(e,
                    "%s: was removed or renamed while it was written to (expected the folder to "
                    "stay until the run ends)",
                    j->path);
    if (fstat(j->descriptor, &ours) == 0 && (ours.st_nlink == 0))
        return fail(e, "%s: was replaced while it was written to (expected one run a folder)",
                    j->path);
    return 0;
}

int journal_append(struct journal *j, const struct journal_record *r, struct error *e)
{
    if (check_place(j, e))
        return -1;
    journal_pack(j, r);
    return r->kind == JOURNAL_ATTENTION ? write_slot(j, r->model, e) : write_segment(j, e);
}

int journal_close(struct journal *j, struct error *e)
{
    if (!j)
        return 0;
    int result = fsync(j->descriptor)
                     ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno))
                     : 0;
    destroy(j);
    return result;
}
