#include "io/system/memory.h"

#include "io/element.h"
#include "io/system/memory_groups.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t of_machine(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kilobytes;
    size_t bytes = SIZE_MAX;
    if (!f)
        return SIZE_MAX;
    while (bytes == SIZE_MAX && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1 &&
            size_multiply(&bytes, (size_t)kilobytes, 1024))
            bytes = SIZE_MAX;
    fclose(f);
    return bytes;
}

static size_t left_of(int resource, size_t used)
{
    struct rlimit r;
    if (getrlimit(resource, &r) || r.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return r.rlim_cur > used ? (size_t)r.rlim_cur - used : 0;
}

/* The memory left by `ulimit -v` and `ulimit -d`. */
static size_t of_limits(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long long all = 0, data = 0; /* pages of address space; of data and stacks */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int read = f ? fscanf(f, "%llu %*u %*u %*u %*u %llu", &all, &data) : 0;
    if (f)
        fclose(f);
    if (read != 2)
        all = data = 0;
    size_t space = left_of(RLIMIT_AS, (size_t)all * page),
           own = left_of(RLIMIT_DATA, (size_t)data * page);
    return space < own ? space : own;
}

size_t memory_available(void)
{
    size_t bytes = of_machine(), limits = of_limits(), groups = memory_of_groups("");
    if (bytes > limits)
        bytes = limits;
    return bytes < groups ? bytes : groups;
}

/* Before getrusage, whose figure survives exec and may be that of a large parent program. */
size_t memory_peak(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long kilobytes = 0;
    struct rusage usage;
    while (f && !kilobytes && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) != 1)
            kilobytes = 0;
    if (f)
        fclose(f);
    if (!kilobytes && getrusage(RUSAGE_SELF, &usage) == 0)
        kilobytes = (unsigned long long)usage.ru_maxrss;
    return (size_t)kilobytes * 1024;
}

int memory_check(size_t bytes, const char *what, struct error *e)
{
    size_t available = memory_available();
    return bytes <= available ? 0
                              : fail(e, "%s: needs %zu bytes of memory, and only %zu are free",
                                     what, bytes, available);
}

char *bytes_text(char out[BYTES_TEXT], double bytes)
{
    if (bytes >= 999.95e6)
        snprintf(out, BYTES_TEXT, "%.2f GB", fmin(bytes * 1e-9, 1e9));
    else if (bytes > 999e3)
        snprintf(out, BYTES_TEXT, "%.1f MB", bytes * 1e-6);
    else
        snprintf(out, BYTES_TEXT, "%.0f kB", ceil(bytes * 1e-3));
    return out;
}
