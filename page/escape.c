#include "page/escape.h"

#include "io/glyph.h"

#include <string.h>

/* One character; these four can end a text or an attribute, or start something else. */
static void put(FILE *f, const char *character)
{
    switch (*character) {
    case '&': fputs("&amp;", f); break;
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '"': fputs("&quot;", f); break;
    case '\'': fputs("&#39;", f); break;
    default: fputs(character, f);
    }
}

void html_begin(FILE *f, const char *version, const char *permitted)
{
    fprintf(f,
            "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta name=viewport "
            "content=\"width=device-width, "
            "initial-scale=1\">\n<meta name=color-scheme content=\"light dark\">\n<meta "
            "http-equiv=Content-Security-Policy "
            "content=\"default-src 'none'; style-src 'unsafe-inline'; %s; base-uri 'none'; "
            "form-action 'none'\">\n<meta "
            "name=generator content=\"reach ",
            permitted);
    html_text(f, version);
    fputs("\">\n", f);
}

void html_text(FILE *f, const char *text)
{
    struct glyph g;

    for (size_t size = strlen(text), i = 0; i < size;) {
        i += glyph_next(&g, text + i, size - i);
        put(f, g.text);
    }
}

void html_piece(FILE *f, const char *bytes, size_t size)
{
    struct glyph g;

    for (size_t i = 0; i < size;) {
        const char *at = bytes + i;

        i += glyph_next(&g, at, size - i);
        if (g.newline)
            fputs("<u class=r></u>\n", f);
        else if (*at == '\t')
            fputc('\t', f);
        else if (g.spelt)
            fprintf(f, "<u>%s</u>", g.text);
        else
            put(f, g.text);
    }
}
