/* The tokens of a page. */
#include "page/escape.h"
#include "page/explain.h"
#include "page/report.h"

#include <string.h>

/* Tokens of a block: it ends with the first after BLOCK_LEAST that ends a line, else with a blank,
 * else after BLOCK_MOST. */
enum { BLOCK_LEAST = 256, BLOCK_BLANK = 448, BLOCK_MOST = 512 };

/* The start of the last line of the token's text, after the end of another; 0: it ends no line. */
static size_t last_line(const char *text, size_t size)
{
    const char *end = memrchr(text, '\n', size);

    return end ? (size_t)(end - text) + 1 : 0;
}

static size_t block_end(const struct explanation *x, size_t first)
{
    size_t i = first;

    for (; i < x->count; i++) {
        size_t length = i - first + 1, size;
        const char *text = texts_find(x->pieces, x->id[i], &size);

        if (length >= BLOCK_MOST || (length >= BLOCK_LEAST && text && last_line(text, size)) ||
            (length >= BLOCK_BLANK && size && text[size - 1] == ' '))
            return i + 1;
    }
    return i;
}

/* One element with (a part of) a token. */
static void put_element(FILE *f, char element, int shade, const char *text, size_t size)
{
    if (shade)
        fprintf(f, "<%c class=%c>", element, 'a' + shade - 1);
    else
        fprintf(f, "<%c>", element);
    html_piece(f, text, size);
    fprintf(f, "</%c>", element);
}

/* A token is an <i>, the target a <b>. If the last token of a block continues after a line end, the
 * rest is in the next block, as an <s>. */
static void put_block(FILE *f, const struct explanation *x, size_t first, size_t end)
{
    char room[16];
    size_t size, cut;
    const char *text;

    if (first) {
        text = explanation_piece(x, x->id[first - 1], &size, room);
        cut = last_line(text, size);
        if (cut && cut < size)
            put_element(f, 's', explanation_shade(x, first - 1), text + cut, size - cut);
    }
    for (size_t i = first; i < end; i++) {
        text = explanation_piece(x, x->id[i], &size, room);
        cut = i + 1 == end && end < x->count ? last_line(text, size) : 0;
        put_element(f, 'i', explanation_shade(x, i), text, cut ? cut : size);
    }
    if (end == x->count) {
        text = explanation_piece(x, x->id[end], &size, room);
        put_element(f, 'b', 0, text, size);
    }
}

void page_text(FILE *f, const struct explanation *x)
{
    for (size_t first = 0, end; first < x->count; first = end) {
        double share = 0;

        end = block_end(x, first);
        for (size_t i = first; i < end; i++)
            share += x->share[i];
        fprintf(f, "<section id=p%zu><p class=n title=\"%ss %zu to %zu: %.2f %%\">%zu</p><pre>",
                first + 1, explanation_unit(x), first + 1, end, 100 * share, first + 1);
        put_block(f, x, first, end);
        fputs("</pre></section>\n", f);
    }
}

void report_shaded(FILE *f, const struct explanation *x, size_t most)
{
    char room[16];
    size_t size;
    const char *text;

    fputs("<pre class=shaded>", f);
    for (size_t i = x->count > most ? x->count - most : 0; i < x->count; i++) {
        text = explanation_piece(x, x->id[i], &size, room);
        put_element(f, 'i', explanation_shade(x, i), text, size);
    }
    text = explanation_piece(x, x->target.id, &size, room);
    put_element(f, 'b', 0, text, size);
    fputs("</pre>\n", f);
}
