/* The gnuplot process: started with an argument vector (no shell), ended when it takes too long, what it says is kept for the
 * message. */
#include "plots/draw.h"

#include "io/atomic.h"
#include "io/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char *const known_formats[] = {"png", "svg", "pdf", "tikz"};
enum { KNOWN_FORMATS = sizeof known_formats / sizeof known_formats[0], SECONDS_MAX = 300 };

/* The next entry of a comma-separated list, copied to `entry`; returns where the rest begins, NULL at the end. Too long an entry
 * is cut, and so not known. */
static const char *next_format(const char *list, char entry[8])
{
    size_t length = strcspn(list, ","), kept = length < 7 ? length : 7;

    memcpy(entry, list, kept);
    entry[kept] = 0;
    return list[length] ? list + length + 1 : NULL;
}

int figure_check_formats(const char *formats, struct error *e)
{
    for (const char *rest = formats; rest;) {
        char entry[8];
        int known = 0;
        size_t length = strcspn(rest, ",");

        rest = next_format(rest, entry);
        for (int i = 0; i < KNOWN_FORMATS; i++)
            known |= length < 7 && strcmp(entry, known_formats[i]) == 0;
        if (!known)
            return fail(e, "\"%s\" is not a list of picture formats (expected png, svg, pdf, tikz, or several with commas)",
                        formats);
    }
    return 0;
}

static time_t seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* Keeps the first lines of what the child says on one line in `said`. Returns 0, or -1 when it has not ended after SECONDS_MAX.
 */
static int collect(int descriptor, char *said, size_t size)
{
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    time_t last = seconds() + SECONDS_MAX;
    size_t used = 0;
    char chunk[512];
    int in_time = 1;

    while (in_time) {
        int ready = poll(&waiting, 1, 1000);
        ssize_t n;

        in_time = seconds() < last;
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        n = read(descriptor, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n && used + 1 < size; i++) {
            char c = chunk[i] == '\n' || chunk[i] == '\t' || chunk[i] == '\r' ? ' ' : chunk[i];

            if (c == ' ' && (used == 0 || said[used - 1] == ' '))
                continue;
            said[used++] = c;
        }
    }
    while (used > 0 && said[used - 1] == ' ')
        used--;
    said[used] = 0;
    return in_time ? 0 : -1;
}

/* 1 for what tells gnuplot to do other things than its script says: another terminal to begin with, files to load, a log of fits.
 */
static int is_influence(const char *variable)
{
    static const char *const names[] = {"GNUTERM=", "GNUHELP=", "GNUFITLOG=", "GNUPLOT_", "FIT_LOG=", "FIT_SCRIPT="};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* The environment without these, and with no terminal until the script sets one, so that no display is asked for. Caller frees;
 * NULL without memory. */
static char **make_environment(void)
{
    static char no_terminal[] = "GNUTERM=unknown";
    size_t count = 0, used = 0;
    char **made;

    while (environ[count])
        count++;
    made = calloc(count + 2, sizeof *made);
    for (size_t i = 0; made && i < count; i++)
        if (!is_influence(environ[i]))
            made[used++] = environ[i];
    if (made)
        made[used] = no_terminal;
    return made;
}

/* posix_spawnp, with no signal held back from the child: the threads of a program that computes take none (run/interrupt.h). */
static int spawn(pid_t *child, const posix_spawn_file_actions_t *actions, char *const *argv, char *const *environment)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    int rc = posix_spawnattr_init(&attributes);

    if (rc != 0)
        return rc;
    sigemptyset(&none);
    rc = posix_spawnattr_setsigmask(&attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (rc == 0)
        rc = posix_spawnp(child, argv[0], actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int no_gnuplot(const char *script, struct error *e)
{
    fail(e,
         "gnuplot: not found; the script is written, `gnuplot %s` in that folder draws it (expected gnuplot 5.4 or later "
         "on PATH)",
         script);
    return FIGURE_NO_GNUPLOT;
}

/* Runs `gnuplot -d -e ASSIGNMENTS SCRIPT` in FOLDER: without the files of its user's own. 0, or why there are no pictures. */
static int run_gnuplot(const char *folder, const char *script, const char *assignments, struct error *e)
{
    const char *argv[] = {"gnuplot", "-d", "-e", assignments, script, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status, late, rc;
    char said[400];
    pid_t child;
    char **environment = make_environment();

    if (!environment) {
        fail(e, "gnuplot: cannot be started: out of memory");
        return FIGURE_NOT_DRAWN;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail(e, "gnuplot: cannot be started: %s", strerror(errno));
        free(environment);
        return FIGURE_NOT_DRAWN;
    }
    if (posix_spawn_file_actions_init(&actions) != 0) {
        close(ends[0]);
        close(ends[1]);
        free(environment);
        fail(e, "gnuplot: cannot be started: out of memory");
        return FIGURE_NOT_DRAWN;
    }
    rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (rc == 0)
        rc = spawn(&child, &actions, (char *const *)argv, environment);
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        if (rc == ENOENT)
            return no_gnuplot(script, e);
        fail(e, "gnuplot: cannot be started: %s", strerror(rc));
        return FIGURE_NOT_DRAWN;
    }
    late = collect(ends[0], said, sizeof said);
    if (late)
        kill(child, SIGKILL);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            fail(e, "gnuplot: lost: %s", strerror(errno));
            return FIGURE_NOT_DRAWN;
        }
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    /* what became of the start may be told by this status alone (POSIX, posix_spawn), as it is under emulators */
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == 127 && !said[0])
        return no_gnuplot(script, e);
    if (late)
        fail(e, "gnuplot: has not drawn %s/%s in %d s (`gnuplot %s` in that folder draws it)", folder, script, SECONDS_MAX,
             script);
    else if (WIFSIGNALED(status))
        fail(e, "gnuplot: ended by signal %d while drawing %s/%s", WTERMSIG(status), folder, script);
    else
        fail(e, "gnuplot: cannot draw %s/%s: %s", folder, script, said[0] ? said : "it gives no reason");
    return FIGURE_NOT_DRAWN;
}

/* FOLDER/STEM.FORMAT; NULL when memory runs out. Caller frees. */
static char *picture_name(const char *folder, const char *stem, const char *format)
{
    char *name;

    return asprintf(&name, "%s/%s.%s", folder, stem, format) < 0 ? NULL : name;
}

/* 1 if the picture's last bytes are those of its format: gnuplot says nothing when a disk is full. */
static int is_whole(const char *path, const char *format)
{
    static const char *const ends[KNOWN_FORMATS] = {"IEND", "</svg>", "%%EOF", "gnuplot variables"}; /* of known_formats */
    char tail[33] = "";
    FILE *f = fopen(path, "rbe");
    size_t n = 0;

    if (f && fseek(f, -32, SEEK_END) == 0)
        n = fread(tail, 1, 32, f);
    if (f)
        fclose(f);
    for (int i = 0; i < KNOWN_FORMATS; i++)
        if (strcmp(format, known_formats[i]) == 0)
            return memmem(tail, n, ends[i], strlen(ends[i])) != NULL;
    return 0;
}

/* gnuplot opens its output by name, and would follow a link or wait for a pipe: it gets the name of a file that is made here. */
static char *make_output(const char *picture, struct error *e)
{
    char *drawn = atomic_temporary_name(picture, e);
    int descriptor = drawn ? open(drawn, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;

    if (descriptor >= 0) {
        close(descriptor);
        return drawn;
    }
    if (drawn) {
        fail(e, "%s: cannot be written: %s", picture, strerror(errno));
        atomic_discard(drawn);
        free(drawn);
    }
    return NULL;
}

static int draw_one(const char *script, const char *folder, const char *stem, const char *format, struct error *e)
{
    char *picture = picture_name(folder, stem, format), *drawn = picture ? make_output(picture, e) : NULL;
    char assignments[256];
    struct stat found;
    int rc = -1;

    if (!picture)
        fail(e, "%s: out of memory", folder);
    if (!drawn)
        goto end;
    snprintf(assignments, sizeof assignments, "format='%s'; output='%s'", format, strrchr(drawn, '/') + 1);
    rc = run_gnuplot(folder, script, assignments, e);
    if (rc == 0 && (lstat(drawn, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0)) {
        fail(e, "gnuplot: drew nothing from %s/%s (expected a gnuplot with the terminals of these formats, and room for %s)",
             folder, script, picture);
        rc = FIGURE_NOT_DRAWN;
    } else if (rc == 0 && !is_whole(drawn, format)) {
        fail(e, "gnuplot: left %s unfinished at %lld bytes (expected a whole picture; is the disk full?)", picture,
             (long long)found.st_size);
        rc = FIGURE_NOT_DRAWN;
    }
    if (rc == 0)
        rc = atomic_rename(drawn, picture, e);
    else
        atomic_discard(drawn);
end:
    free(drawn);
    free(picture);
    return rc;
}

int figure_remove(const char *folder, const char *stem, struct error *e)
{
    for (int i = 0; i < KNOWN_FORMATS; i++) {
        char *old = picture_name(folder, stem, known_formats[i]);
        int rc;

        if (!old)
            return fail(e, "%s: out of memory", folder);
        rc = unlink(old) == 0 || errno == ENOENT
                 ? 0
                 : fail(e, "%s: cannot be removed: %s (expected an earlier picture, or nothing)", old, strerror(errno));
        free(old);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int figure_draw(const char *script, const char *folder, const char *stem, const char *formats, struct error *e)
{
    if (figure_check_formats(formats, e) != 0)
        return -1;
    if (strlen(stem) > 64 || strpbrk(stem, "'/\\"))
        return fail(e, "\"%s\" cannot name a picture (expected a short name without quotes and slashes)", stem);

    if (figure_remove(folder, stem, e) != 0)
        return -1;
    for (const char *rest = formats; rest;) {
        char entry[8];
        int rc;

        rest = next_format(rest, entry);
        rc = draw_one(script, folder, stem, entry, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}
