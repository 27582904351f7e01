/* The kernel sets of this build, and the choice among them. */
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"

#include <stdlib.h>
#include <string.h>

static int always(void)
{
    return 1;
}

static struct kernels *reference_open(void (*fill)(struct kernels *), struct error *e)
{
    struct kernels *k = kernels_allocate(e);
    if (k)
        fill(k);
    return k;
}

static struct kernels *reference_open_f32(struct error *e)
{
    return reference_open(reference_fill_f32, e);
}

static struct kernels *reference_open_f64(struct error *e)
{
    return reference_open(reference_fill_f64, e);
}

const struct kernel_set_entry kernel_sets[] = {
    {"reference", "f32", "plain loops, sums in double, results in float", always, reference_open_f32},
    {"reference", "f64", "plain loops in double", always, reference_open_f64},
    {"cpu", "f32", "oneDNN matrix products, vectorised attention", cpu_usable, cpu_open},
};
const int kernel_set_count = (int)(sizeof kernel_sets / sizeof *kernel_sets);

/* " reference (f32), reference (f64), cpu (f32)": what can be chosen, for messages. */
static void list_sets(char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < kernel_set_count; i++) {
        const char *pieces[] = {i ? ", " : "", kernel_sets[i].name, " (", kernel_sets[i].dtype, kernel_sets[i].usable() ? ")" : ", not usable here)"};
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
            strncat(text, pieces[j], size - strlen(text) - 1);
    }
}

struct kernels *kernels_open(const char *dtype, struct error *e)
{
    const char *forced = getenv("REACH_KERNELS");
    const struct kernel_set_entry *found = NULL;
    char sets[256];
    if (forced && !*forced)
        forced = NULL;
    for (int i = 0; i < kernel_set_count; i++)
        if (!strcmp(kernel_sets[i].dtype, dtype) && (!forced || !strcmp(kernel_sets[i].name, forced)) && kernel_sets[i].usable())
            found = &kernel_sets[i];
    if (found)
        return found->open(e);
    list_sets(sets, sizeof sets);
    if (forced)
        fail(e, "REACH_KERNELS=%s: no such kernel set for %s that this machine can run (there are: %s)", forced, dtype, sets);
    else
        fail(e, "no kernel set for %s (there are: %s)", dtype, sets);
    return NULL;
}
