/* AMX's instructions on a processor without them: each one is an illegal instruction there, and the
 * handler of SIGILL does in plain C what it would have done to the thread's tiles, and goes on
 * after it: the kernels' machine code is what is tested. Encodings and operations: Intel 64 and
 * IA-32 Architectures Software Developer's Manual, volume 2. A use that would be a fault ends the
 * program. */
#include "kernels/cpu/state.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* With it AMX's tiles can be used everywhere; in place of the library's. */
int cpu_tiles(void)
{
    return 1;
}

/* ---- the eight tiles and what the instructions do to them ---- */

enum { MODEL_TILES = 8, MODEL_ROWS = 16, MODEL_ROW_BYTES = 64 };

static _Thread_local struct {
    int configured;
    uint16_t row_bytes[MODEL_TILES];
    uint8_t rows[MODEL_TILES], data[MODEL_TILES][MODEL_ROWS][MODEL_ROW_BYTES];
} model;

static void model_require(int holds)
{
    if (!holds)
        __builtin_trap();
}

static void model_release(void)
{
    memset(&model, 0, sizeof model);
}

static void model_loadconfig(const void *shapes)
{
    const uint8_t *at = shapes;
    model_release();
    model.configured = 1;
    model_require(at[0] == 1 && at[1] == 0); /* palette, first row */
    for (int i = 2; i < 64; i++) /* reserved, or of tiles that do not exist */
        model_require((i >= 16 && i < 32) || (i >= 48 && i < 56) || at[i] == 0);
    for (int i = 0; i < MODEL_TILES; i++) {
        memcpy(&model.row_bytes[i], at + 16 + 2 * i, 2);
        model.rows[i] = at[48 + i];
        model_require(model.rows[i] <= MODEL_ROWS && model.row_bytes[i] <= MODEL_ROW_BYTES &&
                      model.row_bytes[i] % 4 == 0 && !model.rows[i] == !model.row_bytes[i]);
    }
}

/* A tile of the shapes. */
static void model_require_tile(int tile)
{
    model_require(model.configured && model.rows[tile] > 0);
}

static void model_zero(int tile)
{
    model_require_tile(tile);
    memset(model.data[tile], 0, sizeof model.data[tile]);
}

static void model_load(int tile, const void *base, size_t apart)
{
    model_zero(tile);
    for (size_t r = 0; r < model.rows[tile]; r++)
        memcpy(model.data[tile][r], (const char *)base + r * apart, model.row_bytes[tile]);
}

static void model_store(int tile, void *base, size_t apart)
{
    model_require_tile(tile);
    for (size_t r = 0; r < model.rows[tile]; r++)
        memcpy((char *)base + r * apart, model.data[tile][r], model.row_bytes[tile]);
}

/* A denormal number as 0. */
static float model_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? 0 * x : x;
}

/* Half 0 or 1 of a pair. */
static float model_half(uint32_t pair, int half)
{
    union {
        uint32_t bits;
        float number;
    } x = {.bits = half ? pair & 0xffff0000u : pair << 16};
    return model_flush(x.number);
}

/* By vectors: the handler runs where AVX-512 is. */
__attribute__((target("avx512f,fma"))) static void model_multiply(int to, int left, int right)
{
    enum { COLUMNS = MODEL_ROW_BYTES / 4 }; /* those that a tile does not have are zeros */
    size_t depth = model.row_bytes[left] / 4u;
    model_require(to != left && to != right && left != right);
    model_require_tile(to), model_require_tile(left), model_require_tile(right);
    model_require(model.rows[to] == model.rows[left] && model.rows[right] == depth &&
                  model.row_bytes[to] == model.row_bytes[right]);
    for (size_t m = 0; m < model.rows[to]; m++) {
        float sum[COLUMNS], half[2][COLUMNS] = {{0}};
        memcpy(sum, model.data[to][m], sizeof sum);
        for (size_t k = 0; k < depth; k++) {
            uint32_t pair, pairs[COLUMNS];
            memcpy(&pair, &model.data[left][m][4 * k], sizeof pair);
            memcpy(pairs, model.data[right][k], sizeof pairs);
            for (int i = 0; i < 2; i++)
#pragma omp simd
                for (size_t n = 0; n < COLUMNS; n++)
                    half[i][n] = model_flush(
                        fmaf(model_half(pair, i), model_half(pairs[n], i), half[i][n]));
        }
        for (size_t n = 0; n < COLUMNS; n++)
            sum[n] = model_flush(model_flush(sum[n]) + model_flush(half[0][n] + half[1][n]));
        memcpy(model.data[to][m], sum, sizeof sum);
    }
}

/* ---- the instructions as the processor meets them ---- */

/* The last byte of each opcode, and the prefixes that tell those of the same byte apart. */
enum { CONFIG_RELEASE_ZERO = 0x49, LOAD_STORE = 0x4b, MULTIPLY = 0x5c };
enum { NO_PREFIX = 0, PREFIX_F3 = 2, PREFIX_F2 = 3 };

/* A three-byte VEX prefix, opcode, ModRM, and an address if it has one. */
struct instruction {
    int opcode, prefix, reg, rm, third;
    int has_address;
    char *base; /* with the displacement */
    size_t index; /* scaled */
    const uint8_t *next;
};

static size_t register_value(const greg_t *registers, int number)
{
    static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    return (size_t)registers[order[number]];
}

/* Ends the program at what is none of AMX's instructions. */
static struct instruction decode(const greg_t *registers)
{
    const uint8_t *at = (const uint8_t *)registers[REG_RIP];
    struct instruction x = {.opcode = at[3],
                            .prefix = at[2] & 3,
                            .third = ~(at[2] >> 3) & 15,
                            .reg = at[4] >> 3 & 7,
                            .rm = at[4] & 7,
                            .has_address = at[4] >> 6 != 3,
                            .next = at + 5};
    int mode = at[4] >> 6, base = x.rm | (at[1] & 0x20 ? 0 : 8);
    model_require(at[0] == 0xc4 && (at[1] & 0x1f) == 2 && !(at[2] & 0x84));
    if (!x.has_address)
        return x;
    if (x.rm == 4) {
        int scaled = *x.next++, index = (scaled >> 3 & 7) | (at[1] & 0x40 ? 0 : 8);
        base = (scaled & 7) | (at[1] & 0x20 ? 0 : 8);
        x.index = index == 4 ? 0 : register_value(registers, index) << (scaled >> 6);
    }
    model_require(mode != 0 || (base & 7) != 5); /* addresses without a base */
    x.base = (char *)register_value(registers, base);
    if (mode == 1)
        x.base += (int8_t)*x.next++;
    if (mode == 2) {
        int32_t displacement;
        memcpy(&displacement, x.next, sizeof displacement);
        x.base += displacement;
        x.next += sizeof displacement;
    }
    return x;
}

static void on_illegal_instruction(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct instruction x = decode(registers);
    (void)number;
    (void)info;
    switch (x.opcode << 8 | x.prefix << 4 | x.has_address) {
    case CONFIG_RELEASE_ZERO << 8 | NO_PREFIX << 4 | 1: model_loadconfig(x.base + x.index); break;
    case CONFIG_RELEASE_ZERO << 8 | NO_PREFIX << 4 | 0: model_release(); break;
    case CONFIG_RELEASE_ZERO << 8 | PREFIX_F2 << 4 | 0: model_zero(x.reg); break;
    case LOAD_STORE << 8 | PREFIX_F2 << 4 | 1: model_load(x.reg, x.base, x.index); break;
    case LOAD_STORE << 8 | PREFIX_F3 << 4 | 1: model_store(x.reg, x.base, x.index); break;
    case MULTIPLY << 8 | PREFIX_F3 << 4 | 0: model_multiply(x.reg, x.rm, x.third); break;
    default: abort();
    }
    registers[REG_RIP] = (greg_t)x.next;
}

static void __attribute__((constructor)) install(void)
{
    struct sigaction action = {.sa_sigaction = on_illegal_instruction, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
}

/* cmocka puts handlers of its own around each test: not around this signal. */
sighandler_t signal(int number, sighandler_t handler)
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (number == SIGILL)
        return SIG_DFL;
    return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
