/* Windows of the protocols; means, standard errors and the paired t-test of NLLs. */
#include "analyze/perplexity.h"

#include <math.h>

/* Mean of a[i], or of a[i] - b[i], and its standard error. */
static double mean_of(double *std_error, const double *a, const double *b, size_t count)
{
    double sum = 0, squares = 0, n = (double)count;
    for (size_t i = 0; i < count; i++)
        sum += b ? a[i] - b[i] : a[i];
    double mean = sum / n;
    for (size_t i = 0; i < count; i++) {
        double off = (b ? a[i] - b[i] : a[i]) - mean;
        squares += off * off;
    }
    *std_error = count > 1 ? sqrt(squares / (n - 1) / n) : NAN;
    return mean;
}

struct perplexity perplexity_of(const double *nll, size_t count)
{
    struct perplexity out = {.tokens = count};
    out.nll = mean_of(&out.std_error, nll, NULL, count);
    out.ppl = exp(out.nll);
    return out;
}

double perplexity_each(const struct perplexity *p, size_t units)
{
    return units ? p->nll * (double)p->tokens / (double)units : NAN;
}

struct perplexity_difference perplexity_compare(const double *a, const double *b, size_t count)
{
    struct perplexity_difference out;
    out.difference = mean_of(&out.std_error, a, b, count);
    if (out.std_error == 0)
        out.p = out.difference == 0; /* all differences are equal: p is exactly 1 or 0 */
    else
        out.p = student_two_sided(out.difference / out.std_error, (double)count - 1);
    return out;
}

double perplexity_margin(const struct perplexity_difference *d, size_t count)
{
    double low = 0, high = 1, degrees = (double)count - 1;

    if (count < 2)
        return NAN;
    while (student_two_sided(high, degrees) > 0.05)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;

        *(student_two_sided(middle, degrees) > 0.05 ? &low : &high) = middle;
    }
    return high * d->std_error;
}

void share_interval(double *lo, double *hi, double share, size_t count)
{
    const double z = 1.959963984540054, n = (double)count, of = 1 + z * z / n;
    double middle = (share + z * z / (2 * n)) / of,
           half = z / of * sqrt(share * (1 - share) / n + z * z / (4 * n * n));

    *lo = fmin(fmax(middle - half, 0), share); /* exactly 0 and 1 for these shares */
    *hi = fmax(fmin(middle + half, 1), share);
}

size_t context_needed(const double *nll, size_t contexts, size_t stride, double within)
{
    size_t j = 0;

    while (nll[j * stride] > nll[(contexts - 1) * stride] + within)
        j++;
    return j;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t window_count(size_t tokens, size_t context, size_t stride)
{
    size_t targets = tokens - 1;
    return stride ? 1 + (targets - context + stride - 1) / stride
                  : (targets + context - 1) / context;
}

struct window window_at(size_t index, size_t tokens, size_t context, size_t stride)
{
    size_t targets = tokens - 1;
    if (!stride) {
        size_t first = index * context, inputs = smaller(context, targets - first);
        return (struct window){first, inputs, inputs};
    }
    size_t end = smaller(context + index * stride, targets);
    return (struct window){end - context, context,
                           index ? end - (context + (index - 1) * stride) : context};
}

/* ln(Gamma(a + 1/2) / Gamma(a)): from the gamma function, or if its logarithms would cancel from
 * the asymptotic series (DLMF 5.11.13), whose next term is below 2e-13. */
static double log_half_step(double a)
{
    if (a < 100)
        return lgamma(a + 0.5) - lgamma(a);
    double u = 1 / a;
    return 0.5 * log(a) - u / 8 + u * u * u / 192;
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22) by the modified method of
 * Lentz; x below (a + 1) / (a + b
 * + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300, precision = 1e-15;
    const int most = 100000; /* about sqrt(a) terms are needed; this exceeds any text's needs */
    double c = 1, d = 1 - (a + b) * x / (a + 1), value;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    value = d;
    for (int m = 1; m < most; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
               odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double before = value;
        for (int i = 0; i < 2; i++) {
            double term = i ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            value *= c * d;
        }
        if (fabs(value - before) <= precision * fabs(value))
            break;
    }
    return value;
}

double student_two_sided(double t, double degrees)
{
    double a = degrees / 2, square = t * t / degrees, x = 1 / (1 + square),
           y = square / (1 + square); /* y = 1 - x without rounding */
    if (!(t == t && degrees > 0))
        return NAN;
    if (t == 0)
        return 1;
    if (isinf(square))
        return 0;
    /* x^a y^(1/2) / B(a, 1/2), B(a, 1/2) = Gamma(a) sqrt(pi) / Gamma(a + 1/2) */
    double front = exp(-a * log1p(square) + 0.5 * log(y) + log_half_step(a)) / sqrt(M_PI);
    if (x < (a + 1) / (a + 2.5))
        return front / a * beta_fraction(a, 0.5, x);
    return 1 - 2 * front * beta_fraction(0.5, a, y);
}
