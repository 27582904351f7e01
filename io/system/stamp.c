#include "io/system/stamp.h"

#include <errno.h>
#include <string.h>

static int same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int stamp_take(struct stamp *s, int descriptor, const char *path, struct error *e)
{
    struct stat st;
    if (fstat(descriptor, &st))
        return fail(e, "%s: %s", path, strerror(errno));
    *s = (struct stamp){st.st_dev, st.st_ino, st.st_nlink, st.st_size, st.st_mtim, st.st_ctim};
    return 0;
}

int stamp_check(struct stamp *s, int descriptor, const char *path, struct error *e)
{
    struct stat st;
    if (fstat(descriptor, &st))
        return fail(e, "%s: %s", path, strerror(errno));
    if (st.st_dev != s->device || st.st_ino != s->inode || st.st_size != s->size ||
        !same_time(st.st_mtim, s->written) ||
        (!same_time(st.st_ctim, s->changed) && st.st_nlink == s->names))
        return fail(e,
                    "%s: was changed while it was in use (expected a file that stays as it is; a "
                    "new one may be renamed over it)",
                    path);
    s->names = st.st_nlink;
    s->changed = st.st_ctim;
    return 0;
}
