/* Times the engine on one segment of a checkpoint, beside the rate that oneDNN's fp32 matrix
 * product reaches in the same process.
 *
 *   erf CHECKPOINT LENGTH REPEATS [MEMORY_GB]
 *
 * Prints key=value lines: seconds (best), start (seconds from opening the checkpoint to the end of
 * the first batch, less the best one), needed_tflop, gemm_gflops (best of before and after), ratio
 * = seconds / (needed / gemm), peak_mb (resident, mapped files included), anonymous_mb. DTYPE in
 * the environment chooses the arithmetic (f32). With NORMS=FILE the norms of the segment go there
 * as doubles, for comparing curves. Tokens are i * 7919 mod the vocabulary. */
#include "model/engine.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best rate of 2048 x 3072 x 768 products, all threads, within a second: the first ones wait for
 * memory and for the clock to rise. */
static double gemm_rate(void)
{
    enum { M = 2048, N = 3072, K = 768 };
    float *a = malloc(sizeof *a * M * K), *b = malloc(sizeof *b * N * K),
          *c = malloc(sizeof *c * M * N);
    double best = 1e9, begin = now();
    if (!a || !b || !c)
        return 0;
    for (size_t i = 0; i < M * K; i++)
        a[i] = (float)(i % 13) * 0.1f;
    for (size_t i = 0; i < N * K; i++)
        b[i] = (float)(i % 11) * 0.1f;
    for (int i = 0; i < 8 || now() - begin < 1; i++) {
        double start = now();
        if (dnnl_sgemm('N', 'T', M, N, K, 1, a, K, b, K, 0, c, N) != dnnl_success)
            return 0;
        double took = now() - start;
        best = took < best ? took : best;
    }
    free(a), free(b), free(c);
    return 2.0 * M * N * K / best;
}

static double status_mb(const char *key)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = atof(line + strlen(key));
    if (f)
        fclose(f);
    return kb / 1024;
}

int main(int argc, char **argv)
{
    struct error e;
    char text[MEMORY_PLAN_TEXT];
    if (argc < 4) {
        fprintf(stderr, "usage: erf CHECKPOINT LENGTH REPEATS [MEMORY_GB]\n");
        return 2;
    }
    int length = atoi(argv[2]), repeats = atoi(argv[3]);
    double rate = gemm_rate(), best = 1e30, first = 0, anonymous = 0, begin = now();
    const char *dtype = getenv("DTYPE");
    struct kernels *k = kernels_open(dtype ? dtype : "f32", &e);
    struct decoder *d = k ? decoder_open(argv[1], &e) : NULL;
    struct engine_request o = {.positions = length - 1,
                               .memory = argc > 4 ? (size_t)(atof(argv[4]) * 1e9) : 0};
    struct engine *g = d ? engine_create(k, d, &o, &e) : NULL;
    if (!g) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    int batch = engine_plan(g)->batch;
    int32_t *ids = malloc(sizeof *ids * (size_t)batch * (size_t)length);
    double *norm = malloc(sizeof *norm * (size_t)batch * (size_t)length),
           *logprob = malloc(sizeof *logprob * (size_t)batch);
    if (!ids || !norm || !logprob)
        return 1;
    for (int i = 0; i < batch * length; i++)
        ids[i] = (int32_t)((long)(i % length) * 7919 % d->vocabulary);
    for (int i = 0; i < repeats; i++) {
        double start = now();
        if (engine_measure(g, norm, logprob, ids, batch, &e)) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
        double took = (now() - start) / batch;
        best = took < best ? took : best;
        first = i == 0 ? now() - begin : first;
        anonymous = status_mb("RssAnon:");
    }
    const char *file = getenv("NORMS");
    FILE *f = file ? fopen(file, "wb") : NULL;
    if (f) {
        fwrite(norm, sizeof *norm, (size_t)length - 1, f);
        fclose(f);
    }
    double peak = status_mb("VmHWM:"), after = gemm_rate();
    rate = after > rate ? after : rate;
    printf("plan=%s\nkernels=%s\nlength=%d\nseconds=%.4f\nstart=%.3f\nneeded_tflop=%.4f\ngemm_"
           "gflops=%.1f\nratio=%.3f\npeak_mb=%."
           "0f\nanonymous_mb=%.0f\nlogprob=%.9g\n",
           memory_plan_text(text, engine_plan(g)), k->name, length, best, first - best * batch,
           engine_plan(g)->flops * 1e-12, rate * 1e-9, best / (engine_plan(g)->flops / rate), peak,
           anonymous, logprob[0]);
    engine_close(g);
    decoder_close(d);
    k->close(k);
    free(ids), free(norm), free(logprob);
    return 0;
}
