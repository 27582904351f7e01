#include "io/memory.h"

#include "io/element.h"

#include <stdint.h>
#include <stdio.h>

size_t memory_available(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kilobytes;
    size_t bytes = SIZE_MAX;
    if (!f)
        return SIZE_MAX;
    while (bytes == SIZE_MAX && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1 && size_multiply(&bytes, (size_t)kilobytes, 1024))
            bytes = SIZE_MAX;
    fclose(f);
    return bytes;
}

int memory_check(size_t bytes, const char *what, struct error *e)
{
    size_t available = memory_available();
    return bytes <= available ? 0 : fail(e, "%s: needs %zu bytes of memory, and %zu are free", what, bytes, available);
}
