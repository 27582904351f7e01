/* In programs with the model of AMX's instructions its tiles can be used everywhere. */
#include "kernels/cpu/state.h"

int cpu_tiles(void)
{
    return 1;
}
