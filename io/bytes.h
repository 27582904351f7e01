/* Numbers in bytes of any alignment; compilers turn the memcpy into one instruction. */
#ifndef REACH_IO_BYTES_H
#define REACH_IO_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t load16(const unsigned char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t load32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#endif
