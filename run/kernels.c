#include "run/kernels.h"

#include "io/system/memory.h"

/* oneDNN writes its code into memory without checking the allocation; where there is none, it
 * raises an error that ends the program. Under `ulimit -v` or -d it takes up to some 30 MB until
 * its first product. */
enum { LIBRARY_BYTES = 64 << 20 };

struct kernels *run_kernels(const char *device, const char *dtype, struct progress *progress,
                            struct error *e)
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

void run_tell_products(struct kernels *k, struct progress *progress)
{
    char text[256];
    enum product_by by;

    while (k->product_text &&
           (by = k->product_text(k, progress->products, text, sizeof text)) != PRODUCT_NONE) {
        progress->products++;
        progress_tell(
            progress, "product",
            (const struct progress_fact[]){{"product", text, 0},
                                           {"by", by == PRODUCT_OWN ? "own kernel" : "library", 0},
                                           {0}});
        if (by == PRODUCT_OWN && !progress->slow_products++)
            progress_message(progress,
                             "%s: no algorithm of its library serves a matrix product, which is "
                             "much slower without one (%s)",
                             k->name, text);
    }
}

void run_keep(struct gradient_request *out, const struct machine_options *o)
{
    out->keep = o->keep_bf16 ? KEEP_BF16 : KEEP_AUTO;
    out->scratch = o->scratch;
}
