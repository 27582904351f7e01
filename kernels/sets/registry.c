/* The kernel sets of this build, and the choice among them. */
#include "kernels/cpu/cpu.h"
#include "kernels/plugin.h"
#include "kernels/reference/reference.h"

#include <limits.h>
#include <stdio.h>
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

/* The float set, with products that round their operands. */
static struct kernels *reference_open_rounding(const char *dtype, struct error *e)
{
    struct kernels *k = reference_open_f32(e);
    if (k)
        snprintf(k->dtype, sizeof k->dtype, "%s", dtype);
    return k;
}

static struct kernels *reference_open_bf16(struct error *e)
{
    return reference_open_rounding("bf16", e);
}

static struct kernels *reference_open_bf16x3(struct error *e)
{
    return reference_open_rounding("bf16x3", e);
}

static struct kernels *reference_open_f64(struct error *e)
{
    return reference_open(reference_fill_f64, e);
}

static int cuda_usable(void)
{
    return plugin_is_worth_opening() && plugin_devices(NULL) > 0;
}

static struct kernels *cuda_open(int device, const char *dtype, struct error *e)
{
    const struct plugin *p = plugin_open(NULL, e);
    return p ? p->open(device, dtype, e) : NULL;
}

static struct kernels *cuda_open_f32(struct error *e)
{
    return cuda_open(0, "f32", e);
}

static struct kernels *cuda_open_tf32(struct error *e)
{
    return cuda_open(0, "tf32", e);
}

static struct kernels *cuda_open_bf16(struct error *e)
{
    return cuda_open(0, "bf16", e);
}

const struct kernel_set_entry kernel_sets[] = {
    {"reference", "f32", "plain loops, sums in double, results in float", always,
     reference_open_f32},
    {"reference", "f64", "plain loops in double", always, reference_open_f64},
    {"reference", "bf16", "as f32, operands of products with weights rounded to bf16", always,
     reference_open_bf16},
    {"reference", "bf16x3", "as f32, operands of products with weights sums of two bf16 numbers",
     always, reference_open_bf16x3},
    {"cpu", "f32", "oneDNN matrix products, vectorised attention", cpu_usable, cpu_open},
    {"cpu", "bf16", "the same, operands of products with weights rounded to bf16", cpu_usable,
     cpu_open_bf16},
    {"cpu", "bf16x3", "the same, operands of products with weights sums of two bf16 numbers",
     cpu_usable, cpu_open_bf16x3},
    {"cuda", "f32", "cuBLASLt matrix products, own kernels, on a GPU", cuda_usable, cuda_open_f32},
    {"cuda", "tf32", "the same, products with 10-bit mantissas", cuda_usable, cuda_open_tf32},
    {"cuda", "bf16", "the same, activations in bf16", cuda_usable, cuda_open_bf16},
};
const int kernel_set_count = (int)(sizeof kernel_sets / sizeof *kernel_sets);

/* "reference (f32), reference (f64), cpu (f32)": the choices, for messages. */
static void list_sets(char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < kernel_set_count; i++) {
        const char *pieces[] = {i ? ", " : "", kernel_sets[i].name, " (", kernel_sets[i].dtype,
                                kernel_sets[i].usable() ? ")" : ", not usable here)"};
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
            strncat(text, pieces[j], size - strlen(text) - 1);
    }
}

/* The best usable set of the dtype, among `only` (NULL: all) and not in `except` (NULL: none). */
static const struct kernel_set_entry *best_set(const char *dtype, const char *only,
                                               const char *except)
{
    const struct kernel_set_entry *found = NULL;
    for (int i = 0; i < kernel_set_count; i++) {
        const struct kernel_set_entry *s = &kernel_sets[i];
        if (!strcmp(s->dtype, dtype) && (!only || !strcmp(s->name, only)) &&
            !(except && !strcmp(s->name, except)) && s->usable())
            found = s;
    }
    return found;
}

/* The set named by REACH_KERNELS, or NULL. */
static const char *forced_set(void)
{
    const char *forced = getenv("REACH_KERNELS");
    return forced && *forced ? forced : NULL;
}

static struct kernels *open_best(const char *dtype, const char *except, struct error *e)
{
    const char *forced = forced_set();
    const struct kernel_set_entry *found = best_set(dtype, forced, except);
    char sets[512];
    if (found)
        return found->open(e);
    list_sets(sets, sizeof sets);
    if (forced)
        fail(
            e,
            "REACH_KERNELS=%s: no such kernel set for %s that this machine can run (there are: %s)",
            forced, dtype, sets);
    else
        fail(e, "no kernel set for %s (there are: %s)", dtype, sets);
    return NULL;
}

struct kernels *kernels_open(const char *dtype, struct error *e)
{
    return open_best(dtype, NULL, e);
}

/* 1 for a type computed only on a processor. */
static int needs_processor(const char *dtype)
{
    return !strcmp(dtype, "f64") || !strcmp(dtype, "bf16x3");
}

/* 1 for a type computed only on a GPU. */
static int needs_gpu(const char *dtype)
{
    return !strcmp(dtype, "tf32");
}

static int is_cuda(const char *device)
{
    return !strncmp(device, "cuda", 4);
}

int kernels_available(const char *device, const char *dtype, struct error *e)
{
    struct error why = {""};
    if (is_cuda(device) && needs_processor(dtype))
        return fail(e,
                    "--dtype %s is for the processor (expected --device cpu, or f32, tf32, bf16 "
                    "on a GPU)",
                    dtype);
    if (is_cuda(device))
        return plugin_devices(&why) ? 0 : fail(e, "--device %s: %s", device, why.text);
    if (!strcmp(device, "cpu") && needs_gpu(dtype))
        return fail(e,
                    "--dtype %s is for GPUs (expected f32, f64, bf16 or bf16x3 with --device cpu)",
                    dtype);
    if (needs_gpu(dtype) && !plugin_devices(&why))
        return fail(e, "--dtype %s needs a GPU: %s", dtype, why.text);
    return 0;
}

/* 1 with the reason if a plug-in or GPU exists but cannot be used; silent if there is none. */
static int is_gpu_unusable(struct error *why)
{
    int absent;
    const struct plugin *p = plugin_open(&absent, why);
    return p ? p->devices(why) < 0 : !absent;
}

struct kernels *kernels_open_on(const char *device, const char *dtype, struct error *note,
                                struct error *e)
{
    struct error why = {""};
    note->text[0] = 0;
    if (kernels_available(device, dtype, e))
        return NULL;
    if (is_cuda(device)) {
        long number = device[4] == ':' ? strtol(device + 5, NULL, 10) : 0;
        struct kernels *k = cuda_open(number > INT_MAX ? INT_MAX : (int)number, dtype, &why);
        if (!k)
            fail(e, "--device %s: %s", device, why.text);
        return k;
    }
    if (!strcmp(device, "cpu"))
        return open_best(dtype, "cuda", e);
    if (!forced_set() && !needs_processor(dtype) && plugin_is_worth_opening() &&
        is_gpu_unusable(&why))
        fail(note, "%s: using the processor", why.text);
    return open_best(dtype, NULL, e);
}
