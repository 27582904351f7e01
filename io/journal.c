#include "io/journal.h"

#include "io/atomic.h"
#include "io/element.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* On disk, all little-endian:
 *   header   magic[8] version[4] zero[4] digest[8] models[8] values[8] words[8] begin[8] settings_bytes[8]
 * settings[settings_bytes] checksum[8] slots    two records of attention for each model, one model after the other, zeros where
 * there is none yet; none if words = 0 segments from byte `begin` on, one behind the other record   kind[4] model[4] head[24]
 * payload checksum[8] segment: head target[4] segment[4] status[1] zero[7] logprob[8]; payload values[8 values] attention: head
 * measured[8] used[8] zero[8]; payload high[8 words] low[8 words] digest is XXH3-64 of the settings; checksums are XXH3-64 of all
 * bytes before them in the header or record, records seeded with the digest, so that a record of another run is never taken for
 * one of this. Version 1, of reach 0.1.0, had records of segments alone, and attention in a file beside it. */
enum { VERSION = 2, FIXED_BYTES = 64, RECORD_HEAD_BYTES = 32, CHECKSUM_BYTES = 8, SLOTS = 2, SETTINGS_BYTES_MAX = 16 << 20 };
static const char magic[8] = "reachrun";

struct journal {
    char *path;
    int descriptor;
    struct journal_sizes sizes;
    size_t segment_bytes, attention_bytes; /* of a record */
    size_t slots, begin; /* offsets */
    uint64_t digest;
    unsigned char *record; /* [the larger of the two] the one that is being written or read */
    unsigned char *next_slot; /* [models] the one to write to */
    size_t size; /* bytes of the file that are whole */
    double synced; /* when, in seconds; see seconds_now */
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void put32(unsigned char *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static void put64(unsigned char *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

static uint32_t get32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t get64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

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

/* Bytes of a record with so many numbers of 8 bytes; -1 beyond 64 bits. */
static int record_bytes(size_t *out, size_t numbers)
{
    return size_multiply(out, numbers, 8) || size_add(out, *out, RECORD_HEAD_BYTES + CHECKSUM_BYTES) ? -1 : 0;
}

static struct journal *prepare(const char *path, const struct journal_sizes *sizes, const char *settings, struct error *e)
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
        record_bytes(&j->attention_bytes, words) || size_multiply(&slots, j->attention_bytes, sizes->words ? SLOTS : 0) ||
        size_multiply(&slots, slots, sizes->models) || size_add(&j->begin, j->slots, slots) ||
        !(j->record = malloc(j->segment_bytes > j->attention_bytes ? j->segment_bytes : j->attention_bytes)) ||
        !(j->next_slot = calloc(sizes->models ? sizes->models : 1, 1))) {
        fail_memory(e, ((double)sizes->values + 2 * (double)sizes->words) * 8, "a record of the journal");
        destroy(j);
        return NULL;
    }
    return j;
}

/* -- a record -- */

static size_t bytes_of(const struct journal *j, enum journal_kind kind)
{
    return kind == JOURNAL_SEGMENT ? j->segment_bytes : j->attention_bytes;
}

/* Puts the record together in j->record. */
static void pack(struct journal *j, const struct journal_record *r)
{
    unsigned char *p = j->record;
    size_t body = bytes_of(j, r->kind) - CHECKSUM_BYTES, words = j->sizes.words * sizeof(uint64_t);
    memset(p, 0, RECORD_HEAD_BYTES);
    put32(p, r->kind);
    put32(p + 4, r->model);
    switch (r->kind) {
    case JOURNAL_SEGMENT:
        put32(p + 8, r->segment.target);
        put32(p + 12, r->segment.segment);
        p[16] = r->segment.status;
        memcpy(p + 24, &r->segment.logprob, sizeof r->segment.logprob);
        memcpy(p + RECORD_HEAD_BYTES, r->segment.values, j->sizes.values * sizeof *r->segment.values);
        break;
    case JOURNAL_ATTENTION:
        put64(p + 8, r->attention.measured);
        put64(p + 16, r->attention.used);
        memcpy(p + RECORD_HEAD_BYTES, r->attention.high, words);
        memcpy(p + RECORD_HEAD_BYTES + words, r->attention.low, words);
        break;
    }
    put64(p + body, XXH3_64bits_withSeed(p, body, j->digest));
}

/* Takes the record of this kind in j->record apart; -1: it is damaged. */
static int unpack(const struct journal *j, enum journal_kind kind, struct journal_record *r)
{
    const unsigned char *p = j->record;
    const void *payload = p + RECORD_HEAD_BYTES; /* aligned, for memory is */
    size_t body = bytes_of(j, kind) - CHECKSUM_BYTES;
    if (get64(p + body) != XXH3_64bits_withSeed(p, body, j->digest) || get32(p) != kind)
        return -1;
    *r = (struct journal_record){.kind = kind, .model = get32(p + 4)};
    switch (kind) {
    case JOURNAL_SEGMENT:
        r->segment =
            (struct journal_segment){.target = get32(p + 8), .segment = get32(p + 12), .status = p[16], .values = payload};
        memcpy(&r->segment.logprob, p + 24, sizeof r->segment.logprob);
        break;
    case JOURNAL_ATTENTION:
        r->attention = (struct journal_attention){get64(p + 8), get64(p + 16), payload,
                                                  (const uint64_t *)payload + j->sizes.words};
        break;
    }
    return 0;
}

/* -- the header -- */

/* Builds the header; caller frees. NULL only without memory. */
static unsigned char *build_header(const struct journal *j, const char *settings, size_t *bytes)
{
    size_t length = strlen(settings);
    *bytes = FIXED_BYTES + length + CHECKSUM_BYTES;
    unsigned char *h = calloc(1, *bytes);
    if (!h)
        return NULL;
    memcpy(h, magic, sizeof magic);
    put32(h + 8, VERSION);
    put64(h + 16, j->digest);
    put64(h + 24, j->sizes.models);
    put64(h + 32, j->sizes.values);
    put64(h + 40, j->sizes.words);
    put64(h + 48, j->begin);
    put64(h + 56, length);
    memcpy(h + FIXED_BYTES, settings, length);
    put64(h + FIXED_BYTES + length, XXH3_64bits(h, FIXED_BYTES + length));
    return h;
}

/* The line that begins with the key of `line` ("key=value") in a text of lines, or NULL. Lengths are without the line's end. */
static const char *find_key(const char *text, const char *line, size_t *length)
{
    size_t key = strcspn(line, "=\n");
    for (const char *at = text; *at;) {
        *length = strcspn(at, "\n");
        if (strcspn(at, "=\n") == key && memcmp(at, line, key) == 0)
            return at;
        at += *length + (at[*length] == '\n');
    }
    return NULL;
}

/* The value behind "key=" of a line of `length` bytes, as far as a message has room. */
static const char *value_of(const char *line, size_t length, char out[160])
{
    if (!line)
        return "nothing";
    size_t key = strcspn(line, "=\n"), skip = key < length ? key + 1 : key, n = length - skip;
    n = n < 159 ? n : 159;
    memcpy(out, line + skip, n);
    out[n] = '\0';
    return out;
}

/* Both texts are NUL-terminated. Names the first key of `a` whose value in `b` differs; `swapped`: b is this run's. */
static int name_difference(const char *path, const char *a, const char *b, int swapped, struct error *e)
{
    for (const char *line = a; *line;) {
        size_t length = strcspn(line, "\n"), other_length = 0;
        const char *other = find_key(b, line, &other_length);
        if (!other || other_length != length || memcmp(other, line, length)) {
            char here[160], there[160];
            const char *value = value_of(line, length, here), *other_value = value_of(other, other_length, there);
            return fail(e, "%s: was begun with other settings: %.*s is %s there, %s in this run (expected the same)", path,
                        (int)strcspn(line, "=\n"), line, swapped ? value : other_value, swapped ? other_value : value);
        }
        line += length + (line[length] == '\n');
    }
    return 0;
}

/* Reads and checks the header; the descriptor is open. */
static int check_header(struct journal *j, size_t file_bytes, const char *settings, struct error *e)
{
    unsigned char fixed[FIXED_BYTES], *whole = NULL;
    if (file_bytes < FIXED_BYTES + CHECKSUM_BYTES)
        return fail(e, "%s: is no journal of reach (%zu bytes; remove it to start afresh)", j->path, file_bytes);
    if (file_read_at(j->descriptor, j->path, fixed, sizeof fixed, 0, e))
        return -1;
    if (memcmp(fixed, magic, sizeof magic))
        return fail(e, "%s: is no journal of reach (remove it to start afresh)", j->path);
    if (get32(fixed + 8) == 1)
        return fail(e,
                    "%s: is the journal of a run of reach 0.1.0 (expected that version to go on with it, or --force without "
                    "--resume to start afresh)",
                    j->path);
    if (get32(fixed + 8) != VERSION)
        return fail(e, "%s: is a journal of version %u (expected %d; remove it to start afresh)", j->path, get32(fixed + 8),
                    VERSION);
    uint64_t length = get64(fixed + 56);
    if (length > SETTINGS_BYTES_MAX || length > file_bytes - FIXED_BYTES - CHECKSUM_BYTES)
        return fail(e, "%s: its header is damaged (remove it to start afresh)", j->path);
    size_t bytes = FIXED_BYTES + (size_t)length;
    if (!(whole = malloc(bytes + CHECKSUM_BYTES)))
        return fail_memory(e, (double)bytes, "the journal's header");
    int result = file_read_at(j->descriptor, j->path, whole, bytes + CHECKSUM_BYTES, 0, e);
    if (result)
        goto end;
    if (get64(whole + bytes) != XXH3_64bits(whole, bytes)) {
        result = fail(e, "%s: its header is damaged (remove it to start afresh)", j->path);
        goto end;
    }
    whole[bytes] = '\0'; /* the checksum's place: it has done its duty */
    const char *theirs = (const char *)whole + FIXED_BYTES;
    if (strlen(settings) != length || memcmp(settings, theirs, (size_t)length)) {
        result = name_difference(j->path, settings, theirs, 0, e) || name_difference(j->path, theirs, settings, 1, e)
                     ? -1
                     : fail(e, "%s: was begun with the same settings in another order (expected the same)", j->path);
        goto end;
    }
    if (get64(whole + 24) != j->sizes.models || get64(whole + 32) != j->sizes.values || get64(whole + 40) != j->sizes.words ||
        get64(whole + 48) != j->begin)
        result = fail(e, "%s: has records of %llu values and %llu words (expected %zu and %zu)", j->path,
                      (unsigned long long)get64(whole + 32), (unsigned long long)get64(whole + 40), j->sizes.values,
                      j->sizes.words);
    else if (file_bytes < j->begin)
        result = fail(e, "%s: its header is damaged (remove it to start afresh)", j->path);
    j->size = j->begin;
end:
    free(whole);
    return result;
}

/* -- opening -- */

struct journal *journal_create(const char *path, const struct journal_sizes *sizes, const char *settings, struct error *e)
{
    struct journal *j = prepare(path, sizes, settings, e);
    if (!j)
        return NULL;
    struct atomic_file f = {0};
    size_t bytes = 0;
    unsigned char *header = build_header(j, settings, &bytes);
    if (!header) {
        fail_memory(e, (double)bytes, "the journal's header");
        goto failed;
    }
    if (strlen(settings) > SETTINGS_BYTES_MAX) {
        fail(e, "%s: the settings take %zu bytes (expected at most %d)", path, strlen(settings), SETTINGS_BYTES_MAX);
        goto failed;
    }
    /* whole or not at all: what a kill leaves behind is no journal or one with a header */
    if (atomic_open(&f, path, e))
        goto failed;
    fwrite(header, 1, bytes, f.stream);
    if (fflush(f.stream) || ftruncate(fileno(f.stream), (off_t)j->begin)) { /* slots take no room until they are written to */
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
    j->synced = seconds_now();
    free(header);
    return j;
failed:
    free(header);
    destroy(j);
    return NULL;
}

/* Passes a valid record on; -1 with *e if it is not taken. */
static int pass_on(struct journal *j, const struct journal_record *r, int (*each)(void *context, const struct journal_record *r),
                   void *context, struct journal_found *found, struct error *e)
{
    if (each(context, r) == 0) {
        found->records++;
        return 0;
    }
    if (e && e->text[0])
        return -1;
    return r->kind == JOURNAL_SEGMENT
               ? fail(e, "%s: the record of model %u, target %u, segment %u does not fit this run", j->path, r->model,
                      r->segment.target, r->segment.segment)
               : fail(e, "%s: the record of the attention of model %u does not fit this run", j->path, r->model);
}

static size_t slot_offset(const struct journal *j, size_t model, size_t slot)
{
    return j->slots + (model * SLOTS + slot) * j->attention_bytes;
}

/* Reads one slot: 1 if it holds a record, 0 if nothing was written to it or it is damaged, -1 with *e. */
static int read_slot(struct journal *j, size_t model, size_t slot, struct journal_record *r, int *is_damaged, struct error *e)
{
    static const unsigned char nothing[RECORD_HEAD_BYTES];
    *is_damaged = 0;
    if (file_read_at(j->descriptor, j->path, j->record, j->attention_bytes, slot_offset(j, model, slot), e))
        return -1;
    if (memcmp(j->record, nothing, sizeof nothing) == 0)
        return 0;
    *is_damaged = unpack(j, JOURNAL_ATTENTION, r) || r->model != model;
    return !*is_damaged;
}

/* Passes on the newest valid record of attention of each model. */
static int read_slots(struct journal *j, int (*each)(void *context, const struct journal_record *r), void *context,
                      struct journal_found *found, struct error *e)
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
        if (valid[newest] && (read_slot(j, m, newest, &r, &is_damaged, e) != 1 || pass_on(j, &r, each, context, found, e)))
            return -1;
    }
    return 0;
}

/* Passes valid records of segments on, over those that are damaged; what is damaged or torn at the end is cut off. */
static int read_segments(struct journal *j, size_t file_bytes, int (*each)(void *context, const struct journal_record *r),
                         void *context, struct journal_found *found, struct error *e)
{
    size_t at = j->size;
    for (; file_bytes - at >= j->segment_bytes; at += j->segment_bytes) {
        struct journal_record r;
        if (file_read_at(j->descriptor, j->path, j->record, j->segment_bytes, at, e))
            return -1;
        if (unpack(j, JOURNAL_SEGMENT, &r)) {
            found->damaged++;
            continue;
        }
        if (pass_on(j, &r, each, context, found, e))
            return -1;
        j->size = at + j->segment_bytes;
    }
    found->torn = file_bytes - at;
    if ((j->size < file_bytes && (ftruncate(j->descriptor, (off_t)j->size) || fsync(j->descriptor))) ||
        lseek(j->descriptor, (off_t)j->size, SEEK_SET) < 0)
        return fail(e, "%s: its torn end cannot be cut off: %s", j->path, strerror(errno));
    return 0;
}

struct journal *journal_resume(const char *path, const struct journal_sizes *sizes, const char *settings,
                               int (*each)(void *context, const struct journal_record *r), void *context,
                               struct journal_found *found, struct error *e)
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
        fail(e, "%s: is no journal of reach (expected a regular file)", path);
    } else if (check_header(j, (size_t)st.st_size, settings, e) == 0 && read_slots(j, each, context, found, e) == 0 &&
               read_segments(j, (size_t)st.st_size, each, context, found, e) == 0) {
        j->synced = seconds_now();
        return j;
    }
    destroy(j);
    return NULL;
}

/* -- writing -- */

/* Over the older of the two; the other one is on the disk by now. */
static int write_slot(struct journal *j, uint32_t model, struct error *e)
{
    size_t done = 0, offset = slot_offset(j, model, j->next_slot[model]);
    while (done < j->attention_bytes) {
        ssize_t n = pwrite(j->descriptor, j->record + done, j->attention_bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(e, "%s: cannot be written: %s", j->path, strerror(errno));
        done += (size_t)n;
    }
    j->next_slot[model] = !j->next_slot[model];
    return fdatasync(j->descriptor) ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno)) : 0;
}

static int write_segment(struct journal *j, struct error *e)
{
    /* one write: a kill leaves the record out or whole; only a full disk or a power cut tears it */
    if (file_write_all(j->descriptor, j->record, j->segment_bytes)) {
        fail(e, "%s: cannot be written: %s", j->path, strerror(errno));
        int cut = ftruncate(j->descriptor, (off_t)j->size) || lseek(j->descriptor, (off_t)j->size, SEEK_SET) < 0;
        (void)cut; /* if even that fails, the torn end goes when the journal is opened again */
        return -1;
    }
    j->size += j->segment_bytes;
    double now = seconds_now();
    if (now - j->synced < 1)
        return 0;
    j->synced = now;
    return fdatasync(j->descriptor) ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno)) : 0;
}

int journal_append(struct journal *j, const struct journal_record *r, struct error *e)
{
    pack(j, r);
    return r->kind == JOURNAL_SEGMENT ? write_segment(j, e) : write_slot(j, r->model, e);
}

int journal_close(struct journal *j, struct error *e)
{
    if (!j)
        return 0;
    int result = fsync(j->descriptor) ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno)) : 0;
    destroy(j);
    return result;
}
