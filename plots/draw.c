/* The gnuplot process: started with an argument vector (no shell), ended when it takes too long,
 * with its output kept for the message. */
#include "plots/draw.h"

#include "io/error.h"
#include "io/system/atomic.h"
#include "plots/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const known_formats[] = {"png", "svg", "pdf", "tikz"};
enum { KNOWN_FORMATS = sizeof known_formats / sizeof known_formats[0] };

/* Copies the next entry of a comma-separated list to `entry`; returns the start of the rest, NULL
 * at the end. An entry that is too long is cut, and so unknown. */
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
            return fail(e,
                        "\"%s\" is not a list of picture formats (expected png, svg, pdf, tikz, or "
                        "several with commas)",
                        formats);
    }
    return 0;
}

static int no_gnuplot(const char *script, struct error *e)
{
    fail(e,
         "gnuplot: not found; the script is written, `gnuplot %s` in that folder draws it "
         "(expected gnuplot 5.4 or later "
         "on PATH)",
         script);
    return FIGURE_NO_GNUPLOT;
}

/* The running gnuplot, for figure_stop; 0: none, STARTING: its process id is not known yet. */
enum { STARTING = -1 };
static _Atomic pid_t drawing;
static atomic_int stopped;

/* Waits until the child has ended, without releasing its process id. */
static void wait_ended(pid_t child)
{
    siginfo_t ended;

    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
}

void figure_stop(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    pid_t child;

    atomic_store(&stopped, 1);
    while ((child = atomic_load(&drawing)) ==
           STARTING) /* in another thread, which handles signals */
        nanosleep(&moment, NULL);
    if (child > 0 && kill(child, SIGKILL) == 0)
        waitpid(child, NULL, 0);
}

/* Waits for the drawing child. Until then its process id is in use, and figure_stop may end it:
 * then the program is about to end, and this does not return. */
static int wait_for(pid_t child, int *status)
{
    wait_ended(child);
    while (atomic_load(&stopped))
        pause();
    atomic_store(&drawing, 0);
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

/* The child's open files, and their names. */
enum { SCRIPT = 3, PICTURE = 4 };
#define SCRIPT_NAME "/dev/fd/3"
#define PICTURE_NAME "/dev/fd/4"

/* Starts PROGRAM without input, with SCRIPT and PICTURE open, and its output in `said`; in another
 * folder, since gnuplot runs files that it finds (a gnuplot-tikz.lua). 0 or an error number. */
static int start(pid_t *child, const char *program, const char *script, const char *picture,
                 char *const *argv, char *const *environment, int said)
{
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(&actions, SCRIPT, script, O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(&actions, PICTURE, picture, O_WRONLY | O_NOFOLLOW, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addchdir_np(&actions, "/");
    if (rc == 0)
        rc = program_spawn(child, program, &actions, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* The same, so that figure_stop can end it from the start. */
static int start_watched(pid_t *child, const char *program, const char *script, const char *picture,
                         char *const *argv, char *const *environment, int said)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    atomic_store(&drawing, STARTING);
    rc = start(child, program, script, picture, argv, environment, said);
    atomic_store(&drawing, rc == 0 ? *child : 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* gnuplot's output, with the script's own name; the caller frees. NULL: out of memory. */
static char *name_script(const char *said, const char *script)
{
    const char *at = strstr(said, SCRIPT_NAME);
    char *told;

    if (!at)
        return strdup(said);
    return asprintf(&told, "%.*s%s%s", (int)(at - said), said, script, at + strlen(SCRIPT_NAME)) < 0
               ? NULL
               : told;
}

/* FOLDER/NAME; NULL: out of memory. Caller frees. */
static char *name_in(const char *folder, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* Why this gnuplot drew nothing of PATH. */
static int tell(const char *path, const char *script, const char *said, int status, int late,
                struct error *e)
{
    char *told = name_script(said, script);

    if (late)
        fail(e, "gnuplot: has not drawn %s in %d s (`gnuplot %s` in that folder draws it)", path,
             PROGRAM_SECONDS, script);
    else if (WIFSIGNALED(status))
        fail(e, "gnuplot: ended by signal %d while drawing %s", WTERMSIG(status), path);
    else
        fail(e, "gnuplot: cannot draw %s: %s", path, told && *told ? told : "it gives no reason");
    free(told);
    return FIGURE_NOT_DRAWN;
}

/* Runs `gnuplot -d` on FOLDER/SCRIPT to write the file PICTURE. 0, or why there is none. */
static int run_gnuplot(const char *folder, const char *script, const char *format,
                       const char *picture, struct error *e)
{
    char assignments[64], said[400], *path = program_path(folder), *whole = name_in(folder, script),
                                     *program = path ? program_find("gnuplot", path, folder) : NULL;
    char **environment = program ? program_environment(path) : NULL;
    const char *argv[] = {"gnuplot", "-d", "-e", assignments, SCRIPT_NAME, NULL};
    int ends[2], status, late, rc = path && !program ? ENOENT : 0;
    pid_t child;

    if (!path || !whole || (program && !environment))
        rc = ENOMEM;
    snprintf(assignments, sizeof assignments, "format='%s'; output='%s'", format, PICTURE_NAME);
    if (rc == 0 && pipe2(ends, O_CLOEXEC) != 0)
        rc = errno;
    else if (rc == 0 && (rc = start_watched(&child, program, whole, picture, (char *const *)argv,
                                            environment, ends[1])) != 0) {
        close(ends[0]);
        close(ends[1]);
    }
    free(environment);
    free(program);
    free(path);
    if (rc != 0) {
        free(whole);
        if (rc == ENOENT)
            return no_gnuplot(script, e);
        fail(e, "gnuplot: cannot be started: %s", strerror(rc));
        return FIGURE_NOT_DRAWN;
    }
    close(ends[1]);
    late = program_collect(ends[0], said, sizeof said);
    if (late)
        kill(child, SIGKILL);
    close(ends[0]);
    if (wait_for(child, &status) != 0) {
        fail(e, "gnuplot: lost: %s", strerror(errno));
        rc = FIGURE_NOT_DRAWN;
    } else if (late || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        /* a failed start may show only in this status (POSIX, posix_spawn), as under emulators */
        rc = !late && WIFEXITED(status) && WEXITSTATUS(status) == 127 && !said[0]
                 ? no_gnuplot(script, e)
                 : tell(whole, script, said, status, late, e);
    }
    free(whole);
    return rc;
}

/* FOLDER/STEM.FORMAT; NULL: out of memory. Caller frees. */
static char *picture_name(const char *folder, const char *stem, const char *format)
{
    char *name;

    return asprintf(&name, "%s/%s.%s", folder, stem, format) < 0 ? NULL : name;
}

/* 1 if the picture ends like its format: gnuplot does not report a full disk. */
static int is_whole(const char *path, const char *format)
{
    static const char *const ends[KNOWN_FORMATS] = {"IEND", "</svg>", "%%EOF",
                                                    "gnuplot variables"}; /* of known_formats */
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

/* gnuplot opens its output by name, and would follow a link or wait for a pipe: it gets the name of
 * a file made here. */
static char *make_output(const char *picture, struct error *e)
{
    char *drawn = atomic_temporary_name(picture, e);
    int descriptor = drawn ? open(drawn, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666)
                           : -1;

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

static int draw_one(const char *script, const char *folder, const char *stem, const char *format,
                    struct error *e)
{
    char *picture = picture_name(folder, stem, format),
         *drawn = picture ? make_output(picture, e) : NULL;
    struct stat found;
    int rc = -1;

    if (!picture)
        fail(e, "%s: out of memory", folder);
    if (!drawn)
        goto end;
    rc = run_gnuplot(folder, script, format, drawn, e);
    if (rc == 0 && (lstat(drawn, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0)) {
        fail(e,
             "gnuplot: drew nothing from %s/%s (expected a gnuplot with the terminals of these "
             "formats, and room for %s)",
             folder, script, picture);
        rc = FIGURE_NOT_DRAWN;
    } else if (rc == 0 && !is_whole(drawn, format)) {
        fail(e,
             "gnuplot: left %s unfinished at %lld bytes (expected a whole picture; is the disk "
             "full?)",
             picture, (long long)found.st_size);
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
                 : fail(e, "%s: cannot be removed: %s (expected an earlier picture, or nothing)",
                        old, strerror(errno));
        free(old);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int figure_draw(const char *script, const char *folder, const char *stem, const char *formats,
                struct error *e)
{
    if (figure_check_formats(formats, e) != 0)
        return -1;
    if (strlen(stem) > 64 || strpbrk(stem, "'/\\"))
        return fail(
            e, "\"%s\" cannot name a picture (expected a short name without quotes and slashes)",
            stem);

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
