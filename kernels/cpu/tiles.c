/* Whether AMX's tiles can be used. Linux gives a process the room for their state, 8 KB for each
 * thread that uses them, only when asked (Documentation/arch/x86/xstate.rst). */
#include "kernels/cpu/state.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CPUID's leaf 7 and XCR0 (Intel 64 and IA-32 Architectures Software Developer's Manual);
 * asm/prctl.h has the request since Linux 5.16. */
enum {
    LEAF = 7,
    AMX_BF16 = 1 << 22,
    AMX_TILE = 1 << 24,
    OSXSAVE = 1 << 27,
    TILE_STATES = 3 << 17,
    REQUEST_PERMISSION = 0x1023,
    TILE_DATA = 18
};

/* The states that the system saves. */
static unsigned saved_states(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int cpu_tiles(void)
{
    const unsigned features = AMX_BF16 | AMX_TILE;
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & OSXSAVE &&
           __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) && (d & features) == features &&
           (saved_states() & TILE_STATES) == TILE_STATES &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#else

int cpu_tiles(void)
{
    return 0;
}

#endif
