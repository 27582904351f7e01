#include "io/system/watch.h"

#include "io/system/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel's clock of file times has steps of up to 10 ms; file systems with whole seconds round
 * down to one or two. */
static const double step = 0.011, coarse_step = 2.01;

/* For how many seconds a write to the file might still leave its time unchanged. */
static double seconds_fresh(const struct stamp *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double age = (double)(now.tv_sec - s->changed.tv_sec) +
                 1e-9 * (double)(now.tv_nsec - s->changed.tv_nsec);
    double left = (s->changed.tv_nsec ? step : coarse_step) - age;
    return age < -step ? 0 : left; /* does not wait for a clock ahead of ours */
}

int watch_open(struct watch *w, const char *path, size_t *size, struct error *e)
{
    struct watched *grown = realloc(w->files, (w->count + 1) * sizeof *grown);
    if (!grown)
        return fail_memory(e, (double)(w->count + 1) * sizeof *grown, "the table of files");
    w->files = grown;
    struct watched *file = &grown[w->count];
    *file = (struct watched){.path = strdup(path), .descriptor = -1};
    if (!file->path)
        return fail_memory(e, (double)strlen(path) + 1, "a path");
    file->descriptor = file_open_regular(path, size, e);
    if (file->descriptor >= 0 && stamp_take(&file->stamp, file->descriptor, path, e) == 0) {
        *size = (size_t)file->stamp.size;
        w->count++;
        return file->descriptor;
    }
    if (file->descriptor >= 0)
        close(file->descriptor);
    free(file->path);
    return -1;
}

int watch_settle(struct watch *w, struct error *e)
{
    double left = 0;
    for (size_t i = 0; i < w->count; i++)
        left = fmax(left, seconds_fresh(&w->files[i].stamp));
    if (left > 0)
        nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - floor(left)))}, NULL);
    return watch_check(w, e);
}

int watch_check(struct watch *w, struct error *e)
{
    for (size_t i = 0; i < w->count; i++)
        if (stamp_check(&w->files[i].stamp, w->files[i].descriptor, w->files[i].path, e))
            return -1;
    return 0;
}

void watch_close(struct watch *w)
{
    for (size_t i = 0; i < w->count; i++) {
        close(w->files[i].descriptor);
        free(w->files[i].path);
    }
    free(w->files);
    *w = (struct watch){0};
}
