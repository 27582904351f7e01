/* What `reach ppl --gain` says of a model in a sentence, on the screen and in a report. */
#include "commands/ppl.h"

#include <stdio.h>
#include <stdlib.h>

char *gain_sentence(const struct gain_needs *n)
{
    char *text = NULL;
    int rc;

    if (n->best < n->longest)
        rc = asprintf(&text,
                      "the longest context makes it worse: the best is %.0f tokens, not %.0f",
                      n->best, n->longest);
    else if (n->half >= n->longest)
        rc = asprintf(&text, "more than half of the targets need more than %.0f tokens of context",
                      n->shorter);
    else if (n->most >= n->longest)
        rc = asprintf(&text,
                      "half of the targets need no more than %.0f tokens of context, more than a "
                      "tenth need more than %.0f",
                      n->half, n->shorter);
    else if (n->most == n->half)
        rc = asprintf(&text, "nine tenths of the targets need no more than %.0f tokens of context",
                      n->most);
    else
        rc = asprintf(&text,
                      "half of the targets need no more than %.0f tokens of context, nine tenths "
                      "no more than %.0f",
                      n->half, n->most);
    return rc < 0 ? NULL : text;
}
