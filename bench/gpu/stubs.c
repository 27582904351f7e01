/* What the GPU programs leave out of the build, since a machine with a GPU may lack its libraries: the cpu set (oneDNN), the
 * mapped files. */
#include "io/tensors.h"
#include "kernels/cpu/cpu.h"

int cpu_usable(void)
{
    return 0;
}

struct kernels *cpu_open(struct error *e)
{
    fail(e, "this build has no cpu set");
    return NULL;
}

void tensors_release_elements(const void *data, enum element type, size_t first, size_t count)
{
    (void)data, (void)type, (void)first, (void)count; /* weights are made in memory here */
}
