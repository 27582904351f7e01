/* Checks that another rank belongs to the same run. */
#include "run/erf/deal_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line that differs, from each text: at most `size` bytes. */
static void differing_lines(char *here, char *there, size_t size, const char *a, const char *b)
{
    while (*a && *a == *b) {
        const char *line = a;

        a += strcspn(a, "\n");
        if (strncmp(line, b, (size_t)(a - line) + 1) != 0) {
            a = line;
            break;
        }
        b += a - line + (*a != 0);
        a += *a != 0;
    }
    snprintf(here, size, "%.*s", (int)strcspn(a, "\n"), a);
    snprintf(there, size, "%.*s", (int)strcspn(b, "\n"), b);
}

int deal_compare(const char *settings, const struct ranks_message *m, struct error *e)
{
    char here[160], there[160], *text = strndup(m->data ? (const char *)m->data : "", m->bytes);
    int rc = 0;

    if (!text)
        return fail_memory(e, (double)m->bytes, "settings");
    if (strcmp(text, settings) != 0) {
        differing_lines(here, there, sizeof here, settings, text);
        rc = fail(e,
                  "rank %d has \"%s\" where rank 0 has \"%s\" (expected the same files, options "
                  "and kind of machine)",
                  m->from, there, here);
    }
    free(text);
    return rc;
}
