/* Whether an answer begins with a blank that nobody wrote. */
#include "run/explain/parts.h"

#include "page/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 }; /* columns of an answer in a message */

int explain_may_take_blank(const struct explainer *x, const char *prompt, const char *answer)
{
    size_t size = strlen(prompt);

    return x->reading.tokenizer && size && *answer && !is_white(prompt[size - 1]) &&
           !is_white(*answer);
}

/* A scorer for texts of so many inputs; it stays for other lines as long as its room is enough. */
static int make_room(struct explainer *x, size_t inputs, struct error *e)
{
    size_t limit = (size_t)fmax(0, decoder_limit(x->decoder)),
           most = x->blank ? 2 * x->blank->most : 0;

    if (x->blank && x->blank->most >= inputs)
        return 0;
    most = limit && most > limit ? limit : most;
    explain_close_blank(x);
    x->blank = calloc(1, sizeof *x->blank);
    if (!x->blank)
        return fail_memory(e, sizeof *x->blank, "the readings of an answer");
    return explainer_kernels(x, e) != 0 || scorer_open(x->blank, x, most > inputs ? most : inputs,
                                                       "the readings of an answer", e) != 0
               ? -1
               : 0;
}

int explain_choose_blank(int *taken, struct explainer *x, const int32_t *plain, size_t plain_total,
                         const int32_t *spaced, size_t spaced_total, size_t inputs, struct error *e)
{
    double without, with;
    struct scorer *s;

    if (make_room(x, (plain_total > spaced_total ? plain_total : spaced_total) - 1, e) != 0)
        return -1;
    s = x->blank;
    if (scorer_sum(s, &with, spaced, spaced_total - 1, spaced_total - inputs, e) != 0 ||
        scorer_sum(s, &without, plain, plain_total - 1, plain_total - inputs, e) != 0)
        return -1;
    *taken = with > without;
    return 0;
}

int explain_tell_blank(struct explainer *x, const char *answer, int taken, struct error *e)
{
    char *text;

    if (x->options->prompts) {
        x->blanks_tried++;
        return 0;
    }
    if (!(text = show_cut(answer, SHOWN)))
        return fail_memory(e, (double)strlen(answer), "an answer");
    progress_message(x->progress,
                     "--answer %s: \"%s%s\" is taken, the likelier of those with and without a "
                     "blank before it",
                     text, taken ? " " : "", text);
    free(text);
    return 0;
}

void explain_close_blank(struct explainer *x)
{
    if (x->blank)
        scorer_close(x->blank);
    free(x->blank);
    x->blank = NULL;
}
