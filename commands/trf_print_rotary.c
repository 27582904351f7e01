/* What `reach trf` prints of rotary positions. */
#include "commands/screen.h"
#include "commands/trf.h"

#include <math.h>
#include <stdio.h>

/* The slowest pair: the distances for which the base is large enough. */
static void print_slowest(const struct trf_run *r, const struct trf_rotary *x)
{
    long trained = trf_train_length(r, x->argument);

    if (x->slowest == 0)
        return;
    screen_say("slowest pair (arXiv:2602.10959): a radian in %.6g tokens", 1 / x->slowest);
    if (x->slow.quarter)
        screen_say(", past a quarter of a turn from distance %llu on",
                   (unsigned long long)x->slow.quarter);
    if (x->slow.whole)
        screen_say(", past a whole one from %llu on", (unsigned long long)x->slow.whole);
    screen_say("%s", x->slow.quarter ? ", proved" : "");
    screen_say("%s\n",
               x->slowest < 0x1p-23 ? "; a step of it is below 2^-23, the precision of float" : "");
    if (trained) {
        double cosine = cos((double)trained * x->slowest);

        screen_say("  its cosine at the training length of %ld: %.4g", trained, cosine);
        if (x->layers > 1 && cosine > 0)
            screen_say(", in %d layers its power %.4g", x->layers, pow(cosine, x->layers));
        screen_say("\n");
    }
    if (x->slow.incoherent)
        screen_say(
            "  its cosine to the power of %d layer%s: below %s from distance %llu on, proved\n",
            x->layers, x->layers == 1 ? "" : "s", r->options->coherence,
            (unsigned long long)x->slow.incoherent);
}

static void print_one(const struct trf_run *r, const struct trf_rotary *x)
{
    const struct formula_argument *a = &r->arguments[x->argument];
    long trained = trf_train_length(r, x->argument), window = a->set.biases[x->bias].window;
    unsigned long long at = x->found.at;
    const struct rotary *turned = &a->set.biases[x->bias].rotary;

    screen_say("sum of the cosines of %d pair%s", x->turned, x->turned == 1 ? "" : "s");
    if (x->still > 0)
        screen_say(" and %g pairs that are not turned", x->still);
    if (x->inputs > 0 && x->inputs <= turned->limit)
        screen_say(", with up to %.0f inputs", x->inputs);
    else if (x->inputs > 0)
        screen_say(", with %s%.0f inputs", turned->beyond ? "at least " : "", x->inputs);
    screen_say(" (arXiv:2405.14591): ");
    switch (x->found.verdict) {
    case ROTARY_NEVER_BELOW: screen_say("never below 0, as each cosine is at least -1\n"); return;
    case ROTARY_NOT_BELOW:
        screen_say("at least 0 at every distance below %llu%s, proved\n", at,
                   x->spent ? " (where the effort ended)" : "");
        return;
    case ROTARY_TIE:
        screen_say(
            "at least 0 at every distance below %llu, proved; there it is indistinguishable from 0",
            at);
        break;
    case ROTARY_BELOW: screen_say("first below 0 at distance %llu, proved", at); break;
    }
    if (window)
        screen_say(", %s the window of %ld", at < (unsigned long long)window ? "within" : "beyond",
                   window);
    if (trained)
        screen_say("%s %s the training length of %ld", window ? " and" : ",",
                   at < (unsigned long long)trained ? "within" : "beyond", trained);
    screen_say("\n");
}

void trf_print_rotary(const struct trf_run *r, int argument, int bias)
{
    for (int i = 0; i < r->rotary_count; i++)
        if (r->rotaries[i].argument == argument && r->rotaries[i].bias == bias) {
            print_one(r, &r->rotaries[i]);
            print_slowest(r, &r->rotaries[i]);
        }
}
