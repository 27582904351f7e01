/* The memory plan of one batch beside what it takes.
 *
 *   plan CHECKPOINT LENGTH [MEMORY_MB [KEEP [SCRATCH]]]
 *   plan --only ...
 *
 * MEMORY_MB may be 0, for most of what is free; KEEP f32 or bf16, SCRATCH a folder. Prints segments
 * at a time, layers stored and there are, where weights are, the plan's total and the most private
 * memory (RssAnon, looked at every millisecond) that was held from the creation of the engine to
 * the end of two batches, less that before, in MB: what the libraries take once, and mapped files,
 * are in neither. Then what is on disk. --only: of the plan alone. */
#include "model/engine.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int over;
static double most;

static double private_mb(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    double kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kb = atof(line + 8);
    if (f)
        fclose(f);
    return kb * 1024 / 1e6;
}

static void *look(void *nothing)
{
    while (!atomic_load(&over)) {
        most = fmax(most, private_mb());
        usleep(1000);
    }
    return nothing;
}

static void print(const struct memory_plan *p, double taken)
{
    printf("%d %d %d %s %.1f %.1f %.1f\n", p->batch, p->stored_layers, p->layers,
           p->in_place   ? "mapped"
           : p->resident ? "resident"
                         : "by-layer",
           p->total * 1e-6, taken, p->disk * 1e-6);
}

int main(int argc, char **argv)
{
    struct error e;
    pthread_t watcher;
    int only = argc > 1 && strcmp(argv[1], "--only") == 0;
    argc -= only, argv += only;
    if (argc < 3) {
        fprintf(stderr, "usage: plan [--only] CHECKPOINT LENGTH [MEMORY_MB [KEEP [SCRATCH]]]\n");
        return 2;
    }
    int length = atoi(argv[2]);
    struct kernels *k = kernels_open("f32", &e);
    struct decoder *d = k && kernels_check(k, &e) == 0 ? decoder_open(argv[1], &e) : NULL;
    struct engine_request o = {.positions = length - 1,
                               .memory = argc > 3 ? (size_t)(atof(argv[3]) * 1e6) : 0};
    o.gradient.keep = argc > 4 && strcmp(argv[4], "bf16") == 0 ? KEEP_BF16 : KEEP_AUTO;
    o.gradient.scratch = argc > 5 ? argv[5] : NULL;
    struct memory_plan p;
    if (!d || engine_estimate(&p, k, d, &o, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    if (only) {
        print(&p, NAN);
        decoder_close(d);
        k->close(k);
        return 0;
    }
    size_t values = (size_t)p.batch * (size_t)length;
    int32_t *ids = malloc(sizeof *ids * values);
    double *norm = malloc(sizeof *norm * values),
           *logprob = malloc(sizeof *logprob * (size_t)p.batch);
    if (!ids || !norm || !logprob)
        return 1;
    memset(norm, 1, sizeof *norm * values); /* so that it is there before */
    for (size_t i = 0; i < values; i++)
        ids[i] = (int32_t)(i * 7919 % (size_t)d->vocabulary);
    malloc_trim(0);
    double before = private_mb();
    if (pthread_create(&watcher, NULL, look, NULL) != 0)
        return 1;
    struct engine *g = engine_create(k, d, &o, &e);
    for (int i = 0; g && i < 2; i++)
        if (engine_measure(g, norm, logprob, ids, engine_plan(g)->batch, &e)) {
            engine_close(g);
            g = NULL;
        }
    atomic_store(&over, 1);
    pthread_join(watcher, NULL);
    if (!g) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    p = *engine_plan(g);
    print(&p, most - before);
    engine_close(g);
    decoder_close(d);
    k->close(k);
    free(ids), free(norm), free(logprob);
    return 0;
}
