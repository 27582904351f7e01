/* An explanation's text on the screen: tokens shaded by their shares, or with a digit below. */
#include "commands/explain.h"

#include "commands/screen.h"
#include "page/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct color {
    int red, green, blue;
};

/* The shades of page/explain.css; the first has none. */
static const struct color on_dark[SHADES] =
    {{0},           {42, 28, 28},  {60, 31, 29},   {81, 36, 29},   {109, 42, 27},  {136, 49, 25},
     {164, 63, 23}, {191, 85, 22}, {219, 107, 20}, {234, 140, 37}, {244, 177, 61}, {255, 214, 84}},
                          on_light[SHADES] = {{0},
                                              {255, 248, 227},
                                              {255, 241, 200},
                                              {255, 231, 170},
                                              {255, 212, 133},
                                              {255, 193, 96},
                                              {252, 165, 68},
                                              {246, 128, 51},
                                              {240, 92, 34},
                                              {219, 66, 27},
                                              {192, 43, 24},
                                              {165, 20, 20}};
/* The same for 256 colours. */
static const int on_dark_256[SHADES] = {0, 234, 235, 52, 88, 124, 130, 166, 172, 208, 214, 220},
                 on_light_256[SHADES] = {0, 230, 229, 223, 222, 221, 215, 214, 208, 202, 160, 124};

enum { GUTTER = 8 };

/* A row of the screen under construction. */
struct row {
    enum screen_colors colors;
    int is_light, width, used; /* columns for text, and those filled */
    int shade; /* current setting of the screen; -1: bold */
    char *digits; /* [width + 1] below the text */
};

/* Relative luminance as in WCAG 2. */
static double luminance(struct color c)
{
    const int channel[3] = {c.red, c.green, c.blue};
    const double weight[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        double v = channel[i] / 255.0;

        sum += weight[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* One of the 256: in the cube of 6 x 6 x 6, or a grey. */
static struct color of_256(int index)
{
    static const int level[6] = {0, 95, 135, 175, 215, 255};
    int grey = 8 + 10 * (index - 232), cube = index - 16;

    return index < 232 ? (struct color){level[cube / 36], level[cube / 6 % 6], level[cube % 6]}
                       : (struct color){grey, grey, grey};
}

/* Black or white text, whichever has more contrast: at least 4.5 on every colour. */
static void set_shade(struct row *r, int shade)
{
    struct color c;
    int index, is_dark;

    if (r->colors == SCREEN_PLAIN || shade == r->shade)
        return;
    if (r->shade)
        fputs("\033[0m", stdout);
    r->shade = shade;
    if (shade < 0)
        fputs("\033[1;4m", stdout);
    if (shade < 1 || shade >= SHADES)
        return;
    index = (r->is_light ? on_light_256 : on_dark_256)[shade];
    c = r->colors == SCREEN_256 ? of_256(index) : (r->is_light ? on_light : on_dark)[shade];
    is_dark = luminance(c) < 0.179;
    if (r->colors == SCREEN_256)
        printf("\033[38;5;%d;48;5;%dm", is_dark ? 231 : 16, index);
    else
        printf("\033[38;2;%s;48;2;%d;%d;%dm", is_dark ? "255;255;255" : "0;0;0", c.red, c.green,
               c.blue);
}

static void begin_row(struct row *r, size_t position)
{
    printf("%*zu  ", GUTTER - 2, position);
    memset(r->digits, ' ', (size_t)r->width);
    r->used = 0;
}

static void end_row(struct row *r)
{
    set_shade(r, 0);
    putchar('\n');
    while (r->used > 0 && r->digits[r->used - 1] == ' ')
        r->used--;
    if (r->colors == SCREEN_PLAIN && r->used > 0)
        printf("%*s%.*s\n", GUTTER, "", r->used, r->digits);
    r->used = 0;
}

static int width_of(const char *text, size_t size)
{
    struct glyph g;
    int width = 0;

    for (size_t i = 0; i < size && width < 1000;) {
        i += show_next(&g, text + i, size - i);
        width += g.width;
    }
    return width;
}

/* *open: a row has begun. A token that fits into a row is not split. */
static void put_token(struct row *r, int *open, const struct explanation *x, size_t i)
{
    int shade = i == x->count ? -1 : explanation_shade(x, i);
    char room[16];
    size_t size;
    const char *text = explanation_piece(x, x->id[i], &size, room);
    int width = width_of(text, size);

    for (size_t k = 0; k < size;) {
        struct glyph g;

        k += show_next(&g, text + k, size - k);
        if (*open && r->used + (width <= r->width ? width : g.width) > r->width) {
            end_row(r);
            *open = 0;
        }
        width = 0;
        if (!*open)
            begin_row(r, i + 1);
        *open = 1;
        set_shade(r, shade);
        fputs(g.text, stdout);
        for (int column = 0; column < g.width && r->used < r->width; column++)
            r->digits[r->used++] = shade < 0 ? '^'
                                   : shade
                                       ? (char)('0' + (shade * 9 + (SHADES - 1) / 2) / (SHADES - 1))
                                       : ' ';
        if (g.newline) {
            end_row(r);
            *open = 0;
        }
    }
}

static void print_legend(struct row *r, const struct explanation *x)
{
    double most = 100 * explanation_shade_share(x, SHADES - 1);
    char text[160];

    putchar('\n');
    if (r->colors == SCREEN_PLAIN) {
        snprintf(text, sizeof text,
                 "digits below the text: 9 marks the largest share, %.3g\u00a0%%, lower digits "
                 "follow the root of the share; ^ "
                 "marks the target",
                 most);
        screen_fill(stdout, text, r->width + GUTTER);
        return;
    }
    fputs("share  0 ", stdout);
    for (int shade = 1; shade < SHADES; shade++) {
        set_shade(r, shade);
        fputs("  ", stdout);
    }
    set_shade(r, 0);
    printf(" %.3g %%\n", most);
}

int explain_draw(const struct explanation *x, const struct explain_options *o, struct error *e)
{
    struct row row = {.colors = screen_colors(o->color),
                      .is_light = screen_is_light(),
                      .width = screen_width() - GUTTER};
    size_t shown = (size_t)o->drawn, first = x->count > shown ? x->count - shown : 0;
    char note[160];
    int open = 0;

    if (!shown || screen_is_silent())
        return 0;
    if (!(row.digits = calloc((size_t)row.width + 1, 1)))
        return fail_memory(e, row.width, "a row of the screen");
    print_legend(&row, x);
    if (first) {
        snprintf(note, sizeof note,
                 "(%zu %s%s before, with %.3g\u00a0%%, are not shown; --show N sets how many are)",
                 first, explanation_unit(x), x->by && first == 1 ? "" : "s",
                 100 * (1 - x->cumulative[first]));
        screen_fill(stdout, note, row.width + GUTTER);
    }
    for (size_t i = first; i <= x->count; i++)
        put_token(&row, &open, x, i);
    if (open)
        end_row(&row);
    free(row.digits);
    return 0;
}
