#include "io/system/atomic.h"

#include "io/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Temporary things, listed for a signal handler, which may neither allocate nor lock. A slot's path
 * changes only while no handler may read it (SLOT_FILLING); a handler claims a slot before it reads
 * the path. */
enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_LIVE, SLOT_REMOVING };
enum slot_kind {
    SLOT_FILE,
    SLOT_FOLDER /* if it is empty */,
    SLOT_SCRATCH /* a folder and the files in it */
};
enum { SLOTS = 32 };

static struct {
    atomic_int state;
    enum slot_kind kind;
    char path[PATH_MAX];
} slots[SLOTS];

static int slot_take(const char *path, enum slot_kind kind, struct error *e)
{
    size_t length = strlen(path);
    if (length >= PATH_MAX)
        return fail(e, "%s: the path is too long (expected less than %d bytes)", path, PATH_MAX);
    for (int i = 0; i < SLOTS; i++) {
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_FILLING)) {
            memcpy(slots[i].path, path, length + 1);
            slots[i].kind = kind;
            atomic_store(&slots[i].state, SLOT_LIVE);
            return 0;
        }
    }
    return fail(e, "%s: too many files are being written at once (expected at most %d)", path,
                SLOTS);
}

static void slot_release(const char *path)
{
    for (int i = 0; i < SLOTS; i++) {
        int expected = SLOT_LIVE;
        if (atomic_load(&slots[i].state) == SLOT_LIVE && strcmp(slots[i].path, path) == 0) {
            atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_FREE);
            return;
        }
    }
}

/* Removes the files in a folder, without readdir, which allocates. */
static void remove_files(const char *folder)
{
    _Alignas(struct dirent64) char entries[4096];
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    for (ssize_t size;
         descriptor >= 0 && (size = getdents64(descriptor, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < size; at += ((struct dirent64 *)(void *)&entries[at])->d_reclen)
            unlinkat(descriptor, ((struct dirent64 *)(void *)&entries[at])->d_name, 0);
    if (descriptor >= 0)
        close(descriptor);
}

/* Folders last, after their contents. */
void atomic_remove_all(void)
{
    int saved = errno;
    for (int folders = 0; folders < 2; folders++)
        for (int i = 0; i < SLOTS; i++) {
            int expected = SLOT_LIVE;
            if (atomic_load(&slots[i].state) != SLOT_LIVE ||
                (slots[i].kind != SLOT_FILE) != folders ||
                !atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_REMOVING))
                continue;
            if (slots[i].kind == SLOT_SCRATCH)
                remove_files(slots[i].path);
            if (slots[i].kind == SLOT_FILE)
                unlink(slots[i].path);
            else
                rmdir(slots[i].path);
            atomic_store(&slots[i].state, SLOT_FREE);
        }
    errno = saved;
}

int folder_watch(const char *path, struct error *e)
{
    return slot_take(path, SLOT_FOLDER, e);
}

void folder_unwatch(const char *path)
{
    slot_release(path);
}

char *folder_scratch(const char *stem, struct error *e)
{
    const char *place = getenv("TMPDIR");
    char *made;
    if (asprintf(&made, "%s/%s-XXXXXX", place && *place ? place : "/tmp", stem) < 0) {
        fail_memory(e, (double)strlen(stem) + 64, "a path");
        return NULL;
    }
    if (!mkdtemp(made))
        fail(e, "%s: cannot be made: %s (expected a place for it; TMPDIR names another one)", made,
             strerror(errno));
    else if (slot_take(made, SLOT_SCRATCH, e) == 0)
        return made;
    else
        rmdir(made);
    free(made);
    return NULL;
}

void folder_scratch_remove(char *made)
{
    if (!made)
        return;
    remove_files(made);
    rmdir(made);
    slot_release(made);
    free(made);
}

/* -- one file -- */

/* The number after ".BASE.tmp-"; 0: the name has another form. */
static long writer_of(const char *name, const char *base)
{
    static const char mark[] = ".tmp-";
    size_t length = strlen(base);
    char *end;
    if (*name != '.' || strncmp(name + 1, base, length) ||
        strncmp(name + 1 + length, mark, sizeof mark - 1))
        return 0;
    const char *digits = name + length + sizeof mark;
    errno = 0;
    long pid = strtol(digits, &end, 10);
    return *digits >= '1' && *digits <= '9' && !*end && !errno && pid <= INT_MAX ? pid : 0;
}

/* Removes temporary files of PATH left by killed processes: not of a process alive here, or, in a
 * shared folder, elsewhere, as its lock shows. */
static void remove_abandoned(const char *path)
{
    const char *base = path_base(path);
    char *folder = base > path ? strndup(path, (size_t)(base - path)) : strdup(".");
    DIR *d = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; d && (entry = readdir(d));) {
        long pid = writer_of(entry->d_name, base);
        if (!pid || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        int descriptor = openat(dirfd(d), entry->d_name,
                                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(d), entry->d_name, 0);
        if (descriptor >= 0)
            close(descriptor);
    }
    if (d)
        closedir(d);
    free(folder);
}

char *atomic_temporary_name(const char *path, struct error *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        fail(e, "%s: exists and is not a file (expected a file or nothing)", path);
        return NULL;
    }
    remove_abandoned(path);
    const char *base = path_base(path);
    char *name;
    if (asprintf(&name, "%.*s.%s.tmp-%ld", (int)(base - path), path, base, (long)getpid()) < 0) {
        fail_memory(e, (double)strlen(path) + 32, "a path");
        return NULL;
    }
    if (slot_take(name, SLOT_FILE, e)) {
        free(name);
        return NULL;
    }
    /* left by a killed process with the same id: a new file must not be written through it, least
     * of all if it is a link */
    if (unlink(name) && errno != ENOENT) {
        fail(e, "%s: cannot be written: %s", path, strerror(errno));
        slot_release(name);
        free(name);
        return NULL;
    }
    return name;
}

void atomic_discard(const char *temporary)
{
    unlink(temporary);
    slot_release(temporary);
}

/* Some file systems cannot sync a folder and say EINVAL. */
int folder_sync(const char *path, struct error *e)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
    if (descriptor >= 0 && fsync(descriptor) && errno != EINVAL)
        result = fail(e, "%s: cannot be synced to disk: %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return result;
}

/* The folder of a file. */
static int sync_folder(const char *path, struct error *e)
{
    size_t length = (size_t)(path_base(path) - path);
    char *folder = length ? strndup(path, length) : strdup(".");
    if (!folder)
        return fail_memory(e, (double)length + 1, "a path");
    int result = folder_sync(folder, e);
    free(folder);
    return result;
}

/* Renames a file that is synced. */
static int put_in_place(const char *temporary, const char *path, struct error *e)
{
    if (rename(temporary, path)) {
        fail(e, "%s: cannot be written: %s", path, strerror(errno));
        atomic_discard(temporary);
        return -1;
    }
    slot_release(temporary);
    return sync_folder(path, e);
}

int atomic_rename(const char *temporary, const char *path, struct error *e)
{
    int descriptor = open(temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0 || fsync(descriptor)) {
        fail(e, "%s: cannot be written: %s", path, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        atomic_discard(temporary);
        return -1;
    }
    close(descriptor);
    return put_in_place(temporary, path, e);
}

int atomic_open(struct atomic_file *f, const char *path, struct error *e)
{
    *f = (struct atomic_file){0};
    int descriptor = -1;
    if (!(f->path = strdup(path))) {
        fail_memory(e, (double)strlen(path) + 1, "a path");
        return -1;
    }
    if (!(f->temporary = atomic_temporary_name(path, e)))
        goto failed;
    descriptor = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0 || !(f->stream = fdopen(descriptor, "w"))) {
        fail(e, "%s: cannot be written: %s", path, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        goto failed;
    }
    flock(descriptor, LOCK_EX | LOCK_NB); /* for remove_abandoned, else the process id must do */
    return 0;
failed:
    atomic_abandon(f);
    return -1;
}

/* The reason of an earlier failed write to the stream is lost by now: report another one (the file
 * will be removed anyway). */
static const char *reason_of_failed_write(FILE *stream)
{
    errno = 0;
    return write(fileno(stream), "", 1) < 0 ? strerror(errno) : "a write failed";
}

int atomic_stage(struct atomic_file *f, struct error *e)
{
    if (ferror(f->stream)) {
        fail(e, "%s: cannot be written: %s", f->path, reason_of_failed_write(f->stream));
        atomic_abandon(f);
        return -1;
    }
    if (fflush(f->stream) || fsync(fileno(f->stream))) {
        fail(e, "%s: cannot be written: %s", f->path, strerror(errno));
        atomic_abandon(f);
        return -1;
    }
    int closed = fclose(f->stream);
    f->stream = NULL;
    if (closed) {
        fail(e, "%s: cannot be written: %s", f->path, strerror(errno));
        atomic_abandon(f);
        return -1;
    }
    return 0;
}

int atomic_place(struct atomic_file *f, struct error *e)
{
    int result = put_in_place(f->temporary, f->path, e);
    free(f->temporary);
    f->temporary = NULL;
    atomic_abandon(f);
    return result;
}

int atomic_commit(struct atomic_file *f, struct error *e)
{
    return atomic_stage(f, e) || atomic_place(f, e) ? -1 : 0;
}

void atomic_abandon(struct atomic_file *f)
{
    if (f->stream)
        fclose(f->stream);
    if (f->temporary)
        atomic_discard(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (struct atomic_file){0};
}

/* -- folders -- */

static int make_one(const char *path, struct error *e)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return 0;
    int reason = errno;
    /* also when mkdir says EROFS or EACCES for an existing folder */
    if (stat(path, &st))
        return fail(e, "%s: cannot be made: %s", path, strerror(reason));
    return S_ISDIR(st.st_mode)
               ? 0
               : fail(e, "%s: exists and is not a folder (expected a folder or nothing)", path);
}

int folder_make(const char *path, struct error *e)
{
    char *part = strdup(path);
    if (!part)
        return fail_memory(e, (double)strlen(path) + 1, "a path");
    int result = 0;
    for (char *slash = part; result == 0 && *slash && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        result = make_one(part, e);
        *slash = '/';
    }
    if (result == 0)
        result = make_one(part, e);
    if (result == 0 && access(part, W_OK | X_OK))
        result = fail(e, "%s: cannot be written to: %s", path, strerror(errno));
    free(part);
    return result;
}

static char *lock_name(const char *path, struct error *e)
{
    char *name;
    if (asprintf(&name, "%s/.lock", path) >= 0)
        return name;
    fail_memory(e, (double)strlen(path) + 8, "a path");
    return NULL;
}

/* 1 if `name` is still the descriptor's file: another process may have removed it meanwhile. */
static int still_there(int descriptor, const char *name)
{
    struct stat ours, present;
    return fstat(descriptor, &ours) == 0 && lstat(name, &present) == 0 &&
           ours.st_dev == present.st_dev && ours.st_ino == present.st_ino;
}

int folder_lock(const char *path, struct error *e)
{
    char *name = lock_name(path, e);
    if (!name)
        return -1;
    int descriptor = -1;
    for (;;) {
        descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor < 0) {
            fail(e, "%s: cannot be locked: %s", path, strerror(errno));
            break;
        }
        int busy;
        do
            busy = flock(descriptor, LOCK_EX | LOCK_NB);
        while (busy && errno == EINTR);
        if (busy) {
            if (errno == EWOULDBLOCK)
                fail(e,
                     "%s: is in use by another run of reach (expected a separate folder for each "
                     "run)",
                     path);
            else
                fail(e, "%s: cannot be locked: %s", path, strerror(errno));
            close(descriptor);
            descriptor = -1;
            break;
        }
        if (still_there(descriptor, name))
            break;
        close(descriptor);
    }
    if (descriptor >= 0 && slot_take(name, SLOT_FILE, e)) {
        unlink(name);
        close(descriptor);
        descriptor = -1;
    }
    free(name);
    return descriptor;
}

void folder_unlock(int descriptor, const char *path)
{
    if (descriptor < 0)
        return;
    char *name = lock_name(path, NULL);
    if (name && still_there(descriptor, name))
        unlink(name);
    if (name)
        slot_release(name);
    free(name);
    close(descriptor);
}
