#include "run/kernels.h"

#include "io/memory.h"

/* oneDNN writes its code into memory that it does not check for, and where it cannot raises what ends the program. Under
 * `ulimit -v` or -d it takes up to some 30 MB by its first product. */
enum { LIBRARY_BYTES = 64 << 20 };

struct kernels *run_kernels(const char *device, const char *dtype, struct progress *progress, struct error *e)
{
    struct error note;

    if (memory_check(LIBRARY_BYTES, "the kernels' libraries", e) != 0)
        return NULL;
    struct kernels *k = kernels_open_on(device, dtype, &note, e);
    if (k && kernels_check(k, e) != 0) {
        k->close(k);
        return NULL;
    }
    if (k && *note.text)
        progress_message(progress, "%s", note.text);
    return k;
}

void run_keep(struct gradient_request *out, const struct machine_options *o)
{
    out->keep = o->keep_bf16 ? KEEP_BF16 : KEEP_AUTO;
    out->scratch = o->scratch;
}
