#include "run/ranks.h"

#include "io/system/memory.h"
#include "kernels/ops.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct ranks_way *offered;
static struct ranks here = {0, 1, 0, 1};

void ranks_offer(const struct ranks_way *way)
{
    offered = way;
}

int ranks_open(struct error *e)
{
    return offered ? offered->open(&here, e) : 0;
}

void ranks_close(int status)
{
    if (offered)
        offered->close(status);
}

const struct ranks *ranks_here(void)
{
    return &here;
}

int ranks_send(int to, uint32_t kind, const void *data, size_t bytes, struct error *e)
{
    return offered->send(to, kind, data, bytes, e);
}

int ranks_receive(struct ranks_message *m, struct error *e)
{
    return offered->receive(m, e);
}

void ranks_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
}

int ranks_wait(struct ranks_message *m, struct error *e)
{
    int found;

    while ((found = ranks_receive(m, e)) == 0)
        ranks_nap();
    return found > 0 ? 0 : -1;
}

const char *ranks_device(char text[32], const char *device, const char *dtype)
{
    struct error e;
    int named = strcmp(device, "cuda") == 0;

    if (here.local_count == 1 ||
        (!named && (strcmp(device, "auto") != 0 || kernels_available("cuda", dtype, &e) != 0)))
        return device;
    snprintf(text, 32, "cuda:%d", here.local);
    return text;
}

size_t ranks_memory(size_t memory)
{
    size_t available = here.local_count > 1 && !memory ? memory_available() : SIZE_MAX;

    return available == SIZE_MAX ? memory : (size_t)(0.8 * (double)available / here.local_count);
}
