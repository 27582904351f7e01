/* Times the engine on one segment of a checkpoint, beside what the machine reaches in the same
 * process.
 *
 *   erf CHECKPOINT LENGTH REPEATS [MEMORY_GB]
 *
 * Prints key=value lines: seconds (best), processor (the least seconds of processor time of a
 * segment), start (seconds from opening the checkpoint to the end of the first batch, less the best
 * one), faults (pages touched for the first time from there to the end, in thousands),
 * needed_tflop, limit_gflops (of matrix products in that type, best of before and after; 0:
 * unknown), ratio = seconds / (needed / limit), copy_gbs, peak_mb (resident, mapped files
 * included), anonymous_mb. DTYPE in the environment chooses the arithmetic (f32). With NORMS=FILE
 * the norms of the segment go there as doubles, for comparing curves. Tokens are i * 7919 mod the
 * vocabulary. */
#include "bench/limits.h"
#include "model/engine.h"

#include <stdio.h>
#include <sys/resource.h>

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

static double processor_seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    struct error e;
    struct rusage before, after;
    char text[MEMORY_PLAN_TEXT];
    if (argc < 4) {
        fprintf(stderr, "usage: erf CHECKPOINT LENGTH REPEATS [MEMORY_GB]\n");
        return 2;
    }
    int length = atoi(argv[2]), repeats = atoi(argv[3]);
    const char *dtype = getenv("DTYPE");
    double (*const limit)(void) = dtype && strcmp(dtype, "bf16") == 0     ? limit_bf16
                                  : dtype && strcmp(dtype, "bf16x3") == 0 ? limit_bf16x3
                                                                          : limit_f32;
    double rate = limit(), best = 1e30, least = 1e30, first = 0, anonymous = 0, begin = now();
    getrusage(RUSAGE_SELF, &before);
    const long faults = before.ru_minflt;
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
        double start = now(), used;
        getrusage(RUSAGE_SELF, &before);
        if (engine_measure(g, norm, logprob, ids, batch, &e)) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
        double took = (now() - start) / batch;
        getrusage(RUSAGE_SELF, &after);
        used = (processor_seconds(&after) - processor_seconds(&before)) / batch;
        best = took < best ? took : best;
        least = used < least ? used : least;
        first = i == 0 ? now() - begin : first;
        anonymous = status_mb("RssAnon:");
    }
    const char *file = getenv("NORMS");
    FILE *f = file ? fopen(file, "wb") : NULL;
    if (f) {
        fwrite(norm, sizeof *norm, (size_t)length - 1, f);
        fclose(f);
    }
    double peak = status_mb("VmHWM:"), again = limit(), needed = engine_plan(g)->flops;
    rate = again > rate ? again : rate;
    printf("plan=%s\nkernels=%s\nlength=%d\nseconds=%.4f\nprocessor=%.4f\nstart=%.3f\n",
           memory_plan_text(text, engine_plan(g)), k->name, length, best, least,
           first - best * batch);
    printf("faults=%.1f\nneeded_tflop=%.4f\nlimit_gflops=%.1f\nratio=%.3f\ncopy_gbs=%.1f\n",
           1e-3 * (double)(after.ru_minflt - faults), needed * 1e-12, rate * 1e-9,
           best / (needed / rate), limit_copy() * 1e-9);
    printf("peak_mb=%.0f\nanonymous_mb=%.0f\nlogprob=%.9g\n", peak, anonymous, logprob[0]);
    engine_close(g);
    decoder_close(d);
    k->close(k);
    free(ids), free(norm), free(logprob);
    return 0;
}
