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
 *   header   magic[8] version[4] zero[4] digest[8] positions[8] record_bytes[8] settings_bytes[8] settings[settings_bytes]
 * checksum[8] record   model[4] segment[4] status[1] zero[7] logprob[8] norm[8 positions] checksum[8] digest is XXH3-64 of the
 * settings; checksums are XXH3-64 of all bytes before them in the header or record, records seeded with the digest, so that a
 * record of another run is never taken for one of this. */
enum { VERSION = 1, FIXED_BYTES = 48, RECORD_FIXED_BYTES = 24, CHECKSUM_BYTES = 8, SETTINGS_BYTES_MAX = 16 << 20 };
static const char magic[8] = "reachrun";

struct journal {
    char *path;
    int descriptor;
    size_t positions, record_bytes;
    uint64_t digest;
    unsigned char *record; /* [record_bytes] the one that is being written */
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
    free(j->path);
    free(j);
}

static struct journal *prepare(const char *path, size_t positions, const char *settings, struct error *e)
{
    struct journal *j = calloc(1, sizeof *j);
    if (!j || !(j->path = strdup(path))) {
        fail_memory(e, (double)sizeof *j + (double)strlen(path), path);
        free(j);
        return NULL;
    }
    j->descriptor = -1;
    j->positions = positions;
    j->digest = XXH3_64bits(settings, strlen(settings));
    if (size_multiply(&j->record_bytes, positions, sizeof(double)) ||
        size_add(&j->record_bytes, j->record_bytes, RECORD_FIXED_BYTES + CHECKSUM_BYTES) ||
        !(j->record = malloc(j->record_bytes))) {
        fail_memory(e, (double)positions * sizeof(double), "a record of the journal");
        destroy(j);
        return NULL;
    }
    return j;
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
    put64(h + 24, j->positions);
    put64(h + 32, j->record_bytes);
    put64(h + 40, length);
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
    if (get32(fixed + 8) != VERSION)
        return fail(e, "%s: is a journal of version %u (expected %d; remove it to start afresh)", j->path, get32(fixed + 8),
                    VERSION);
    uint64_t length = get64(fixed + 40);
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
    if (get64(whole + 24) != j->positions || get64(whole + 32) != j->record_bytes)
        result = fail(e, "%s: has records of %llu positions (expected %zu)", j->path, (unsigned long long)get64(whole + 24),
                      j->positions);
    j->size = bytes + CHECKSUM_BYTES;
end:
    free(whole);
    return result;
}

/* -- opening -- */

struct journal *journal_create(const char *path, size_t positions, const char *settings, struct error *e)
{
    struct journal *j = prepare(path, positions, settings, e);
    if (!j)
        return NULL;
    struct atomic_file f = {0};
    unsigned char *header = build_header(j, settings, &j->size);
    if (!header) {
        fail_memory(e, (double)j->size, "the journal's header");
        goto failed;
    }
    if (strlen(settings) > SETTINGS_BYTES_MAX) {
        fail(e, "%s: the settings take %zu bytes (expected at most %d)", path, strlen(settings), SETTINGS_BYTES_MAX);
        goto failed;
    }
    /* whole or not at all: what a kill leaves behind is no journal or one with a header */
    if (atomic_open(&f, path, e))
        goto failed;
    fwrite(header, 1, j->size, f.stream);
    if (atomic_commit(&f, e))
        goto failed;
    j->descriptor = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (j->descriptor < 0) {
        fail(e, "%s: cannot be opened: %s", path, strerror(errno));
        goto failed;
    }
    j->synced = seconds_now();
    free(header);
    return j;
failed:
    free(header);
    destroy(j);
    return NULL;
}

/* Passes valid records on, over those that are damaged; what is damaged or torn at the end is cut off. */
static int read_records(struct journal *j, size_t file_bytes, int (*each)(void *context, const struct journal_record *r),
                        void *context, struct journal_found *found, struct error *e)
{
    double *norm = calloc(j->positions ? j->positions : 1, sizeof *norm);
    if (!norm)
        return fail_memory(e, (double)j->positions * sizeof *norm, "a record of the journal");
    int result = 0;
    size_t body = j->record_bytes - CHECKSUM_BYTES, at = j->size;
    for (; file_bytes - at >= j->record_bytes; at += j->record_bytes) {
        const unsigned char *p = j->record;
        if ((result = file_read_at(j->descriptor, j->path, j->record, j->record_bytes, at, e)))
            goto end;
        if (get64(p + body) != XXH3_64bits_withSeed(p, body, j->digest)) {
            found->damaged++;
            continue;
        }
        struct journal_record r = {.model = get32(p), .segment = get32(p + 4), .status = p[8], .norm = norm};
        memcpy(&r.logprob, p + 16, sizeof r.logprob);
        memcpy(norm, p + RECORD_FIXED_BYTES, j->positions * sizeof *norm);
        if (each(context, &r)) {
            result = e && e->text[0]
                         ? -1
                         : fail(e, "%s: the record of model %u, segment %u does not fit this run", j->path, r.model, r.segment);
            goto end;
        }
        found->records++;
        j->size = at + j->record_bytes;
    }
    found->torn = file_bytes - at;
    if (j->size < file_bytes && (ftruncate(j->descriptor, (off_t)j->size) || fsync(j->descriptor)))
        result = fail(e, "%s: its torn end cannot be cut off: %s", j->path, strerror(errno));
end:
    free(norm);
    return result;
}

struct journal *journal_resume(const char *path, size_t positions, const char *settings,
                               int (*each)(void *context, const struct journal_record *r), void *context,
                               struct journal_found *found, struct error *e)
{
    *found = (struct journal_found){0};
    if (e)
        e->text[0] = '\0';
    struct journal *j = prepare(path, positions, settings, e);
    if (!j)
        return NULL;
    struct stat st;
    j->descriptor = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (j->descriptor < 0 || fstat(j->descriptor, &st)) {
        found->absent = errno == ENOENT;
        fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        fail(e, "%s: is no journal of reach (expected a regular file)", path);
    } else if (check_header(j, (size_t)st.st_size, settings, e) == 0 &&
               read_records(j, (size_t)st.st_size, each, context, found, e) == 0) {
        j->synced = seconds_now();
        return j;
    }
    destroy(j);
    return NULL;
}

/* -- writing -- */

int journal_append(struct journal *j, const struct journal_record *r, struct error *e)
{
    unsigned char *p = j->record;
    size_t body = j->record_bytes - CHECKSUM_BYTES;
    memset(p, 0, RECORD_FIXED_BYTES);
    put32(p, r->model);
    put32(p + 4, r->segment);
    p[8] = r->status;
    memcpy(p + 16, &r->logprob, sizeof r->logprob);
    memcpy(p + RECORD_FIXED_BYTES, r->norm, j->positions * sizeof *r->norm);
    put64(p + body, XXH3_64bits_withSeed(p, body, j->digest));
    /* one write: a kill leaves the record out or whole; only a full disk or a power cut tears it */
    if (file_write_all(j->descriptor, p, j->record_bytes)) {
        fail(e, "%s: cannot be written: %s", j->path, strerror(errno));
        int cut = ftruncate(j->descriptor, (off_t)j->size);
        (void)cut; /* if even that fails, the torn end goes when the journal is opened again */
        return -1;
    }
    j->size += j->record_bytes;
    double now = seconds_now();
    if (now - j->synced < 1)
        return 0;
    j->synced = now;
    return fdatasync(j->descriptor) ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno)) : 0;
}

int journal_close(struct journal *j, struct error *e)
{
    if (!j)
        return 0;
    int result = fsync(j->descriptor) ? fail(e, "%s: cannot be synced to disk: %s", j->path, strerror(errno)) : 0;
    destroy(j);
    return result;
}
