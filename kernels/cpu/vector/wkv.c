/* Means by channel (ops.h) of some channels, WIDTH at a time, row after row.
 *
 * Sums over other rows are kept as multiples of e^p, p = base - count rate: base is the largest
 * exponent so far, and has been there for `count` rows. So p is rounded once, and neither it nor
 * the sums lose anything over rows that add little. Exponents are used as differences alone. */
#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"

/* Below any exponent: of sums over no rows. */
#define NONE (-1e30f)

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

/* Of each channel: two sums, and their base and count. */
struct sums {
    _Alignas(64) float a[WKV_GROUP], b[WKV_GROUP], base[WKV_GROUP], count[WKV_GROUP];
};

static void begin(struct sums *s)
{
    for (size_t i = 0; i < WKV_GROUP; i++)
        s->a[i] = s->b[i] = s->count[i] = 0, s->base[i] = NONE;
}

/* Adds e^exponent (a, b) to the sums of channels c on, after `count` rows of rate `rate`. */
INLINE void add(struct sums *s, size_t c, v_float exponent, v_float rate, v_float a, v_float b)
{
    v_float count = v_load(s->count + c) + 1.0f, base = v_load(s->base + c),
            ahead = v_fma(-count, rate, base - exponent), e = v_exp(-v_absolute(ahead));
    v_int larger = ahead < 0.0f;
    v_float kept = v_select(larger, e, v_all(1)), added = v_select(larger, v_all(1), e);
    v_store(s->a + c, v_fma(added, a, kept * v_load(s->a + c)));
    v_store(s->b + c, v_fma(added, b, kept * v_load(s->b + c)));
    v_store(s->base + c, v_select(larger, exponent, base));
    v_store(s->count + c, v_select(larger, v_all(0), count));
}

void wkv_channels(const struct wkv_task *t)
{
    struct sums s;
    unsigned mode = denormals_off();
    begin(&s);
    for (size_t row = 0; row < t->rows; row++)
        for (size_t c = 0; c < t->width; c += WIDTH) {
            size_t width = t->width - c, at = row * t->stride + c;
            v_float k = load(t->k + at, width), v = load(t->v + at, width),
                    rate = load(t->rate + c, width);
            if (row + t->queries >= t->rows) {
                size_t query = (row + t->queries - t->rows) * t->stride + c;
                v_float own = load(t->first + c, width) + k,
                        ahead = v_fma(-v_load(s.count + c), rate, v_load(s.base + c) - own),
                        e = v_exp(-v_absolute(ahead));
                v_int larger = ahead < 0.0f;
                v_float before = v_select(larger, e, v_all(1)),
                        here = v_select(larger, v_all(1), e),
                        sum = v_fma(before, v_load(s.b + c), here);
                store(t->o + query, v_fma(here, v, before * v_load(s.a + c)) / sum, width);
                if (t->log_sum)
                    store(t->log_sum + query, own + v_max(ahead, v_all(0)) + v_log(sum), width);
            }
            add(&s, c, k, rate, v, v_all(1));
        }
    denormals_restore(mode);
}

void wkv_channels_reverse(const struct wkv_task *t)
{
    struct sums s;
    unsigned mode = denormals_off();
    begin(&s);
    for (size_t row = t->rows; row-- > 0;)
        for (size_t c = 0; c < t->width; c += WIDTH) {
            size_t width = t->width - c, at = row * t->stride + c;
            v_float k = load(t->k + at, width), v = load(t->v + at, width),
                    rate = load(t->rate + c, width), x = v_load(s.a + c), y = v_load(s.b + c),
                    later = v_exp(v_fma(-v_load(s.count + c), rate, v_load(s.base + c) + k)),
                    d_v = later * x, d_k = later * v_fma(v, x, -y);
            if (row + t->queries >= t->rows) {
                size_t query = (row + t->queries - t->rows) * t->stride + c;
                v_float z = load(t->log_sum + query, width), d = load(t->d_o + query, width),
                        o = load(t->o + query, width),
                        own = v_exp(load(t->first + c, width) + (k - z)) * d;
                d_v += own, d_k = v_fma(own, v - o, d_k);
                add(&s, c, -z, rate, d, d * o);
            } else {
                v_store(s.count + c, v_load(s.count + c) + 1.0f);
            }
            store(t->d_k + at, d_k, width);
            store(t->d_v + at, d_v, width);
        }
    denormals_restore(mode);
}
