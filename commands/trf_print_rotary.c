/* What `reach trf` prints of rotary positions. */
#include "commands/trf.h"

#include <math.h>
#include <stdio.h>

/* The slowest pair: the distances for which the base is large enough. */
static void print_slowest(const struct trf_run *r, const struct trf_rotary *x)
{
    long trained = trf_train_length(r, x->argument);

    if (x->slowest == 0)
        return;
    printf("slowest pair (arXiv:2602.10959): a radian in %.6g tokens", 1 / x->slowest);
    if (x->slow.quarter)
        printf(", past a quarter of a turn from distance %llu on",
               (unsigned long long)x->slow.quarter);
    if (x->slow.whole)
        printf(", past a whole one from %llu on", (unsigned long long)x->slow.whole);
    fputs(x->slow.quarter ? ", proved" : "", stdout);
    puts(x->slowest < 0x1p-23 ? "; a step of it is below 2^-23, the precision of float" : "");
    if (trained) {
        double cosine = cos((double)trained * x->slowest);

        printf("  its cosine at the training length of %ld: %.4g", trained, cosine);
        if (x->layers > 1 && cosine > 0)
            printf(", in %d layers its power %.4g", x->layers, pow(cosine, x->layers));
        putchar('\n');
    }
    if (x->slow.incoherent)
        printf("  its cosine to the power of %d layer%s: below %s from distance %llu on, proved\n",
               x->layers, x->layers == 1 ? "" : "s", r->options->coherence,
               (unsigned long long)x->slow.incoherent);
}

static void print_one(const struct trf_run *r, const struct trf_rotary *x)
{
    const struct formula_argument *a = &r->arguments[x->argument];
    long trained = trf_train_length(r, x->argument), window = a->set.biases[x->bias].window;
    unsigned long long at = x->found.at;
    const struct rotary *turned = &a->set.biases[x->bias].rotary;

    printf("sum of the cosines of %d pair%s", x->turned, x->turned == 1 ? "" : "s");
    if (x->still > 0)
        printf(" and %g pairs that are not turned", x->still);
    if (x->inputs > 0 && x->inputs <= turned->limit)
        printf(", with up to %.0f inputs", x->inputs);
    else if (x->inputs > 0)
        printf(", with %s%.0f inputs", turned->beyond ? "at least " : "", x->inputs);
    fputs(" (arXiv:2405.14591): ", stdout);
    switch (x->found.verdict) {
    case ROTARY_NEVER_BELOW: puts("never below 0, as each cosine is at least -1"); return;
    case ROTARY_NOT_BELOW:
        printf("at least 0 at every distance below %llu%s, proved\n", at,
               x->spent ? " (where the effort ended)" : "");
        return;
    case ROTARY_TIE:
        printf(
            "at least 0 at every distance below %llu, proved; there it is indistinguishable from 0",
            at);
        break;
    case ROTARY_BELOW: printf("first below 0 at distance %llu, proved", at); break;
    }
    if (window)
        printf(", %s the window of %ld", at < (unsigned long long)window ? "within" : "beyond",
               window);
    if (trained)
        printf("%s %s the training length of %ld", window ? " and" : ",",
               at < (unsigned long long)trained ? "within" : "beyond", trained);
    putchar('\n');
}

void trf_print_rotary(const struct trf_run *r, int argument, int bias)
{
    for (int i = 0; i < r->rotary_count; i++)
        if (r->rotaries[i].argument == argument && r->rotaries[i].bias == bias) {
            print_one(r, &r->rotaries[i]);
            print_slowest(r, &r->rotaries[i]);
        }
}
