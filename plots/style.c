#include "plots/style.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const legend_places[] = {"below",        "top-left", "top-right", "bottom-left",
                                     "bottom-right", "none",     NULL};

enum { LEGEND = 1, X_LOG = 2, COLOURS = 4, PANELS_MAX = 3 };

/* Options of a figure in addition to size, font and title. */
static const struct figure_kind {
    const char *stem;
    unsigned takes;
    const char *panels[PANELS_MAX]; /* ended by NULL */
    const char *x_axis; /* why there is no --xlog */
} kinds[] = {
    {"erf", LEGEND | X_LOG | COLOURS, {"head", "tail"}, NULL},
    {"steps", LEGEND | X_LOG | COLOURS, {"field", "share"}, NULL},
    {"layers", 0, {"map", "tail"}, "its axis of tokens is logarithmic already"},
    {"targets", LEGEND | COLOURS, {NULL}, "its axis of positions is logarithmic already"},
    {"attention", 0, {NULL}, "its axis counts heads"},
    {"heads", 0, {NULL}, "its axis counts heads"},
    {"ladder", LEGEND | COLOURS, {NULL}, "its axis of tokens is logarithmic already"},
    {"ppl", LEGEND | COLOURS, {"ppl", "ratio"}, "its axis of contexts is logarithmic already"},
    {"gain", LEGEND | COLOURS, {NULL}, "its axis of contexts is logarithmic already"},
    {"validation",
     LEGEND | COLOURS,
     {"size", "share"},
     "its axis of tokens is logarithmic already"},
    {"fields", LEGEND, {NULL}, "its axis of tokens is logarithmic already"},
    {"epsilon", LEGEND | COLOURS, {NULL}, "its axis of eps is logarithmic where the range is wide"},
    {"trf", LEGEND | COLOURS, {"weight", "tail"}, "its axis of tokens is logarithmic already"},
    {"bias", LEGEND | COLOURS, {"linear", "log"}, "it has a panel for that: --panels log"},
    {"matrix", 0, {"bias", "attention"}, "its axes are positions in a matrix"},
    {"fit", LEGEND | COLOURS, {"linear", "log"}, "it has a panel for that: --panels log"},
};

static const struct figure_kind *kind_of(const char *stem)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].stem, stem) == 0)
            return &kinds[i];
    return &kinds[0]; /* a figure of curves under another name */
}

int figure_has_panel(const char *panels, const char *name)
{
    size_t length = strlen(name);

    for (const char *p = panels; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == length && strncmp(p, name, length) == 0)
            return 1;
    return !panels;
}

/* Every name of --panels must be one of the figure's. */
static int check_panels(const struct figure_kind *k, const char *panels, struct error *e)
{
    for (const char *p = panels;; p++) {
        size_t length = strcspn(p, ",");
        int known = 0;

        for (int i = 0; k->panels[i]; i++)
            known |= strlen(k->panels[i]) == length && strncmp(k->panels[i], p, length) == 0;
        if (!known && k->panels[0])
            return fail(
                e, "--panels: %s.gp has no panel \"%.*s\" (expected %s, %s, or both with a comma)",
                k->stem, (int)length, p, k->panels[0], k->panels[1]);
        if (!known)
            return fail(
                e, "--panels: %s.gp has no panels to choose from (expected --figure with another)",
                k->stem);
        p += length;
        if (!*p)
            return 0;
    }
}

int figure_check_style(const char *stem, const struct figure_style *s, struct error *e)
{
    const struct figure_kind *k = kind_of(stem);

    if (strcmp(k->stem, "matrix") == 0 && figure_has_panel(s->formats, "tikz"))
        return fail(
            e, "--format tikz: matrix.gp has too many cells for TeX (expected pdf, png or svg)");
    if (s->panels && check_panels(k, s->panels, e) != 0)
        return -1;
    if (s->logarithmic_x && !(k->takes & X_LOG))
        return fail(e, "--xlog: is not for %s.gp: %s", k->stem, k->x_axis);
    if (s->legend && !(k->takes & LEGEND))
        return fail(e, "--legend: %s.gp has none (expected --figure with another)", k->stem);
    if (s->sequential && !(k->takes & COLOURS))
        return fail(e,
                    "--colours: %s.gp has no colours for its curves to choose (expected --figure "
                    "with another)",
                    k->stem);
    return 0;
}

int figure_read_length(const char *text, double *mm, int *is_pixels, struct error *e)
{
    static const struct {
        const char *name;
        double mm;
    } units[] = {{"mm", 1}, {"cm", 10}, {"in", 25.4}, {"pt", 25.4 / 72}, {"px", 25.4 / 96}};
    char *end;
    double value = strtod(text, &end);

    if (!(isdigit((unsigned char)text[0]) || text[0] == '.') ||
        tolower((unsigned char)text[1]) == 'x') /* strtod takes blanks, signs and 0x50 */
        end = (char *)text;
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && value * units[i].mm >= 20 &&
            value * units[i].mm <= 2000) {
            *mm = value * units[i].mm;
            *is_pixels = strcmp(end, "px") == 0;
            return 0;
        }
    return fail(e,
                "\"%s\" is not a length for a picture (expected 20mm to 2000mm, as 85mm, 8.5cm, "
                "3.3in, 240pt or 1200px)",
                text);
}
