/* Ticks of axes, all of one kind: as many as fit. */
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TICKS_MAX = 96,
    APART = 6,
    LINE_HEIGHT = 22,
    RAISED = 8, /* what an exponent adds to it */
    FEW = 2,
    LONGEST = 6,
    MINOR_ROOM = 26,
    DECADES = 12, /* more labels of powers show no more */
    MANY = 9999
};

struct ticks {
    const struct axis *axis;
    int powers; /* 1: powers of ten are labelled as such, since some would be long */
    int decimals; /* of labels; -1: as each needs */
    double value[TICKS_MAX], at[TICKS_MAX],
        half[TICKS_MAX]; /* ascending; places, half widths in units */
    int count;
};

struct axis axis_linear(char name, double low, double high, double size)
{
    return (struct axis){.name = name, .low = low, .high = high, .size = size};
}

struct axis axis_logarithmic(char name, double low, double high, double size)
{
    return (struct axis){.name = name, .low = low, .high = high, .size = size, .logarithmic = 1};
}

double axis_place(const struct axis *a, double value)
{
    return a->size * (a->logarithmic ? log(value / a->low) / log(a->high / a->low)
                                     : (value - a->low) / (a->high - a->low));
}

static int is_power(double value)
{
    double power = log10(value);

    return fabs(power - floor(power + 0.5)) < 1e-9;
}

static double width_of(const struct ticks *t, double value)
{
    char text[40];

    if (t->powers && is_power(value)) { /* the power is smaller */
        snprintf(text, sizeof text, "%.0f", fabs(log10(value)));
        return text_width("10") + 0.8 * (text_width(text) + (value < 1 ? text_width("+") : 0));
    }
    if (t->decimals < 0)
        snprintf(text, sizeof text, "%.10g", fabs(value));
    else
        snprintf(text, sizeof text, "%.*f", t->decimals, fabs(value));
    return text_width(text) + (value < 0 ? text_width("+") : 0);
}

static double half_width(const struct ticks *t, double value)
{
    return t->axis->name == 'x' ? (width_of(t, value) + APART) / 2
                                : (LINE_HEIGHT + (t->powers ? RAISED : 0)) / 2.0;
}

/* 1 if a label at the value does not overlap the others. */
static int has_room(const struct ticks *t, double value)
{
    double at = axis_place(t->axis, value), half = half_width(t, value);

    for (int i = 0; i < t->count; i++)
        if (fabs(t->at[i] - at) < t->half[i] + half)
            return 0;
    return 1;
}

static void add(struct ticks *t, double value)
{
    const struct axis *a = t->axis;
    int i = t->count;

    if (value < a->low - 1e-9 * fabs(a->low) || value > a->high + 1e-9 * fabs(a->high) ||
        t->count == TICKS_MAX || !has_room(t, value))
        return;
    for (; i > 0 && t->value[i - 1] > value; i--)
        t->value[i] = t->value[i - 1], t->at[i] = t->at[i - 1], t->half[i] = t->half[i - 1];
    t->value[i] = value, t->at[i] = axis_place(a, value), t->half[i] = half_width(t, value);
    t->count++;
}

/* 1 if labels at the powers of ten times each of the leading digits do not overlap. */
static int all_have_room(const struct ticks *t, const double *leading, int count, double every)
{
    const struct axis *a = t->axis;
    double before = 0;

    for (double power = pow(10, floor(log10(a->low))); power <= a->high; power *= every)
        for (int i = 0; i < count; i++) {
            double value = power * leading[i];

            if (value < a->low || value > a->high)
                continue;
            if (before > 0 && axis_place(a, value) - axis_place(a, before) <
                                  half_width(t, value) + half_width(t, before))
                return 0;
            before = value;
        }
    return 1;
}

/* 1 if a power of ten within the axis has a long label: then all are written as powers. */
static int has_long_label(const struct axis *a)
{
    return a->high >= 0.99999 * pow(10, LONGEST) || a->low < 1.00001 * pow(10, 1 - LONGEST);
}

/* Returns the factor between labelled powers of ten if only they are labelled, else 0. */
static double add_logarithmic(struct ticks *t)
{
    static const double leading[][7] = {{1, 1.5, 2, 3, 4, 5, 7}, {1, 2, 5}, {1, 3}, {1}};
    enum { SETS = 4, ALONE = SETS - 1 };
    static const int counts[SETS] = {7, 3, 2, 1};
    const struct axis *a = t->axis;
    double every = 10;
    int set = 0;

    t->powers = has_long_label(a) && a->high >= 1000 * a->low;
    while (set < ALONE && !all_have_room(t, leading[set], counts[set], 10))
        set++;
    while (set == ALONE && every < 1e30 &&
           (!all_have_room(t, leading[ALONE], 1, every) || a->high > a->low * pow(every, DECADES)))
        every *= 10;
    if (set == 0 && a->high / a->low > 30)
        set = 1; /* enough, even with more room */
    if (t->powers || a->high >= MANY * a->low)
        set = ALONE; /* with ticks without labels between them */
    for (double power = pow(10, floor(log10(a->low))); power <= a->high; power *= every)
        for (int i = 0; i < counts[set]; i++)
            add(t, power * leading[set][i]);
    return set == ALONE ? every : 0;
}

/* Multiples of a round step. */
static void add_linear(struct ticks *t)
{
    const struct axis *a = t->axis;
    double range = a->high - a->low,
           widest = half_width(t, a->high < 10 && !a->whole ? 0.5 : floor(a->high)),
           most = fmin(10, fmax(2, a->size / (2 * widest + (a->whole ? APART : 14)))), step;

    step = pow(10, floor(log10(range / most)));
    while (range / step > most)
        step *= range / (2 * step) <= most ? 2 : range / (5 * step) <= most ? 5 : 10;
    while (floor(a->high / step) <= ceil(a->low / step)) /* a single multiple shows no scale */
        step *= step / pow(10, floor(log10(step) + 1e-9)) > 4 ? 0.4 : 0.5;
    if (a->whole)
        step = ceil(step - 1e-9);
    else if (!a->logarithmic && step > 1e-6)
        t->decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    for (double k = ceil(a->low / step - 1e-9); k * step <= a->high + 1e-9 * range; k++)
        add(t, k * step + 0.0); /* avoids minus zero */
}

/* gnuplot's name of an axis and of its ticks. */
static const char *name_of(const struct axis *a)
{
    return a->name == 'x' ? "x" : a->name == 'y' ? "y" : a->name == 'c' ? "cb" : "y2";
}

static double tick_at(const struct axis *a, double value)
{
    return a->of_logarithms ? log(value) : value;
}

/* The label as an expression of gnuplot, see plots/script.h. */
static void write_label(FILE *f, const struct ticks *t, double value)
{
    const char *before = value < 0 ? "negative(" : "", *after = value < 0 ? ")" : "";

    if (t->axis->bare)
        fputs("\"\"", f);
    else if (t->powers && is_power(value))
        fprintf(f, "power(%.0f)", log10(value));
    else if (t->decimals < 0)
        fprintf(f, "%s\"%.10g\"%s", before, fabs(value), after);
    else
        fprintf(f, "%s\"%.*f\"%s", before, t->decimals, fabs(value), after);
}

/* `every`: of add_logarithmic; ticks without labels are between those of single decades. */
static void write_ticks(struct script *s, const struct ticks *t, double every)
{
    const struct axis *a = t->axis;
    const char *comma = "";

    fprintf(s->plot, "set %stics format \"%%g\" enhanced (", name_of(a));
    for (int i = 0; i < t->count; i++, comma = ", ") {
        fputs(comma, s->plot);
        write_label(s->plot, t, t->value[i]);
        fprintf(s->plot, " %.10g", tick_at(a, t->value[i]));
    }
    for (double power = pow(10, floor(log10(a->low)));
         every == 10 && power < a->high && axis_place(a, 10 * a->low) >= MINOR_ROOM; power *= 10)
        for (int k = 2; k < 10; k++)
            if (k * power > a->low && k * power < a->high) {
                fprintf(s->plot, "%s\"\" %.10g 1", comma, tick_at(a, k * power));
                comma = ", ";
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
    struct ticks t = {.axis = a, .decimals = -1};
    double every = 0;

    if (has_numbers(a)) {
        if (last > 0)
            add(&t, last);
        if (a->low == 1)
            add(&t, 1);
        if (a->logarithmic)
            every = add_logarithmic(&t);
        if (!a->logarithmic || (t.count < FEW && !t.powers))
            add_linear(&t);
    }
    write_ticks(s, &t, every);
}

void ticks_at(struct script *s, const struct axis *a, const double *values, size_t count)
{
    struct ticks t = {.axis = a, .decimals = -1};

    for (size_t i = 0; i < count; i++)
        add(&t, values[i]);
    write_ticks(s, &t, 0);
}

void ticks_named(struct script *s, const struct axis *a, const double *at, const double *names,
                 size_t count)
{
    struct ticks t = {.axis = a, .decimals = -1};
    const char *comma = "";

    fprintf(s->plot, "set %stics format \"%%g\" (", name_of(a));
    for (size_t i = 0; i < count; i++) {
        int before = t.count;

        add(&t, at[i]);
        if (t.count > before) {
            fprintf(s->plot, "%s\"%.10g\" %.10g", comma, names[i], tick_at(a, at[i]));
            comma = ", ";
        }
    }
    fputs(")\n", s->plot);
}
