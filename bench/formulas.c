/* What a question costs: of each formula of a list the verdict, the sum and the field for an
 * epsilon of 0.01, of the first of 8 heads where it depends on the head.
 *
 *   formulas LIST [-v]
 *
 * LIST has a formula a line; lines that begin with # are comments. Prints how many have which
 * verdict and field, and the slowest ten, with seconds of processor time and counted work
 * (analyze/series/proof/budget.h). Fails if one has more work than the cap: counted work is the
 * same on every machine, seconds are not. -v: a line for each formula. */
#include "analyze/series/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* At most ten seconds at 2.5 GHz, where a unit of work takes 0.04 to 0.065 microseconds. */
static const double CAP = 1.55e8;
enum { SHOWN = 10 };
enum kind { EXACT, INTERVAL, OPEN, DIVERGES, UNDECIDED, REFUSED, KINDS };

static const char *const KIND[KINDS] = {"exact field", "interval",  "no upper end",
                                        "diverges",    "undecided", "refused"};

struct asked {
    char *formula;
    enum kind kind;
    double seconds, work;
};

static enum kind kind_of(const struct series *s)
{
    struct formula_error e;
    struct series_count c;
    if (series_verdict(s) != SERIES_CONVERGES)
        return series_verdict(s) == SERIES_DIVERGES ? DIVERGES : UNDECIDED;
    if (series_trf(s, "0.01", &c, &e))
        return REFUSED;
    enum kind kind = series_count_exact(&c) ? EXACT : isfinite(c.log10_hi) ? INTERVAL : OPEN;
    series_count_free(&c);
    return kind;
}

static void ask(struct asked *a)
{
    struct formula_error e;
    clock_t start = clock();
    struct formula *f = formula_parse(a->formula, &e);
    struct series *s =
        f ? series_open(f, &(struct formula_point){.h = 1, .heads = 8, .head_size = 64}, &e) : NULL;
    a->kind = s ? kind_of(s) : REFUSED;
    a->work = s ? s->summand[0]->budget.done : 0;
    series_free(s);
    formula_free(f);
    a->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const struct asked *)a)->seconds, y = ((const struct asked *)b)->seconds;
    return (x < y) - (x > y);
}

static void show(const struct asked *a)
{
    printf("%7.2f s %7.1f million  %s: %s\n", a->seconds, a->work / 1e6, KIND[a->kind], a->formula);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
    struct asked *all = NULL;
    char *line = NULL;
    size_t size = 0;
    int count = 0, of_kind[KINDS] = {0}, beyond = 0;
    double seconds = 0, work = 0;

    if (!file) {
        fprintf(stderr, "usage: formulas LIST [-v]\n");
        return 2;
    }
    while (getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || !*line)
            continue;
        all = realloc(all, (size_t)(count + 1) * sizeof *all);
        if (!all || !(all[count] = (struct asked){.formula = strdup(line)}).formula)
            abort();
        ask(&all[count]);
        of_kind[all[count].kind]++;
        beyond += all[count].work > CAP;
        seconds += all[count].seconds;
        work += all[count].work;
        if (argc > 2)
            show(&all[count]);
        count++;
    }
    qsort(all, (size_t)count, sizeof *all, by_seconds);
    printf("%d formulas: %.0f s, %.0f million of work\n", count, seconds, work / 1e6);
    for (int k = 0; k < KINDS; k++)
        printf("%s%d %s", k ? ", " : "", of_kind[k], KIND[k]);
    printf("\nthe slowest, in seconds of processor time and counted work (at most %.0f million):\n",
           CAP / 1e6);
    for (int i = 0; i < count; i++)
        if (i < SHOWN || all[i].work > CAP)
            show(&all[i]);
    if (beyond)
        printf("%d formulas have more work than that\n", beyond);
    for (int i = 0; i < count; i++)
        free(all[i].formula);
    free(all);
    free(line);
    fclose(file);
    return count == 0 || beyond > 0;
}
