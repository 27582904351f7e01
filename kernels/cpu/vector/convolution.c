/* One row of a convolution, gated or not, and of its reverse. */
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/vector.h"

/* WIDTH floats, or the first `count`. */
INLINE v_float load(const float *x, size_t count)
{
    return count < WIDTH ? v_load_part(x, count) : v_load(x);
}

INLINE void store(float *y, v_float x, size_t count)
{
    if (count < WIDTH)
        v_store_part(y, x, count);
    else
        v_store(y, x);
}

/* The bias and the sum over the row at x and the seen - 1 before it. */
INLINE v_float convolved(const float *x, const float *taps, size_t seen, size_t width, size_t count)
{
    v_float sum = load(taps, count);
    for (size_t back = 0; back < seen; back++, x -= 3 * width)
        sum = v_fma(load(taps + (back + 1) * width, count),
                    load(x, count) * load(x + 2 * width, count), sum);
    return sum;
}

void convolve_row(float *y, const float *x, const float *taps, size_t seen, size_t width)
{
    for (size_t c = 0; c < width; c += WIDTH)
        store(y + c,
              load(x + width + c, width - c) * convolved(x + c, taps + c, seen, width, width - c),
              width - c);
}

void convolve_row_reverse(float *dx, const float *dy, const float *x, const float *taps,
                          size_t seen, size_t first, size_t end, size_t width)
{
    for (size_t c = 0; c < width; c += WIDTH) {
        size_t count = width - c;
        v_float sum = v_all(0), d_gate = v_all(0);
        for (size_t on = first; on < end; on++)
            sum = v_fma(load(taps + (on + 1) * width + c, count),
                        load(dy + (on - first) * width + c, count) *
                            load(x + (3 * on + 1) * width + c, count),
                        sum);
        if (first == 0)
            d_gate = load(dy + c, count) * convolved(x + c, taps + c, seen, width, count);
        store(dx + c, sum * load(x + 2 * width + c, count), count);
        store(dx + width + c, d_gate, count);
        store(dx + 2 * width + c, sum * load(x + c, count), count);
    }
}

void convolve_plain_row(float *y, const float *x, const float *taps, size_t seen, size_t width)
{
    for (size_t c = 0; c < width; c += WIDTH) {
        size_t count = width - c;
        v_float sum = load(taps + c, count);
        for (size_t back = 0; back < seen; back++)
            sum = v_fma(load(taps + (back + 1) * width + c, count),
                        load(x - back * width + c, count), sum);
        store(y + c, sum, count);
    }
}

void convolve_plain_row_reverse(float *dx, const float *dy, const float *taps, size_t first,
                                size_t end, size_t width)
{
    for (size_t c = 0; c < width; c += WIDTH) {
        size_t count = width - c;
        v_float sum = v_all(0);
        for (size_t on = first; on < end; on++)
            sum = v_fma(load(taps + (on + 1) * width + c, count),
                        load(dy + (on - first) * width + c, count), sum);
        store(dx + c, sum, count);
    }
}
