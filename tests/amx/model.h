/* A plain model of AMX's instructions, by their description (Intel 64 and IA-32 Architectures
 * Software Developer's Manual, volume 2), in place of their intrinsics: what they do to a thread's
 * eight tiles of at most 16 rows of 64 bytes. A use that would be a fault ends the program. It is
 * included before the kernels that are compiled with it (tests/tests.mk). */
#ifndef REACH_TESTS_AMX_MODEL_H
#define REACH_TESTS_AMX_MODEL_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sanitizers see what is loaded and stored: by memcpy. */
#define MODEL static inline __attribute__((unused, no_sanitize("address", "undefined")))

enum { MODEL_TILES = 8, MODEL_ROWS = 16, MODEL_ROW_BYTES = 64 };

static _Thread_local struct {
    int configured;
    uint16_t row_bytes[MODEL_TILES];
    uint8_t rows[MODEL_TILES], data[MODEL_TILES][MODEL_ROWS][MODEL_ROW_BYTES];
} model __attribute__((unused));

MODEL void model_require(int holds)
{
    if (!holds)
        __builtin_trap();
}

MODEL void model_release(void)
{
    memset(&model, 0, sizeof model);
}

MODEL void model_loadconfig(const void *shapes)
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
MODEL void model_require_tile(int tile)
{
    model_require(model.configured && model.rows[tile] > 0);
}

MODEL void model_zero(int tile)
{
    model_require_tile(tile);
    memset(model.data[tile], 0, sizeof model.data[tile]);
}

MODEL void model_load(int tile, const void *base, size_t apart)
{
    model_zero(tile);
    for (size_t r = 0; r < model.rows[tile]; r++)
        memcpy(model.data[tile][r], (const char *)base + r * apart, model.row_bytes[tile]);
}

MODEL void model_store(int tile, void *base, size_t apart)
{
    model_require_tile(tile);
    for (size_t r = 0; r < model.rows[tile]; r++)
        memcpy((char *)base + r * apart, model.data[tile][r], model.row_bytes[tile]);
}

/* A denormal number as 0. */
MODEL float model_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Half 0 or 1 of a pair. */
MODEL float model_half(uint32_t pair, int half)
{
    float x;
    pair = half ? pair & 0xffff0000u : pair << 16;
    memcpy(&x, &pair, sizeof x);
    return model_flush(x);
}

MODEL void model_multiply(int to, int left, int right)
{
    enum { MOST = MODEL_ROW_BYTES / 4 };
    size_t depth = model.row_bytes[left] / 4u, columns = model.row_bytes[to] / 4u;
    model_require(to != left && to != right && left != right);
    model_require_tile(to), model_require_tile(left), model_require_tile(right);
    model_require(model.rows[to] == model.rows[left] && model.rows[right] == depth &&
                  model.row_bytes[to] == model.row_bytes[right]);
    for (size_t m = 0; m < model.rows[to]; m++) {
        float sum[MOST] = {0}, half[2][MOST] = {{0}};
        memcpy(sum, model.data[to][m], 4 * columns);
        for (size_t k = 0; k < depth; k++)
            for (int i = 0; i < 2; i++) {
                uint32_t pair, pairs[MOST] = {0};
                memcpy(&pair, &model.data[left][m][4 * k], 4);
                memcpy(pairs, model.data[right][k], 4 * columns);
                for (size_t n = 0; n < MOST; n++)
                    half[i][n] = model_flush(
                        fmaf(model_half(pair, i), model_half(pairs[n], i), half[i][n]));
            }
        for (size_t n = 0; n < MOST; n++)
            sum[n] = model_flush(model_flush(sum[n]) + model_flush(half[0][n] + half[1][n]));
        memcpy(model.data[to][m], sum, 4 * columns);
    }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig model_loadconfig
#define _tile_release model_release
#define _tile_zero model_zero
#define _tile_loadd model_load
#define _tile_stored model_store
#define _tile_dpbf16ps model_multiply

#endif
