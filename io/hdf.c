#include "io/hdf.h"

#include <hdf5.h>
#include <stdio.h>

void hdf_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t keep_reason(unsigned n, const H5E_error2_t *error, void *reason)
{
    if (n == 0 && error->desc)
        snprintf(reason, 256, "%s", error->desc);
    return 0;
}

int hdf_fail(struct error *e, const char *path, const char *what)
{
    char reason[256] = "HDF5 gives no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, reason);
    return fail(e, "%s: %s: %s", path, what, reason);
}
