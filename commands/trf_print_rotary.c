/* What `reach trf` prints of rotary positions. */
#include "commands/trf.h"

#include <stdio.h>

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
        printf("at least 0 at every distance below %llu%s, proved\n", at, x->spent ? ", where the effort was spent" : "");
        return;
    case ROTARY_TIE: printf("at least 0 at every distance below %llu, proved; there it cannot be told from 0", at); break;
    case ROTARY_BELOW: printf("first below 0 at distance %llu, proved", at); break;
    }
    if (window)
        printf(", %s the window of %ld", at < (unsigned long long)window ? "within" : "beyond", window);
    if (trained)
        printf("%s %s the training length of %ld", window ? " and" : ",", at < (unsigned long long)trained ? "within" : "beyond",
               trained);
    putchar('\n');
}

void trf_print_rotary(const struct trf_run *r, int argument, int bias)
{
    for (int i = 0; i < r->rotary_count; i++)
        if (r->rotaries[i].argument == argument && r->rotaries[i].bias == bias)
            print_one(r, &r->rotaries[i]);
}
