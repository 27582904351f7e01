/* What libFuzzer calls: the target that FUZZ_TARGET names. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int (*target)(const uint8_t *data, size_t size);

/* The bounds of the counters, which the linker knows. Clang declares these names itself in every
 * file, and a second declaration would hide them. */
__asm__(
    ".pushsection .data.rel.ro, \"aw\"\n.balign 8\ncounter_bounds: .quad __start___sancov_cntrs, "
    "__stop___sancov_cntrs\n.popsection");
extern const uintptr_t counter_bounds[2] __attribute__((visibility("hidden")));

/* Lets child processes count coverage where libFuzzer looks, or the readers of HDF5, which work in
 * such, would show none. The page on which other data lie in front of the counters is left as it
 * is; behind them lies a constant table. */
static void share_counters(void)
{
    const uintptr_t page = 4096;
    uintptr_t first = (counter_bounds[0] + page - 1) & ~(page - 1),
              end = (counter_bounds[1] + page - 1) & ~(page - 1);
    size_t bytes = end > first ? end - first : 0;
    unsigned char *kept = bytes ? malloc(bytes) : NULL;
    if (!kept)
        return;
    memcpy(kept, (void *)first, bytes);
    if (mmap((void *)first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) == MAP_FAILED) {
        perror("coverage counters");
        exit(1);
    }
    memcpy((void *)first, kept, bytes);
    free(kept);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *wanted = getenv("FUZZ_TARGET");
#define TARGET(name, bytes) \
    if (wanted && !strcmp(wanted, #name)) \
        target = fuzz_##name;
#include "tests/fuzz/targets.h"
#undef TARGET
    if (!target) {
        fprintf(stderr, "FUZZ_TARGET names no target of tests/fuzz/targets.h\n");
        exit(1);
    }
    share_counters();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target(data, size);
    return 0;
}
