/* Memory of figures. */
#include "run/plot/plot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Keeps memory until the end of the run. */
static void *keep(struct plot_run *r, void *memory, double bytes, struct error *e)
{
    void **grown = reallocarray(r->kept, r->kept_count + 1, sizeof *grown);

    if (grown)
        r->kept = grown;
    if (!grown || !memory) {
        free(memory);
        fail_memory(e, bytes, "what is drawn");
        return NULL;
    }
    return grown[r->kept_count++] = memory;
}

void *plot_new(struct plot_run *r, size_t count, size_t size, struct error *e)
{
    return keep(r, calloc(count ? count : 1, size), (double)count * (double)size, e);
}

char *plot_text(struct plot_run *r, struct error *e, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return keep(r, text, 0, e);
}
