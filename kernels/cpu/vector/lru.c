/* Gates of a linear recurrent unit (ops.h), of a row. */
#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"

#include <math.h>

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

/* m = sqrt(1 - e^(-2 rate dt)), and its derivative by dt; 0 where m is, for which it has none. */
INLINE v_float measure(v_float *slope, v_float rate, v_float dt)
{
    /* near 1 a factor is e^x - 1, with its sign bit set: no digits are lost */
    v_float factor = v_factor(-2.0f * rate * dt), kept = v_keep(factor, v_all(1)),
            m = v_select((v_int)factor < 0, -factor, 1.0f - factor);
    for (size_t i = 0; i < WIDTH; i++)
        m[i] = sqrtf(m[i]);
    *slope = v_select(m == 0.0f, v_all(0), rate * kept / m);
    return m;
}

void lru_row(float *steps, float *y, const float *x, const float *raw, const float *rate,
             size_t width, int first)
{
    unsigned mode = denormals_off();
    for (size_t c = 0; c < width; c += WIDTH) {
        size_t count = width - c;
        v_float rest, slope, dt = 8.0f * v_sigmoid(&rest, load(raw + c, count)),
                             open = v_sigmoid(&rest, load(raw + width + c, count)),
                             m = first ? v_all(1) : measure(&slope, load(rate + c, count), dt);
        store(steps + c, dt, count);
        store(y + c, m * open * load(x + c, count), count);
    }
    denormals_restore(mode);
}

void lru_row_reverse(float *d_x, float *d_raw, const float *d_y, const float *d_steps,
                     const float *x, const float *raw, const float *rate, size_t width, int first)
{
    unsigned mode = denormals_off();
    for (size_t c = 0; c < width; c += WIDTH) {
        size_t count = width - c;
        v_float shut, closed, slope = v_all(0), dt = 8.0f * v_sigmoid(&shut, load(raw + c, count)),
                              open = v_sigmoid(&closed, load(raw + width + c, count)),
                              m = first ? v_all(1) : measure(&slope, load(rate + c, count), dt),
                              g = load(d_y + c, count), of = load(x + c, count);
        store(d_x + c, m * open * g, count);
        store(d_raw + c, (load(d_steps + c, count) + slope * open * of * g) * dt * shut, count);
        store(d_raw + width + c, m * of * g * open * closed, count);
    }
    denormals_restore(mode);
}
