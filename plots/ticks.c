/* Ticks of axes: as many as fit. */
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TICKS_MAX = 96, APART = 6, LINE_HEIGHT = 22, FEW = 3 };

struct ticks {
    const struct axis *axis;
    double value[TICKS_MAX], at[TICKS_MAX],
        half[TICKS_MAX]; /* ascending; places, half widths in units */
    int count;
};

static double place_of(const struct axis *a, double value)
{
    return a->size * (a->logarithmic ? log(value / a->low) / log(a->high / a->low)
                                     : (value - a->low) / (a->high - a->low));
}

/* "1000", and 10^5 for long powers. */
static int label_of(char *text, size_t size, double value)
{
    double power = log10(value);

    if (value >= 99999 && fabs(power - floor(power + 0.5)) < 1e-9)
        return snprintf(text, size, "10^{%.0f}", power);
    return snprintf(text, size, "%.10g", value);
}

/* 1 for a label from label_of that is a power. */
static int is_power(const char *text)
{
    return strncmp(text, "10^", 3) == 0;
}

static double half_width(const struct axis *a, double value)
{
    char text[40];

    if (a->name != 'x')
        return LINE_HEIGHT / 2.0;
    label_of(text, sizeof text, value);
    if (is_power(text)) /* braces are invisible, and the power is smaller */
        return (text_width("10") + 0.8 * text_width(text + 4) + APART) / 2;
    return (text_width(text) + APART) / 2;
}

/* 1 if a label at the value does not overlap the others. */
static int has_room(const struct ticks *t, double value)
{
    double at = place_of(t->axis, value), half = half_width(t->axis, value);

    for (int i = 0; i < t->count; i++)
        if (fabs(t->at[i] - at) < t->half[i] + half)
            return 0;
    return 1;
}

static void add(struct ticks *t, double value)
{
    const struct axis *a = t->axis;
    int i = t->count;

    if (value < a->low * (1 - 1e-9) || value > a->high * (1 + 1e-9) || t->count == TICKS_MAX ||
        !has_room(t, value))
        return;
    for (; i > 0 && t->value[i - 1] > value; i--)
        t->value[i] = t->value[i - 1], t->at[i] = t->at[i - 1], t->half[i] = t->half[i - 1];
    t->value[i] = value, t->at[i] = place_of(a, value), t->half[i] = half_width(a, value);
    t->count++;
}

/* 1 if labels at the powers of ten times each of the leading digits do not overlap. */
static int all_have_room(const struct axis *a, const double *leading, int count, double every)
{
    double before = 0;

    for (double power = pow(10, floor(log10(a->low))); power <= a->high; power *= every)
        for (int i = 0; i < count; i++) {
            double value = power * leading[i];

            if (value < a->low || value > a->high)
                continue;
            if (before > 0 && place_of(a, value) - place_of(a, before) <
                                  half_width(a, value) + half_width(a, before))
                return 0;
            before = value;
        }
    return 1;
}

static void add_logarithmic(struct ticks *t)
{
    static const double leading[][7] = {{1, 1.5, 2, 3, 4, 5, 7}, {1, 2, 5}, {1}};
    static const int counts[] = {7, 3, 1};
    const struct axis *a = t->axis;
    double every = 10;
    int set = 0;

    while (set < 2 && !all_have_room(a, leading[set], counts[set], 10))
        set++;
    while (set == 2 && every < 1e30 && !all_have_room(a, leading[2], 1, every))
        every *= 10;
    if (set == 0 && a->high / a->low > 30)
        set = 1; /* enough, even with more room */
    for (double power = pow(10, floor(log10(a->low))); power <= a->high; power *= every)
        for (int i = 0; i < counts[set]; i++)
            add(t, power * leading[set][i]);
}

/* Multiples of a round step. */
static void add_linear(struct ticks *t)
{
    const struct axis *a = t->axis;
    double range = a->high - a->low, widest = half_width(a, a->high < 10 ? 0.5 : floor(a->high)),
           most = fmin(10, fmax(2, a->size / (2 * widest + 14))), step;

    step = pow(10, floor(log10(range / most)));
    while (range / step > most)
        step *= range / (2 * step) <= most ? 2 : range / (5 * step) <= most ? 5 : 10;
    while (floor(a->high / step) <= ceil(a->low / step)) /* a single multiple shows no scale */
        step *= step / pow(10, floor(log10(step) + 1e-9)) > 4 ? 0.4 : 0.5;
    for (double k = ceil(a->low / step - 1e-9); k * step <= a->high * (1 + 1e-9); k++)
        add(t, k * step + 0.0); /* avoids minus zero */
}

static void write_ticks(struct script *s, const struct ticks *t)
{
    char text[40];

    fprintf(s->plot, "set %c%stics format \"%%g\" enhanced (", t->axis->name,
            t->axis->name == 'c' ? "b" : "");
    for (int i = 0; i < t->count; i++) {
        label_of(text, sizeof text, t->value[i]);
        fprintf(s->plot, is_power(text) ? "%sm(\"%s\") %.10g" : "%s\"%s\" %.10g", i ? ", " : "",
                text, t->axis->of_logarithms ? log(t->value[i]) : t->value[i]);
    }
    fputs(")\n", s->plot);
}

/* 1 if there are distinguishable numbers between the ends, for steps from end to end. */
static int has_numbers(const struct axis *a)
{
    return isfinite(a->high - a->low) &&
           a->high - a->low > fmax(1e-12 * fmax(fabs(a->low), fabs(a->high)), 1e-300) &&
           (!a->logarithmic || a->low > 1e-300);
}

void ticks_round(struct script *s, const struct axis *a, double last)
{
    struct ticks t = {.axis = a};

    if (has_numbers(a)) {
        if (last > 0)
            add(&t, last);
        if (a->low == 1)
            add(&t, 1);
        if (a->logarithmic)
            add_logarithmic(&t);
        if (!a->logarithmic || t.count < FEW)
            add_linear(&t);
    }
    write_ticks(s, &t);
}

void ticks_at(struct script *s, const struct axis *a, const double *values, size_t count)
{
    struct ticks t = {.axis = a};

    for (size_t i = 0; i < count; i++)
        add(&t, values[i]);
    write_ticks(s, &t);
}
