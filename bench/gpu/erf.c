/* Times the engine end to end on a GPU, on a random model in memory.
 *
 *   erf SHAPE LENGTH DTYPE REPEATS [BATCH]     SHAPE of shapes.h; BATCH 0: by the plan
 *
 * Fails where the cuda set does not open. Prints key=value lines: seconds (a segment; the mean of
 * REPEATS batches after a warm-up, two begun at a time as `reach erf` does), tflops (needed
 * operations over that), flops, memory (GB of the device that the run holds), batch, plan, and a
 * line product= for each kind of matrix product with the algorithm that runs it. With NORMS=FILE in
 * the environment the norms of the first segment go there as doubles. Token i of segment b is (i +
 * 13 b) 7919 mod the vocabulary. */
#include "bench/gpu/shapes.h"
#include "model/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct memory_shape *find(const char *name)
{
    for (size_t i = 0; i < sizeof named_shapes / sizeof *named_shapes; i++)
        if (strcmp(named_shapes[i].name, name) == 0)
            return &named_shapes[i].shape;
    return NULL;
}

static int write_norms(const double *norm, size_t n)
{
    const char *file = getenv("NORMS");
    FILE *f = file ? fopen(file, "wb") : NULL;
    if (!file)
        return 0;
    int bad = !f || fwrite(norm, sizeof *norm, n, f) != n;
    return (f && fclose(f) != 0) || bad ? -1 : 0;
}

static int run(struct kernels *k, const struct decoder *d, int length, int repeats, int batch)
{
    struct error e;
    char text[MEMORY_PLAN_TEXT], product[300];
    struct engine_request o = {.positions = length - 1, .batch = batch};
    double start = now(), seconds, free_before = k->memory_free ? (double)k->memory_free(k) : 0;
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        return fprintf(stderr, "%s\n", e.text), 1;
    batch = engine_plan(g)->batch;
    size_t n = (size_t)length - 1, count = (size_t)batch * (size_t)length;
    int32_t *ids = malloc(sizeof *ids * count);
    double *norm = malloc(sizeof *norm * count), *logprob = malloc(sizeof *logprob * (size_t)batch);
    int rc = 1;
    if (!ids || !norm || !logprob)
        goto end;
    for (int b = 0; b < batch; b++)
        for (int i = 0; i < length; i++)
            ids[b * length + i] = (int32_t)((long)(i + 13 * b) * 7919 % d->vocabulary);
    if (engine_measure(g, norm, logprob, ids, batch, &e)) {
        fprintf(stderr, "%s\n", e.text);
        goto end;
    }
    printf("start_seconds=%.2f\n", now() - start);
    start = now();
    for (int begun = 0, ended = 0; ended < repeats; ended++) {
        while (begun < repeats && begun < ended + engine_ahead(g))
            if (begun++, engine_begin(g, ids, batch, &e)) {
                fprintf(stderr, "%s\n", e.text);
                goto end;
            }
        if (engine_end(g, norm, logprob, &e)) {
            fprintf(stderr, "%s\n", e.text);
            goto end;
        }
    }
    seconds = (now() - start) / repeats / batch;
    if (k->memory_free)
        printf("memory=%.2f\n", 1e-9 * (free_before - (double)k->memory_free(k)));
    if (write_norms(norm, n)) {
        perror("NORMS");
        goto end;
    }
    printf(
        "kernels=%s %s\nplan=%s\nbatch=%d\nseconds=%.6f\nflops=%.6g\ntflops=%.2f\nlogprob=%.9g\n",
        k->name, k->dtype, memory_plan_text(text, engine_plan(g)), batch, seconds,
        engine_plan(g)->flops, engine_plan(g)->flops / seconds * 1e-12, logprob[0]);
    for (int i = 0; k->product_text && k->product_text(k, i, product, sizeof product); i++)
        printf("product=%s\n", product);
    rc = 0;
end:
    engine_close(g);
    free(ids), free(norm), free(logprob);
    return rc;
}

int main(int argc, char **argv)
{
    struct error e, note;
    const struct memory_shape *shape = argc >= 5 ? find(argv[1]) : NULL;
    if (!shape || atoi(argv[2]) < 2 || atoi(argv[4]) < 1) {
        fprintf(stderr, "usage: erf SHAPE LENGTH DTYPE REPEATS [BATCH]; SHAPE:");
        for (size_t i = 0; i < sizeof named_shapes / sizeof *named_shapes; i++)
            fprintf(stderr, " %s", named_shapes[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    struct decoder *d = memory_decoder(shape, &e);
    struct kernels *k = d ? kernels_open_on("cuda", argv[3], &note, &e) : NULL;
    if (!k)
        return fprintf(stderr, "%s\n", e.text), 1;
    int rc = run(k, d, atoi(argv[2]), atoi(argv[4]), argc > 5 ? atoi(argv[5]) : 0);
    k->close(k);
    memory_decoder_free(d);
    return rc;
}
