#include "tests/example_result.h"

#include "io/system/atomic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int write_result(const char *path, const struct result *r, struct error *e)
{
    struct atomic_file f;
    return result_stage(path, r, &f, e) || atomic_place(&f, e) ? -1 : 0;
}

struct example example;

const struct result *fill_example(void)
{
    for (int i = 0; i < SEGMENTS * POSITIONS; i++)
        example.norm[i] = 0.1 * i;
    example.norm[POSITIONS] = NAN; /* of the segment that is excluded */
    example.norm[POSITIONS + 1] = INFINITY;
    example.norm[5] = 1e-42; /* subnormal as float32 */
    for (int i = 0; i < POSITIONS; i++)
        example.vector[i] = 1.0 / (i + 3);
    for (int i = 0; i < SEGMENTS; i++) {
        example.logprob[i] = i == 1 ? -INFINITY : -0.7 * i;
        example.status[i] = i == 1 ? SEGMENT_EXCLUDED : SEGMENT_DONE;
        example.start[i] = UINT64_MAX - (uint64_t)i;
    }
    const struct result_attribute attributes[] = {
        {"path", "/models/\xCE\x94"},
        {"digest", "00ff"},
        {"layers", "12"},
        {"shift", "-512"},
        {"window", "007"},
        {"big", "99999999999999999999"},
        {"scale", "0.5"},
        {"empty", ""},
        {"spaced", " 7"},
        {"zero", "0"},
        {"b_before_a", "x"},
        {"a", "y"},
    };
    memcpy(example.attributes, attributes, sizeof attributes);
    for (int i = 0; i < MODELS; i++) {
        struct result_model *m = &example.models[i];
        struct erf_summary curves = {.s = example.vector,
                                     .c = example.vector,
                                     .c_lo = example.vector,
                                     .c_hi = example.vector};
        example.fields[i] = (struct result_field){.target = POSITIONS + 1,
                                                  .positions = POSITIONS,
                                                  .norm = example.norm,
                                                  .logprob = example.logprob,
                                                  .status = example.status,
                                                  .summary = curves,
                                                  .attributes = example.attributes,
                                                  .attribute_count = i ? 12 : 0};
        *m = (struct result_model){.segments = SEGMENTS,
                                   .wide = i % 2,
                                   .start = example.start,
                                   .fields = &example.fields[i],
                                   .field_count = 1};
        snprintf(m->name, sizeof m->name, "%c model %d", 'z' - i, i);
    }
    example.result = (struct result){.version = (char *)"0.1.0",
                                     .command = (char *)"reach erf 'a b'",
                                     .models = example.models,
                                     .model_count = MODELS};
    return &example.result;
}
