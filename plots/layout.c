#include "plots/layout.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum {
    LINE = 25, /* units of a line of a heading or a title, slightly larger than other text */
    KEY_ROW = 28,
    KEY_SAMPLE = 64,
    KEY_GAP = 36, /* next to entries */
    LINES_MAX = 4,
    EDGE = 14, /* margin of a picture */
    LEAST = 60, /* of a panel, both ways */
    LOW = 110, /* of a panel, if it is not asked for */
    TICKS_BELOW = 44, /* for ticks alone */
    SCALE_HIGH = 380, /* a colour scale beside several rows */
    GRID_GAP = 12, /* between panels that share their axes */
    LABELS = 4, /* and below labels above a panel, LABEL_LINE high */
    LABEL_LINE = 22,
    BELOW = 78 /* below it, for ticks and the label of its axis */
};
#define LARGER 1.13 /* headings */

void key_add(struct key *k, const struct script *s, const char *label, const char *note)
{
    size_t characters = script_characters(s, label) + script_characters(s, note);

    k->count++;
    k->widest = fmax(k->widest, script_width(s, label) + script_width(s, note));
    k->characters = characters > k->characters ? characters : k->characters;
}

void key_line(struct key *k, struct script *s, size_t i, const char *label, const char *note)
{
    script_text(s, "label", i + 1, label);
    key_add(k, s, label, note);
}

void key_fill(const struct key *k, struct script *s, size_t entries)
{
    for (; k->group && k->rows && entries % k->rows; entries++)
        script_add(s, " keyentry with lines lt nodraw title ' '");
}

/* The bytes of a line of `length` that is wider than `width` before the place to split it, after
 * one of the marks that names and formulas have; 0: none. */
static size_t part_of_word(const char *text, size_t length, double width)
{
    size_t part = 0;

    if (LARGER * text_width_to(text, text + length) <= width)
        return 0;
    for (size_t i = 1; i < length && LARGER * text_width_to(text, text + i) <= width; i++)
        if (strchr("(,=_-/+*", text[i - 1]) && text[i] != ' ')
            part = i;
    return part;
}

/* Splits a text at blanks, but not before a number, into lines of at most `width` units, begin[i]
 * to begin[i + 1]; how many. */
static int wrap(const char *text, double width, size_t begin[LINES_MAX + 1])
{
    char line[512];
    size_t length = strlen(text), from = 0;
    int count = 0;

    while (from < length && count < LINES_MAX) {
        size_t end = from, next = from, part;

        while (next < length && count < LINES_MAX - 1) {
            do { /* a number stays with the word before it */
                next += strspn(text + next, " ");
                next += strcspn(text + next, " ");
            } while (text[next] && isdigit((unsigned char)text[next + 1]));
            snprintf(line, sizeof line, "%.*s", (int)(next - from), text + from);
            if (end > from && LARGER * text_width(line) > width)
                break;
            end = next;
        }
        part = count < LINES_MAX - 1 ? part_of_word(text + from, end - from, width) : 0;
        end = part ? from + part : end;
        begin[count++] = from;
        from = end > from && count < LINES_MAX ? end : length;
        from += strspn(text + from, " ");
    }
    begin[count] = length;
    return count;
}

/* Characters of a line that fit, all or with an ellipsis. */
static size_t fitting(const char *line, double width)
{
    size_t count = 0;

    if (LARGER * text_width(line) <= width)
        return strlen(line);
    while (LARGER * text_width_of(line, count + 2) <= width)
        count++;
    return count;
}

/* Sets the variable NAMEnumber to the lines of a heading. */
static void set_lines(struct script *s, const char *name, size_t number, const char *text,
                      double width)
{
    size_t begin[LINES_MAX + 1];
    char line[1024];
    int count = wrap(text, width, begin);

    fprintf(s->settings, "%s%zu = ", name, number);
    for (int i = 0; i < count; i++) {
        size_t length = begin[i + 1] - begin[i];

        while (length > 0 && text[begin[i] + length - 1] == ' ')
            length--;
        snprintf(line, sizeof line, "%.*s", (int)length, text + begin[i]);
        fputs(i ? ".\"\\n\".'" : "'", s->settings);
        script_quoted(s->settings, line, fitting(line, width));
        fputs("'", s->settings);
    }
    fputs(count ? "\n" : "''\n", s->settings);
}

static int lines_of(const char *text, double width)
{
    size_t begin[LINES_MAX + 1];

    return text ? wrap(text, width, begin) : 0;
}

static int is_below(const struct layout *l, const struct script *s)
{
    return l->key && l->key->count &&
           (!s->style->legend || strcmp(s->style->legend, legend_places[0]) == 0);
}

static size_t columns_in(size_t entries, size_t rows)
{
    return (entries + rows - 1) / rows;
}

/* As many columns of entries as fit. */
static double lay_key(const struct layout *l, const struct script *s)
{
    size_t columns;

    if (!is_below(l, s))
        return 0;
    columns = (size_t)((s->width - 2 * EDGE) / (l->key->widest + KEY_SAMPLE + KEY_GAP));
    columns = columns < 1 ? 1 : columns > 6 ? 6 : columns;
    columns = columns < l->key->count ? columns : l->key->count;
    l->key->rows = (l->key->count + columns - 1) / columns;
    while (l->key->group && columns > 1 &&
           columns_in(l->key->group, l->key->rows) +
                   columns_in(l->key->count - l->key->group, l->key->rows) >
               columns)
        l->key->rows++;
    if (columns == 1)
        l->key->group = 0;
    return KEY_ROW * (double)l->key->rows + EDGE;
}

/* Units to a millimetre. */
static double scale_of(const struct script *s)
{
    return s->width / (s->style->width > 0 ? s->style->width : 260);
}

/* Between panels: for the labels of their axes, unless they are shared. */
static double gap_across(const struct layout *l)
{
    return l->grid ? l->right : l->left + l->right;
}
static double gap_down(const struct layout *l)
{
    return l->grid ? GRID_GAP : l->same_x ? TICKS_BELOW : BELOW;
}

static size_t rows_of(const struct layout *l)
{
    return (l->panels + l->columns - 1) / l->columns;
}

static double across_of(const struct layout *l, const struct script *s, size_t columns)
{
    return (s->width - l->beside - l->left - l->right + gap_across(l)) / (double)columns -
           gap_across(l);
}

static size_t columns_of(const struct layout *l, const struct script *s)
{
    size_t columns = l->columns < l->panels ? l->columns : l->panels;

    while (columns > 1 && across_of(l, s, columns) < (l->least > 0 ? l->least : 380))
        columns--;
    if (l->grid) { /* rows as full as each other */
        size_t rows = (l->panels + columns - 1) / columns;

        columns = (l->panels + rows - 1) / rows;
    }
    return columns;
}

double layout_across(const struct layout *l, const struct script *s)
{
    return across_of(l, s, columns_of(l, s));
}

/* Units above a row of panels: for labels, and the lines of its longest heading. */
static double above_of(const struct layout *l, size_t row)
{
    int lines = 0;

    for (size_t i = row * l->columns; l->headings && i < (row + 1) * l->columns && i < l->panels;
         i++) {
        int own = lines_of(l->headings[i], l->heading);

        lines = own > lines ? own : lines;
    }
    return l->above + (l->lines ? LABELS + LABEL_LINE * l->lines : 0) +
           (lines ? 6 + LINE * lines : 0);
}

/* Lays the panels out in this many columns; returns the height of all but the panels. */
static double try_columns(struct layout *l, const struct script *s, size_t columns, double head,
                          double foot, double least)
{
    double over = head + foot + BELOW - gap_down(l);

    l->columns = columns;
    l->across = across_of(l, s, columns);
    l->heading = l->across + 0.6 * l->right; /* it may end over the margin */
    l->down = s->width < WIDTH && !l->keeps_height ? fmin(l->high, 0.8 * l->across) : l->high;
    l->down = fmax(l->down, least);
    if (l->square)
        l->across = l->down = fmin(l->high, l->across);
    for (size_t row = 0; row < rows_of(l); row++)
        over += above_of(l, row) + gap_down(l);
    return over;
}

/* Widths, and heights if not given. */
static int lay_panels(struct layout *l, const struct script *s, double head, double foot,
                      struct error *e)
{
    const struct figure_style *y = s->style;
    /* of a panel: gnuplot limits a key's rows to its panel's height */
    double least = fmax(l->keeps_height ? 0.5 * l->high : LEAST,
                        is_below(l, s) ? KEY_ROW * (double)l->key->rows : 0);
    double scale = scale_of(s), page = PAGE * scale,
           over = try_columns(l, s, columns_of(l, s), head, foot, least);

    while (y->height <= 0 && l->grid && l->columns < l->panels &&
           over + (double)rows_of(l) * l->down > page && across_of(l, s, l->columns + 1) >= LEAST)
        over = try_columns(l, s, l->columns + 1, head, foot, least);
    if (y->height > 0 || over + (double)rows_of(l) * l->down > page) {
        double room = ((y->height > 0 ? y->height * scale : page) - over) / (double)rows_of(l);

        l->down = y->height > 0 ? room : fmax(room, fmax(least, LOW));
        if (l->square)
            l->across = l->down = fmin(l->across, l->down);
    }
    if (!(l->across >= LEAST))
        return fail(e,
                    "--width %gmm: leaves no room in %s.gp (expected %.0fmm at least, or a smaller "
                    "--font-size)",
                    y->width, s->stem, ceil((l->left + l->right + l->beside + LEAST) / scale));
    if (y->height > 0 && !(l->down >= least))
        return fail(e,
                    "--height %gmm: leaves no room in %s.gp (expected %.0fmm at least, or a "
                    "smaller --font-size)",
                    y->height, s->stem, ceil((over + (double)rows_of(l) * least) / scale));
    l->height = over + (double)rows_of(l) * l->down;
    return 0;
}

int layout_make(struct layout *l, struct script *s, struct error *e)
{
    const struct figure_style *y = s->style;
    const char *title = !y->title ? l->title : *y->title ? y->title : NULL;
    double from = s->width < WIDTH ? EDGE : fmin(l->left, 120), room = s->width - from - EDGE,
           foot = lay_key(l, s);
    int lines = lines_of(title, room);

    if (y->title && !*y->title)
        l->headings = NULL;
    l->top = EDGE + (lines ? 6 + LINE * lines : 0);
    if (lay_panels(l, s, l->top, foot, e) != 0)
        return -1;
    s->height = y->height > 0 ? y->height * scale_of(s) : l->height;
    if (lines)
        set_lines(s, "title", 1, title, room);
    for (size_t i = 0; l->headings && i < l->panels; i++)
        if (l->headings[i])
            set_lines(s, "heading", i + 1, l->headings[i], l->heading);
    script_frame(s, 0);
    fputs("set multiplot\n", s->plot);
    if (lines)
        fprintf(s->plot,
                "set label 1001 t(title1) at screen %.5f, screen %.5f left noenhanced font "
                "title_font\n",
                from / s->width, 1 - (EDGE + LINE / 2.0) / s->height);
    return 0;
}

/* Relative to the panel's upper left corner, from the picture's. */
static double left_of(const struct layout *l, size_t i)
{
    return l->left + (double)(i % l->columns) * (l->across + gap_across(l));
}
static double top_of(const struct layout *l, size_t i)
{
    double top = l->top + above_of(l, 0);

    for (size_t row = 1; row <= i / l->columns; row++)
        top += l->down + gap_down(l) + above_of(l, row);
    return top;
}

/* Set before the plot with its entries. */
static void write_key(const struct layout *l, struct script *s)
{
    const char *place = s->style->legend;
    /* gnuplot makes columns as wide as this many wide characters, but the text is narrower */
    double width = l->key->widest + KEY_GAP;

    if (is_below(l, s))
        fprintf(s->plot,
                "set key at screen 0.5, screen %.5f center bottom vertical maxrows %zu noenhanced "
                "samplen %d spacing key_spacing "
                "width %.1f/key_character-%zu Left reverse\n",
                EDGE / s->height, l->key->rows, s->width < WIDTH ? 3 : 4, width,
                l->key->characters);
    else if (strcmp(place, "none") != 0)
        fprintf(s->plot,
                "set key %s %s inside vertical noenhanced samplen 3 spacing key_spacing width "
                "%.1f/key_character-%zu Left reverse "
                "opaque fc rgb \"#FFFFFF\"\n",
                strncmp(place, "top", 3) == 0 ? "top" : "bottom",
                strstr(place, "left") ? "left" : "right", width - KEY_GAP, l->key->characters);
}

void layout_panel(const struct layout *l, struct script *s, size_t i)
{
    double left = left_of(l, i), top = top_of(l, i);
    int lines = l->headings ? lines_of(l->headings[i], l->heading) : 0;

    fprintf(s->plot, "\n# panel %zu\n", i + 1);
    if (i)
        fputs("unset label\n", s->plot);
    fputs("unset arrow\nunset object\nunset logscale\nunset key\nunset colorbox\nunset "
          "mxtics\nunset mytics\n",
          s->plot);
    fputs("set xlabel offset 0,(format eq \"svg\" ? 0.5 : 0)\n",
          s->plot); /* which puts it half a line lower */
    fprintf(s->plot,
            "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset tmargin at screen "
            "%.5f\nset bmargin at screen %.5f\n",
            left / s->width, (left + l->across) / s->width, 1 - top / s->height,
            1 - (top + l->down) / s->height);
    if (lines)
        fprintf(s->plot,
                "set label 1002 t(heading%zu) at screen %.5f, screen %.5f left noenhanced font "
                "title_font\n",
                i + 1, left / s->width,
                1 - (top - above_of(l, i / l->columns) + LINE / 2.0) / s->height);
    if (i == 0 && l->key && l->key->count)
        write_key(l, s);
}

int layout_is_lowest(const struct layout *l, size_t i)
{
    return i + l->columns >= l->panels;
}

void layout_xlabel(const struct layout *l, struct script *s, size_t i, const char *expression)
{
    if (layout_is_lowest(l, i) || !(l->grid || l->same_x))
        fprintf(s->plot, "set xlabel %s enhanced\n", expression);
    else
        fputs("unset xlabel\n", s->plot);
}

int layout_has_y(const struct layout *l, size_t i)
{
    return !l->grid || i % l->columns == 0;
}

void layout_ylabel(const struct layout *l, struct script *s, size_t i, const char *expression)
{
    if (!layout_has_y(l, i))
        return;
    fprintf(s->plot, "set label 1003 %s at screen %.5f, screen %.5f center rotate by 90 enhanced\n",
            expression, (left_of(l, i) - l->left + 16) / s->width,
            1 - (top_of(l, i) + l->down / 2) / s->height);
}

double layout_scale_height(const struct layout *l)
{
    size_t rows = l->grid ? l->panels / l->columns : 1; /* that are full */

    return rows > 1 ? fmin(top_of(l, (rows - 1) * l->columns) + l->down - top_of(l, 0),
                           fmax(SCALE_HIGH, l->down))
                    : l->down;
}

void layout_scale(const struct layout *l, struct script *s, size_t i, const char *expression)
{
    double right = left_of(l, i) + l->across, high = layout_scale_height(l),
           middle = 1 - (top_of(l, i) + high / 2) / s->height;

    fprintf(s->plot,
            "set colorbox user origin screen %.5f, screen %.5f size screen %.5f, screen %.5f\nset "
            "label 1004 %s at screen %.5f, "
            "screen %.5f center rotate by 90 enhanced\n",
            (right + 16) / s->width, 1 - (top_of(l, i) + high) / s->height, 16 / s->width,
            high / s->height, expression, (right + SCALE - 22) / s->width, middle);
}

void layout_lines(struct script *s, size_t count, int x, int y, int has_bars, int has_key)
{
    for (size_t i = 0; i < count && has_bars; i++)
        script_add(s,
                   " $line%zu using %d:%d:%d:%d with yerrorbars ls %zu dt solid ps 0 lw "
                   "1.2*line_width notitle",
                   i + 1, x, y, y + 1, y + 2, i + 1);
    for (size_t i = 0; i < count; i++) {
        script_add(s, " $line%zu using %d:%d with linespoints ls %zu", i + 1, x, y, i + 1);
        if (has_key)
            fprintf(s->plot, " title t(label%zu)", i + 1);
        else
            fputs(" notitle", s->plot);
    }
    script_add_end(s);
}

void layout_level(struct script *s, double y)
{
    fprintf(s->plot,
            "set arrow from graph 0, first %.10g to graph 1, first %.10g nohead back lw 1.8 dt "
            "(8,5) lc rgb \"#555555\"\n",
            y, y);
}

void layout_end(struct script *s)
{
    fputs("unset multiplot\nunset output\n", s->plot);
}
