#include "page/report.h"

#include "page/escape.h"

#include <string.h>

static const char style[] =
#include "page/page.css.inc"
#include "page/shades.css.inc"
#include "page/report.css.inc"
    ;

void report_text(FILE *f, const char *name, const char *text)
{
    fprintf(f, "<%s>", name);
    html_text(f, text);
    fprintf(f, "</%.*s>\n", (int)strcspn(name, " "), name);
}

void report_begin(FILE *f, const char *title, const char *version)
{
    html_begin(f, version, "img-src data:"); /* in pictures */
    report_text(f, "title", title);
    fprintf(f,
            "<style>\n%s</style>\n</head>\n<body>\n<a class=skip href=\"#s1\">Skip to the "
            "results</a>\n<header>\n",
            style);
    report_text(f, "h1", title);
}

void report_end(FILE *f, const char *command, const char *version)
{
    fputs("</main>\n<footer><p>Made by reach ", f);
    html_text(f, version);
    fputs(" with</p>\n", f);
    report_text(f, "pre", command);
    fputs("</footer>\n</body>\n</html>\n", f);
}

/* 1 if a name of the picture starts here, defined or referred to. */
static int is_name(const char *begin, const char *at)
{
    static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};

    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t length = strlen(before[i]);

        if ((size_t)(at - begin) > length && strncmp(at - length, before[i], length) == 0)
            return 1;
    }
    return 0;
}

void report_figure(FILE *f, const char *caption, const char *svg, size_t number)
{
    const char *begin = strstr(svg, "<svg");
    int in_tag = 0;

    fputs("<figure>", f);
    report_text(f, "figcaption", caption);
    fputs("<div class=wide tabindex=0 role=group aria-label=figure>", f);
    for (const char *at = begin; at && *at; at++) {
        in_tag = *at == '<' || (in_tag && *at != '>');
        if (in_tag && is_name(begin, at))
            fprintf(f, "f%zu-", number);
        putc(*at, f);
    }
    fputs("</div></figure>\n", f);
}
