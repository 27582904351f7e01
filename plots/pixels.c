/* Parts of gnuplot scripts. */
#include "plots/pixels.h"

#include "io/atomic.h"
#include "plots/draw.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Okabe and Ito's colour-blind-safe palette, its yellow (too light for a line on white) replaced by a grey. With three dash types
 * and eight point types the first 24 lines differ, also in black and white. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};
static const char *const dashes[] = {"solid", "(14,5)", "(14,4,3,4)"};
static const int points[] = {7, 5, 9, 13, 11, 6, 4, 8};
enum { COLOURS = 8, DASHES = 3, POINTS = 8 };

const char *pixels_colour(size_t i)
{
    return colours[i % COLOURS];
}

int pixels_point(size_t i)
{
    return points[(i + i / POINTS) % POINTS];
}

void pixels_line(FILE *f, size_t i)
{
    fprintf(f, "lw 2.6 dt %s lc rgb \"%s\"", dashes[i % DASHES], pixels_colour(i));
}

/* The bytes of the UTF-8 character at `text`; 0 if there is none. */
static int character_bytes(const unsigned char *text)
{
    utf8proc_int32_t point;
    utf8proc_ssize_t bytes = utf8proc_iterate(text, -1, &point);

    return bytes > 0 && point != 0xFFFE && point != 0xFFFF ? (int)bytes : 0; /* those two are in no SVG */
}

static size_t write_quoted(FILE *f, const char *text, size_t limit, int is_format)
{
    size_t characters = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p; characters++) {
        int bytes = character_bytes(p);

        if (characters == limit) {
            fputs("\xe2\x80\xa6", f);
            break;
        }
        if (*p == '\'') /* of two of them, and of one at the beginning, gnuplot 5.4 does not read the doubled form */
            fputs("'.\"'\".'", f);
        else if (bytes == 0)
            fputs("\xef\xbf\xbd", f);
        else if (*p < 0x20 || *p == 0x7f)
            fputc(' ', f);
        else if (*p == '%' && is_format)
            fputs("%%", f);
        else
            fwrite(p, 1, (size_t)bytes, f);
        p += bytes ? bytes : 1;
    }
    return characters;
}

size_t pixels_quoted(FILE *f, const char *text, size_t limit)
{
    return write_quoted(f, text, limit, 0);
}

size_t pixels_quoted_tick(FILE *f, const char *text, size_t limit)
{
    return write_quoted(f, text, limit, 1);
}

/* A comment line: one line only, and no backslash at its end, which would continue it. */
static void write_comment(FILE *f, const char *text)
{
    fputs("# ", f);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        fputc(*p < 0x20 || *p == 0x7f ? ' ' : *p, f);
    fputs(" \n", f);
}

void pixels_head(FILE *f, const char *stem, double height)
{
    fprintf(f, "# gnuplot %s.gp draws %s.png; gnuplot -e \"format='svg'\" %s.gp (or pdf) draws another form.\n", stem, stem,
            stem);
    fputs("if (!exists(\"format\")) format = \"png\"\n", f);
    fprintf(f, "if (!exists(\"output\")) output = \"%s.\" . format\n", stem);
    fprintf(f, "if (format eq \"png\") { set terminal pngcairo size 1600,%.0f font \"DejaVu Sans,14\" background \"white\" }\n",
            height);
    fprintf(f,
            "if (format eq \"svg\") { set terminal svg size 1600,%.0f dynamic font \"DejaVu Sans,17\" background \"white\" }\n",
            height);
    fprintf(f,
            "if (format eq \"pdf\") { set terminal pdfcairo size 26cm,%.2fcm font \"DejaVu Sans,11\" linewidth 0.8 pointscale "
            "0.7 }\n",
            26 * height / 1600);
    fputs("title_font = format eq \"svg\" ? \",20\" : format eq \"pdf\" ? \",12.5\" : \",16\"\n", f);
    fputs("mark = format eq \"svg\" ? 0.9 : 1.7\nset output output\nset encoding utf8\n", f);
}

void pixels_palette(FILE *f)
{
    fputs("set palette defined (0 '#440154', 1 '#472D7B', 2 '#3B528B', 3 '#2C728E', 4 '#21918C', 5 '#28AE80', 6 '#5EC962', 7 "
          "'#ADDC30', 8 '#FDE725')\n",
          f);
}

void pixels_log_ticks(FILE *f, double n)
{
    static const int leading[] = {1, 2, 5};

    fputs("set xtics (\"1\" 1", f);
    for (double power = 1; power < n; power *= 10)
        for (int i = 0; i < 3; i++) {
            double tick = power * leading[i];

            if (tick > 1 && (n <= 5000 || i == 0) && tick < 0.6 * n)
                fprintf(f, ", \"%.0f\" %.0f", tick, tick);
        }
    if (n > 1)
        fprintf(f, ", \"%.0f\" %.0f", n, n);
    fputs(")\n", f);
}

size_t pixels_characters(const char *label)
{
    size_t n = 0;

    for (const char *p = label; *p; p++)
        n += (*p & 0xc0) != 0x80;
    return n < PIXELS_LABEL_CHARACTERS ? n : PIXELS_LABEL_CHARACTERS;
}

double pixels_key_lay(struct pixels_key *k)
{
    size_t columns = 150 / (k->widest + 8); /* and the sample line */

    columns = columns < 1 ? 1 : columns > 4 ? 4 : columns;
    columns = columns < k->count ? columns : k->count;
    k->rows = columns ? (k->count + columns - 1) / columns : 0;
    return 28 * (double)k->rows + 18;
}

void pixels_key_place(FILE *f, const struct pixels_key *k, double height)
{
    /* gnuplot takes every character for a wide one: the negative width draws the columns together */
    fprintf(f,
            "set key at screen 0.5, screen %.4f center bottom vertical maxrows %zu noenhanced samplen 4 spacing 1.15 width %.1f "
            "Left reverse\n",
            14 / height, k->rows, 2 - 0.18 * (double)k->widest);
}

int pixels_make(const char *folder, const char *stem, const char *const *comments, const struct figure_style *style,
                int (*write)(FILE *f, const char *stem, const void *figure, struct error *e), const void *figure, struct error *e)
{
    struct atomic_file file = {0};
    char *path = NULL;
    int rc = -1;

    if (figure_check_formats(style->formats, e) != 0)
        return -1;
    if (asprintf(&path, "%s/%s.gp", folder, stem) < 0) {
        path = NULL;
        fail(e, "%s: out of memory", folder);
        goto end;
    }
    if (atomic_open(&file, path, e) != 0)
        goto end;
    for (size_t i = 0; comments && comments[i]; i++)
        write_comment(file.stream, comments[i]);
    /* pictures of other data never lie beside the new script */
    if (write(file.stream, stem, figure, e) != 0 || atomic_stage(&file, e) != 0 || figure_remove(folder, stem, e) != 0 ||
        atomic_place(&file, e) != 0)
        goto end;
    rc = figure_draw(strrchr(path, '/') + 1, folder, stem, style->formats, e);
end:
    atomic_abandon(&file);
    free(path);
    return rc;
}
