/* Tables for a paper, a page of GitHub, a program, a browser. */
#include "commands/table_parts.h"

#include "commands/screen.h"
#include "io/formats/csv.h"
#include "page/escape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const table_formats[] = {"", "latex", "markdown", "csv", NULL};

/* What a column of a paper, 85 mm, holds at the size of its footnotes. */
enum { PAPER_COLUMNS = 60 };

/* ---- LaTeX ---- */

/* The length of the number at the start of TEXT: sign, digits, decimals, exponent; 0: none. */
static size_t number_length(const char *text)
{
    size_t n = text[0] == '+' || text[0] == '-', digits = strspn(text + n, "0123456789"), more;

    if (digits == 0)
        return strncmp(text + n, "inf", 3) == 0 && !isalnum((unsigned char)text[n + 3]) ? n + 3 : 0;
    n += digits;
    if (text[n] == '.')
        n += 1 + strspn(text + n + 1, "0123456789");
    if (text[n] == 'e' || text[n] == 'E') {
        more = 1 + (text[n + 1] == '+' || text[n + 1] == '-');
        digits = strspn(text + n + more, "0123456789");
        n += digits ? more + digits : 0;
    }
    return isalnum((unsigned char)text[n]) || text[n] == '_' ? 0 : n;
}

/* A number in mathematics: 1.2e-05 as 1.2\times 10^{-5}. */
static void latex_number(FILE *f, const char *text, size_t length)
{
    size_t mantissa = strcspn(text, "eE");
    const char *infinite = strstr(text, "inf");

    if (infinite && infinite < text + length)
        fprintf(f, "%.*s\\infty", (int)(infinite - text), text);
    else if (mantissa < length)
        fprintf(f, "%.*s\\times 10^{%ld}", (int)mantissa, text,
                strtol(text + mantissa + 1, NULL, 10));
    else
        fprintf(f, "%.*s", (int)length, text);
}

/* TEXT with everything special escaped. In headers what follows _ or ^ is lowered or raised. */
static void latex_text(FILE *f, const char *text, int is_header)
{
    static const char *const words[128] = {['\\'] = "{\\textbackslash}",
                                           ['~'] = "{\\textasciitilde}",
                                           ['^'] = "{\\textasciicircum}",
                                           ['<'] = "{\\textless}",
                                           ['>'] = "{\\textgreater}",
                                           ['|'] = "{\\textbar}",
                                           ['`'] = "{\\textasciigrave}",
                                           ['#'] = "\\#",
                                           ['$'] = "\\$",
                                           ['%'] = "\\%",
                                           ['&'] = "\\&",
                                           ['_'] = "\\_",
                                           ['{'] = "\\{",
                                           ['}'] = "\\}"};

    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        size_t raised = is_header && c > text && (*c == '_' || *c == '^')
                            ? strcspn(c + 1, " ()[],/_^")
                            : 0;

        if (raised) {
            fprintf(f, isdigit((unsigned char)c[1]) ? "$%c{%.*s}$" : "$%c{\\mathrm{%.*s}}$", *c,
                    (int)raised, c + 1);
            c += raised;
        } else if (*c == '-' && c[1] == '-')
            fputs("-{}", f); /* -- is a dash */
        else if (*c == ' ' && c[1] == '%' && c > text && isdigit((unsigned char)c[-1]))
            fputs("\\,", f);
        else if (*c == ' ' && c > text && c[-1] == ' ')
            fputs("\\ ", f); /* runs of blanks are one */
        else if ((*c == '[' || *c == '*') && c == text)
            fprintf(f, "{%c}", *c); /* after \\ they would be its arguments */
        else if (strncmp(c, "\u21b5", 3) == 0 || strncmp(c, "\u21e5", 3) == 0) {
            fputs(c[2] == '\xb5' ? "$\\hookleftarrow$" : "$\\mapsto$", f); /* line end, tab */
            c += 2;
        } else if (byte < 128 && words[byte])
            fputs(words[byte], f);
        else
            putc(*c, f);
    }
}

/* >= 12, [1, 2], -0.5, 1.2e-05 as mathematics; what follows, such as a unit, as text. */
static void latex_cell(FILE *f, const char *cell, int is_header)
{
    static const char *const relations[][2] = {{">= ", "\\geq "},
                                               {"<= ", "\\leq "},
                                               {"< ", "<"},
                                               {"> ", ">"}};
    const char *relation = "", *text = cell;
    size_t first, second = 0;

    for (size_t i = 0; i < sizeof relations / sizeof *relations && text == cell; i++)
        if (strncmp(cell, relations[i][0], strlen(relations[i][0])) == 0) {
            relation = relations[i][1];
            text = cell + strlen(relations[i][0]);
        }
    if (strcmp(cell, "-") == 0) {
        fputs("--", f);
        return;
    }
    first = number_length(text + (*text == '['));
    if (*text == '[' && first && strncmp(text + 1 + first, ", ", 2) == 0)
        second = number_length(text + first + 3);
    if (is_header || first == 0 ||
        (*text == '[' && (second == 0 || text[first + second + 3] != ']'))) {
        latex_text(f, cell, is_header);
        return;
    }
    int plain = !*relation && *text != '[' && first == strspn(text, "0123456789.");

    fprintf(f, "%s%s", plain ? "" : "$", relation);
    if (*text == '[') {
        putc('[', f);
        latex_number(f, text + 1, first);
        fputs(", ", f);
        latex_number(f, text + first + 3, second);
        putc(']', f);
        text += first + second + 4;
    } else {
        latex_number(f, text, first);
        text += first;
    }
    fputs(plain ? "" : "$", f);
    if (*text == ' ' && text[1 + strcspn(text + 1, " ")] == 0 &&
        strcmp(text, " !") != 0) { /* a unit */
        fputs("\\,", f);
        text++;
        if (strcmp(text, "us") == 0) {
            fputs("$\\mu$s", f);
            return;
        }
    }
    latex_text(f, text, 0);
}

static void latex(FILE *f, const struct table *t, const int *width)
{
    size_t last = 0;

    for (size_t i = 0; i < t->columns; i++)
        last = width[i] ? i : last;
    fputs("\\begin{tabular}{", f);
    for (size_t i = 0; i < t->columns; i++)
        if (width[i])
            putc(t->alignment[i] == 'r' ? 'r' : 'l', f);
    fputs("}\n\\toprule\n", f);
    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;

        if (!width[column])
            continue;
        latex_cell(f, t->cell[i], i < t->columns);
        fputs(column == last ? " \\\\\n" : " & ", f);
        if (column == last && i < t->columns)
            fputs("\\midrule\n", f);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", f);
}

/* ---- Markdown ---- */

static void markdown_text(FILE *f, const char *text)
{
    for (const char *c = text; *c; c++) {
        int within = c > text && isalnum((unsigned char)c[-1]) && isalnum((unsigned char)c[1]);

        if (strchr("\\`*<|~&$", *c) || (*c == '_' && !within) || (*c == ']' && c[1] == '(') ||
            (*c == '[' && c[1] == '^'))
            putc('\\', f);
        putc(*c, f);
    }
}

static void markdown(FILE *f, const struct table *t, const int *width)
{
    for (size_t i = 0; i < t->count; i++) {
        if (width[i % t->columns]) {
            fputs("| ", f);
            markdown_text(f, t->cell[i]);
            putc(' ', f);
        }
        if ((i + 1) % t->columns == 0)
            fputs("|\n", f);
        if (i + 1 == t->columns) {
            for (size_t k = 0; k < t->columns; k++)
                if (width[k])
                    fputs(t->alignment[k] == 'r' ? "|---:" : "|---", f);
            fputs("|\n", f);
        }
    }
}

/* ---- CSV ---- */

static void csv(FILE *f, const struct table *t, const int *width)
{
    const char *comma = "";

    for (size_t i = 0; i < t->count; i++) {
        if (width[i % t->columns]) {
            fputs(comma, f);
            csv_quote(f, t->cell[i]);
            comma = ",";
        }
        if ((i + 1) % t->columns == 0) {
            putc('\n', f);
            comma = "";
        }
    }
}

/* ---- all ---- */

/* Lines of text with the table: comments, or paragraphs. */
static void put_line(FILE *f, const char *line, enum table_format format)
{
    if (format != TABLE_MARKDOWN)
        fprintf(f, "%c %s\n", format == TABLE_LATEX ? '%' : '#', line);
    else {
        markdown_text(f, line);
        fputs("\n\n", f);
    }
}

int table_write(FILE *f, const struct table *t, enum table_format format)
{
    int *width =
        t->failed
            ? NULL
            : table_widths(t, format == TABLE_LATEX && !screen_is_wide() ? PAPER_COLUMNS : 0, 0);

    if (!width)
        return -1;
    if (t->caption)
        put_line(f, t->caption, format);
    if (format == TABLE_LATEX)
        latex(f, t, width);
    else if (format == TABLE_MARKDOWN)
        markdown(f, t, width);
    else
        csv(f, t, width);
    if (format == TABLE_MARKDOWN && t->notes)
        putc('\n', f);
    for (size_t i = 0; i < t->notes; i++)
        put_line(f, t->note[i], format);
    if (table_left_out(NULL, t, width)) {
        fputs("% --wide also has ", f);
        table_left_out(f, t, width);
        putc('\n', f);
    }
    free(width);
    return 0;
}

int table_html(FILE *f, const struct table *t)
{
    if (t->failed)
        return -1;
    fputs("<div class=wide tabindex=0 role=group aria-label=\"", f);
    html_text(f, t->caption ? t->caption : "table");
    fputs("\"><table>", f);
    if (t->caption) {
        fputs("<caption>", f);
        html_text(f, t->caption);
        fputs("</caption>", f);
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;
        const char *kind = i < t->columns ? "th scope=col" : column ? "td" : "th scope=row";

        fprintf(f, "%s<%s%s>",
                column ? ""
                : i    ? "\n<tr>"
                       : "\n<thead><tr>",
                kind, t->alignment[column] == 'r' ? " class=r" : "");
        html_text(f, t->cell[i]);
        fprintf(f, "</%.2s>%s", kind,
                column + 1 < t->columns ? ""
                : i < t->columns        ? "</tr></thead><tbody>"
                                        : "</tr>");
    }
    fputs("</tbody></table></div>\n", f);
    for (size_t i = 0; i < t->notes; i++) {
        fputs("<p class=about>", f);
        html_text(f, t->note[i]);
        fputs("</p>\n", f);
    }
    return 0;
}
