/* A script: the editable settings first, then the data, then the plots. */
#include "plots/script.h"

#include "io/system/atomic.h"
#include "plots/density.h"
#include "plots/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Okabe and Ito's colour-blind-safe palette without its yellow; its orange, sky blue and reddish
 * purple are darkened, so that each has a contrast of at least 3:1 on white (WCAG 2.1, 1.4.11). Of
 * eight lines each has a dash type and a point type of its own, for those who see no colours. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#C2659A",
                                      "#B57C00", "#2E93D0", "#000000", "#757575"};
static const char *const dashes[] = {"solid",          "(14,5)",     "(14,4,3,4)", "(6,4)",
                                     "(14,4,3,4,3,4)", "(24,4,9,4)", "(2,3)",      "(28,7)"};
static const int points[] = {7, 5, 9, 13, 11, 6, 4, 8};
enum { KINDS = 8 }; /* of colours, dashes and points */

/* plasma of matplotlib (CC0) without its light end, as far as its contrast on white is at least
 * 3:1. Heat maps, which are not thin lines, use all of viridis, also from matplotlib. */
static const unsigned char in_order[][3] = {{0x0D, 0x08, 0x87}, {0x46, 0x03, 0x9F},
                                            {0x72, 0x01, 0xA8}, {0x9C, 0x17, 0x9E},
                                            {0xBD, 0x37, 0x86}, {0xD8, 0x57, 0x6B},
                                            {0xE5, 0x6B, 0x5D}};
enum { IN_ORDER = sizeof in_order / sizeof *in_order };

/* Line style `first` + i of `count`. */
static void write_line(struct script *s, size_t first, size_t i, size_t count, int sequential)
{
    double at = count > 1 ? (double)i * (IN_ORDER - 1) / (double)(count - 1) : 0;
    const unsigned char *low = in_order[(int)at],
                        *high = in_order[at < IN_ORDER - 1 ? (int)at + 1 : IN_ORDER - 1];
    int rgb[3];

    for (int k = 0; k < 3; k++)
        rgb[k] = (int)(low[k] + (at - floor(at)) * (high[k] - low[k]) + 0.5);
    fprintf(s->settings, "set style line %zu lw 2.6*line_width pt %d ps mark dt %s lc rgb ",
            first + i, points[i % KINDS], dashes[i % KINDS]);
    if (sequential)
        fprintf(s->settings, "\"#%02X%02X%02X\"\n", rgb[0], rgb[1], rgb[2]);
    else /* after eight, another colour for each dash */
        fprintf(s->settings, "\"%s\"\n", colours[(i + i / KINDS) % KINDS]);
}

void script_lines(struct script *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_line(s, 1, i, count, s->style->sequential);
}

void script_lines_in_order(struct script *s, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_line(s, first, i, count, 1);
}

void script_palettes(struct script *s)
{
    fputs("map_palette = \"defined (0 '#440154', 1 '#472D7B', 2 '#3B528B', 3 '#2C728E', 4 "
          "'#21918C', 5 '#28AE80', 6 '#5EC962', 7 "
          "'#ADDC30', 8 '#FDE725')\"\nline_palette = \"defined (",
          s->settings);
    for (int i = 0; i < IN_ORDER; i++)
        fprintf(s->settings, "%s%d '#%02X%02X%02X'", i ? ", " : "", i, in_order[i][0],
                in_order[i][1], in_order[i][2]);
    fputs(")\"\n", s->settings);
}

void script_frame(struct script *s, int grid)
{
    fputs("set border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\n"
          "set style textbox opaque noborder margins 0.2,0.1\n",
          s->plot);
    if (grid)
        fputs("set grid lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", s->plot);
}

void script_row_ticks(struct script *s, size_t count)
{
    fputs("set ytics scale 0 noenhanced (", s->plot);
    for (size_t i = 0; i < count; i++)
        fprintf(s->plot, "%stick(label%zu) %zu", i ? ", " : "", i + 1, count - i);
    fputs(")\n", s->plot);
}

void script_add(struct script *s, const char *format, ...)
{
    va_list arguments;

    fputs(s->adding ? ", \\\n    " : "plot", s->plot);
    s->adding = 1;
    va_start(arguments, format);
    vfprintf(s->plot, format, arguments);
    va_end(arguments);
}

void script_add_end(struct script *s)
{
    fputs("\n", s->plot);
    s->adding = 0;
}

/* A comment line: one line only, and no backslash at its end, which would continue it. */
static void write_comment(FILE *f, const char *text)
{
    fputs("# ", f);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        fputc(*p < 0x20 || *p == 0x7f ? ' ' : *p, f);
    fputs(" \n", f);
}

/* Sizes, as variables. A single picture is 260 mm wide, 1600 pixels for png. */
static void write_sizes(FILE *f, const struct script *s)
{
    const struct figure_style *y = s->style;
    double width = y->width > 0 ? y->width : 260, unit = width / s->width;

    fprintf(f,
            "\n# ---- style, to be edited. gnuplot %s.gp draws %s.png; gnuplot -e \"format='svg'\" "
            "%s.gp (or pdf, tikz) draws "
            "another form.\n",
            s->stem, s->stem, s->stem);
    fputs("if (!exists(\"format\")) format = \"png\"\n", f);
    fprintf(f, "if (!exists(\"output\")) output = \"%s.\" . format\n", s->stem);
    /* of "]]>" and "&#x", which gnuplot writes unchanged: the first is not allowed in XML, the
     * second means another character there */
    fputs("gt = format eq \"svg\" ? \"&#x3e;\" : \">\"\namp = format eq \"svg\" ? \"&#x26;\" : "
          "\"&\"\n",
          f);
    fprintf(f, "width_mm = %.6g\nheight_mm = %.6g\ndpi = %.6g # of png\n", width,
            y->height > 0 ? y->height : unit * s->height,
            y->dpi > 0 ? y->dpi : 1600 / 260.0 * 25.4);
    fputs("font = '", f);
    script_quoted(f, y->font ? y->font : FIGURE_FONT, 100);
    fprintf(f, "'\nfont_size = %.6g # points\n", unit * TEXT / 25.4 * 72);
    fputs("line_width = 1.0\nmark_size = 1.0\n", f);
    fputs("unit = font_size/18.0 # points: line_width, marks and margins are of text this high\n",
          f);
    fputs("mark = mark_size*unit*(format eq \"png\" ? 1.7*dpi/72.0 : format eq \"svg\" ? 1.2 : "
          "format eq \"pdf\" ? 1.5 : 1.85)\n",
          f);
}

/* The terminal, and what makes texts safe for it: TeX's special characters become commands. Sizes
 * may be whole numbers, also after editing, and gnuplot's division of two of these drops the
 * remainder: so divisors are not. For pdf gnuplot truncates to whole points: adding half of one,
 * 0.176 mm, rounds to the nearest. An svg fills its window, unless a size was requested. */
static void write_terminal(FILE *f, const struct figure_style *y)
{
    fputs("\n# ---- drawing\nset encoding utf8\n", f);
    fputs("if (format eq \"png\") { set terminal pngcairo size "
          "int(width_mm/25.4*dpi+0.5),int(height_mm/25.4*dpi+0.5) font "
          "sprintf(\"%s,%.4g\", font, font_size*dpi/96.0) linewidth unit*dpi/72.0 background "
          "\"white\" }\n",
          f);
    fprintf(f,
            "if (format eq \"svg\") { set terminal svg size "
            "int(width_mm/25.4*96+0.5),int(height_mm/25.4*96+0.5) %s font "
            "sprintf(\"%%s,%%.4g\", font, font_size*96/72.0) linewidth unit*96/72.0 background "
            "\"white\" }\n",
            y->width > 0 || y->height > 0 ? "fixed" : "dynamic");
    fputs("if (format eq \"pdf\") { set terminal pdfcairo size (width_mm+0.176)/10.0 "
          "cm,(height_mm+0.176)/10.0 cm font "
          "sprintf(\"%s,%.4g\", font, "
          "font_size*1.5) linewidth unit*1.74 }\n",
          f);
    fputs("if (format eq \"tikz\") { eval sprintf(\"set terminal tikz size %.4fcm,%.4fcm font "
          "'\\\\fontsize{%.4g}{%.4g}\\\\selectfont' linewidth %.4g\", width_mm/10.0, "
          "height_mm/10.0, font_size, 1.2*font_size, "
          "unit*1.74) }\n",
          f);
    fputs(
        "text_size = font_size*(format eq \"png\" ? dpi/96.0 : format eq \"svg\" ? 96/72.0 : 1.5)\n"
        "title_font = format eq \"tikz\" ? \"\" : sprintf(\",%.4g\", 1.13*text_size)\n"
        "map_image = format eq \"tikz\" ? \"image pixels\" : \"image\" # rectangles, or one "
        "picture\nkey_spacing = format eq "
        "\"svg\" ? 0.95 : 1.2\nkey_character = format eq \"svg\" ? 12.6 : format eq \"tikz\" ? 9.4 "
        ": 11.6\n",
        f);
    fputs("tex1(s) = s eq '\\' ? '\\textbackslash{}' : s eq '~' ? '\\textasciitilde{}' : s eq '^' "
          "? '\\textasciicircum{}' : "
          "strstrt('#$%&_{}', s) ? '\\'.s : strstrt('<>|\"', s) ? '{\\ttfamily '.s.'}' : s eq "
          "'\xe2\x80\xa6' ? '\\ldots{}' : s "
          "eq '\xef\xbf\xbd' ? '?' : s eq '\xe2\x88\x92' ? '$-$' : s\n"
          "tex(s) = strlen(s) == 0 ? s : strlen(s) == 1 ? tex1(s) : "
          "tex(s[1:strlen(s)/2]).tex(s[strlen(s)/2+1:strlen(s)])\n"
          "double(s) = strlen(s) < 2 ? (s eq '%' ? '%%' : s) : "
          "double(s[1:strlen(s)/2]).double(s[strlen(s)/2+1:strlen(s)])\n"
          "t(s) = format eq \"tikz\" ? tex(s) : s\ntick(s) = double(t(s))\nm(s) = format eq "
          "\"tikz\" ? '$'.s.'$' : s\n"
          "minus = format eq \"tikz\" ? \" - \" : \" \xe2\x88\x92 \"\nat_least = format eq "
          "\"tikz\" ? '$\\geq$ ' : "
          "'\xe2\x89\xa5 '\n"
          "negative(s) = format eq \"tikz\" ? '$-'.s.'$' : '\xe2\x88\x92'.s\n"
          "times(k) = format eq \"tikz\" ? sprintf('$\\times$%d', k) : "
          "sprintf('\xc3\x97%d', k)\n"
          "power(k) = format eq \"tikz\" ? sprintf('$10^{%d}$', k) : "
          "sprintf('10^{%s%d}', k < 0 ? '\xe2\x88\x92' : '', abs(k))\n",
          f);
    fputs("set output output\n", f);
}

/* The streams of the parts, in memory. */
struct parts {
    FILE *stream[3];
    char *text[3];
    size_t size[3];
};

static int open_parts(struct parts *p, struct error *e)
{
    int rc = 0;

    for (int i = 0; i < 3; i++)
        if (!(p->stream[i] = open_memstream(&p->text[i], &p->size[i])))
            rc = -1;
    return rc == 0 ? 0 : fail(e, "out of memory for a figure");
}

/* Closes everything open. */
static int close_parts(struct parts *p, struct error *e)
{
    int rc = 0;

    for (int i = 0; i < 3; i++) {
        if (p->stream[i] && (ferror(p->stream[i]) | fclose(p->stream[i])) != 0)
            rc = -1;
        p->stream[i] = NULL;
    }
    return rc == 0 ? 0 : fail(e, "out of memory for a figure");
}

static int write_parts(FILE *f, struct script *s, struct parts *p,
                       int (*write)(struct script *s, const void *, struct error *),
                       const void *figure, struct error *e)
{
    int rc;

    if (open_parts(p, e) != 0)
        return -1;
    s->settings = p->stream[0], s->data = p->stream[1], s->plot = p->stream[2];
    rc = write(s, figure, e);
    if (close_parts(p, e) != 0 || rc != 0)
        return -1;
    write_sizes(f, s);
    fwrite(p->text[0], 1, p->size[0], f);
    fputs("\n# ---- data\n", f);
    fwrite(p->text[1], 1, p->size[1], f);
    write_terminal(f, s->style);
    fwrite(p->text[2], 1, p->size[2], f);
    return 0;
}

/* For a requested size. */
static int say_density(const char *folder, const char *stem, double dpi, struct error *e)
{
    char *picture;
    int rc;

    if (asprintf(&picture, "%s/%s.png", folder, stem) < 0)
        return fail(e, "%s: out of memory", folder);
    rc = density_write(picture, dpi, e);
    free(picture);
    return rc;
}

int script_make(const struct figure_place *to,
                int (*write)(struct script *s, const void *figure, struct error *e),
                const void *figure, struct error *e)
{
    const char *folder = to->folder, *stem = to->stem;
    const struct figure_style *style = to->style;
    struct script s = {.style = style, .stem = stem, .width = WIDTH};
    struct parts parts = {{NULL}, {NULL}, {0}};
    struct atomic_file file = {0};
    char *path = NULL;
    int rc = -1;

    if (figure_check_formats(style->formats, e) != 0 || figure_check_style(stem, style, e) != 0)
        goto end;
    if (style->width > 0) /* on paper: text of 8 points by default */
        s.width = style->width / 25.4 * 72 / ((style->font_size > 0 ? style->font_size : 8) / TEXT);
    else if (style->font_size > 0)
        s.width = 260 / 25.4 * 72 / (style->font_size / TEXT);
    s.limit = (size_t)fmin(SCRIPT_LABEL_CHARACTERS, fmax(12, (s.width - 110) / 11 - 12));
    if (asprintf(&path, "%s/%s.gp", folder, stem) < 0) {
        path = NULL;
        fail(e, "%s: out of memory", folder);
        goto end;
    }
    if (atomic_open(&file, path, e) != 0)
        goto end;
    for (size_t i = 0; to->comments && to->comments[i]; i++)
        write_comment(file.stream, to->comments[i]);
    /* pictures of other data are never left beside the new script */
    if (write_parts(file.stream, &s, &parts, write, figure, e) != 0 ||
        atomic_stage(&file, e) != 0 || figure_remove(folder, stem, e) != 0 ||
        atomic_place(&file, e) != 0)
        goto end;
    rc = figure_draw(strrchr(path, '/') + 1, folder, stem, style->formats, e);
    if (rc == 0 && style->dpi > 0 && strstr(style->formats, "png"))
        rc = say_density(folder, stem, style->dpi, e);
end:
    atomic_abandon(&file);
    for (int i = 0; i < 3; i++) {
        if (parts.stream[i])
            fclose(parts.stream[i]);
        free(parts.text[i]);
    }
    free(path);
    return rc;
}
