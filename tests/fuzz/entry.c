/* What libFuzzer calls: the target that FUZZ_TARGET names. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int (*target)(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *wanted = getenv("FUZZ_TARGET");
#define TARGET(name, bytes)               \
    if (wanted && !strcmp(wanted, #name)) \
        target = fuzz_##name;
#include "tests/fuzz/targets.h"
#undef TARGET
    if (!target) {
        fprintf(stderr, "FUZZ_TARGET names no target of tests/fuzz/targets.h\n");
        exit(1);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target(data, size);
    return 0;
}
