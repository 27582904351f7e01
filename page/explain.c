#include "page/explain.h"

#include "io/formats/csv.h"
#include "page/escape.h"
#include "page/show.h"

#include <math.h>
#include <stdlib.h>

/* the files beside this one as C strings, made by the Makefile */
static const char style[] =
#include "page/page.css.inc"
#include "page/shades.css.inc"
#include "page/explain.css.inc"
    ;
static const char script[] =
#include "page/explain.js.inc"
    ;
/* for a page of several */
static const char style_of_many[] =
#include "page/explain_many.css.inc"
    ;
static const char script_of_many[] =
#include "page/explain_many.js.inc"
    ;

enum { TOP = 10, AROUND = 20, BEFORE = 40 };

static int put_quoted(FILE *f, const struct explanation *x, int32_t id)
{
    char *text = explanation_quoted(x, id);

    if (!text)
        return -1;
    fputs("<code>", f);
    html_text(f, text);
    fputs("</code>", f);
    free(text);
    return 0;
}

static int put_prediction(FILE *f, const struct explanation *x, const char *what,
                          struct prediction p)
{
    fprintf(f, "<tr><th scope=row>%s</th><td>", what);
    if (put_quoted(f, x, p.id) != 0)
        return -1;
    if (p.id < 0) /* several tokens */
        fputs("</td><td></td>", f);
    else
        fprintf(f, "</td><td>%d</td>", (int)p.id);
    if (isnan(p.logprob))
        fputs("<td></td><td></td></tr>\n", f);
    else
        fprintf(f, "<td>%.4f</td><td>%.3g&nbsp;%%</td></tr>\n", p.logprob, 100 * exp(p.logprob));
    return 0;
}

static int put_predictions(FILE *f, const struct explanation *x)
{
    int rc = 0;

    fputs("<table class=said><caption>The target and the likeliest other "
          "tokens</caption>\n<thead><tr><td></td><th "
          "scope=col>token</th>"
          "<th scope=col>id</th><th scope=col>log p</th><th scope=col>p</th></tr></thead><tbody>\n",
          f);
    rc |= put_prediction(f, x, "target", x->target);
    if (x->contrast)
        rc |= put_prediction(f, x, "against", x->against);
    for (size_t i = 0; i < x->alternative_count; i++)
        rc |= put_prediction(f, x, i ? "" : "others", x->alternative[i]);
    fputs("</tbody></table>\n", f);
    return rc;
}

/* The input of a row, quoted; a unit of several tokens is cut. */
static int put_input(FILE *f, const struct explanation *x, size_t i)
{
    struct error unused;
    struct around a;

    if (!x->by)
        return put_quoted(f, x, x->id[i]);
    if (around_make(&a, x, i, BEFORE, &unused) != 0)
        return -1;
    fputs("<code>&quot;", f);
    html_text(f, a.token);
    fputs("&quot;</code>", f);
    around_free(&a);
    return 0;
}

static int put_top_row(FILE *f, const struct explanation *x, size_t rank, double sum,
                       struct error *e)
{
    size_t i = x->change ? x->change_order[rank] : x->order[rank];
    struct around a;

    if (around_make(&a, x, i, AROUND, e) != 0)
        return -1;
    fprintf(f, "<tr data-i=%zu><td>%zu</td><td><a href=\"#\">%zu</a></td><td>%zu</td><td>", i,
            rank + 1, i + 1, x->count - 1 - i);
    put_input(f, x, i);
    fputs("</td><td>", f);
    if (x->change && !isnan(x->change[i]))
        fprintf(f, "%+.4f", x->change[i]);
    if (x->change)
        fputs("</td><td>", f);
    fprintf(f, "%.2f&nbsp;%%</td><td>", 100 * x->share[i]);
    if (!x->change)
        fprintf(f, "%.2f&nbsp;%%</td><td>", 100 * sum);
    fprintf(f, "%zu</td><td class=around>", x->line[i]);
    html_text(f, a.before);
    fputs("<mark>", f);
    html_text(f, a.token);
    fputs("</mark>", f);
    html_text(f, a.after);
    fputs("</td></tr>\n", f);
    around_free(&a);
    return 0;
}

static int put_top(FILE *f, const struct explanation *x)
{
    struct error unused;
    double sum = 0;
    int rc = 0;

    fprintf(f,
            "<table class=top id=top><caption>The %ss with the largest "
            "%s</caption>\n<thead><tr><th scope=col>rank</th><th "
            "scope=col>position</th><th scope=col>distance</th><th scope=col>%s</th><th "
            "scope=col>%s</th><th "
            "scope=col>%s</th><th "
            "scope=col>line</th><th scope=col>around it</th></tr></thead><tbody>\n",
            explanation_unit(x), x->change ? "changes of log p when left out" : "shares",
            explanation_unit(x), x->change ? "change" : "share", x->change ? "share" : "sum");
    for (size_t rank = 0; rank < x->count && rank < TOP && rc == 0; rank++) {
        sum += x->share[x->order[rank]]; /* shown without changes */
        rc = put_top_row(f, x, rank, sum, &unused);
    }
    fputs("</tbody></table>\n", f);
    return rc;
}

static void put_legend(FILE *f, const struct explanation *x)
{
    fprintf(f, "<p class=legend aria-label=\"shades by share of the %s\"><span>share 0</span>",
            show_share_of(x));
    for (int shade = 1; shade < SHADES; shade++)
        fprintf(f, "<i class=%c title=\"%.3g %%\">%s</i>", 'a' + shade - 1,
                100 * explanation_shade_share(x, shade), shade % 3 == 2 ? "&#8195;" : "&#8194;");
    fprintf(f, "<span>%.3g&nbsp;%%, by its root</span></p>\n",
            100 * explanation_shade_share(x, SHADES - 1));
}

/* The script's data. Only numbers, so that nothing in it can end the element. */
static void put_data(FILE *f, const struct explanation *x)
{
    char number[32];

    fputs("<script type=\"application/json\" id=data>{\"norm\":[", f);
    for (size_t i = 0; i < x->count; i++)
        fprintf(f, "%s%s", i ? "," : "", csv_format_real(number, x->norm[i]));
    fputs("],\"id\":[", f);
    for (size_t i = 0; i < x->count; i++)
        fprintf(f, "%s%d", i ? "," : "", (int)(x->by ? x->tokens->id[x->start[i]] : x->id[i]));
    fputs("],\"line\":[", f);
    for (size_t i = 0; i < x->count; i++)
        fprintf(f, "%s%zu", i ? "," : "", x->line[i]);
    for (size_t i = 0; x->change && i < x->count; i++)
        fprintf(f, "%s%s", i ? "," : "],\"change\":[",
                isnan(x->change[i]) ? "null" : csv_format_real(number, x->change[i]));
    fputs("]}</script>\n", f);
}

static void begin_page(FILE *f, const char *version, const char *model)
{
    html_begin(f, version, "script-src 'unsafe-inline'");
    fputs("<title>", f);
    html_text(f, model);
}

/* `level`: of the heading, 1 or 2. */
static int put_title(FILE *f, const struct explanation *x, int level)
{
    int rc;

    fprintf(f, "<header><h%d>What the prediction of ", level);
    rc = put_quoted(f, x, x->target.id);
    if (x->contrast) {
        fputs(", rather than ", f);
        rc |= put_quoted(f, x, x->against.id);
        fputs(",", f);
    }
    fprintf(f, " depended on</h%d></header>\n", level);
    return rc;
}

static void put_about(FILE *f, const struct explanation *x)
{
    size_t inputs = explanation_inputs(x);
    char rank[SHOW_RANK];

    show_rank(rank, x);
    fputs("<p class=about>", f);
    html_text(f, x->model);
    if (*x->position_encoding) {
        fputs(" (", f);
        html_text(f, x->position_encoding);
        fputs(")", f);
    }
    fprintf(f, ", %zu input%s, the target at position %zu%s", inputs, inputs == 1 ? "" : "s",
            inputs + 1, rank);
    if (x->segment)
        fprintf(f, ", segment %zu of a result", x->segment);
    fprintf(f, "; shares of %s with respect to the token embeddings%s%s.</p>\n",
            x->attribution[0] == 'g' ? "the norms of the gradient" : x->attribution,
            x->by ? ", summed by " : "", x->by ? x->by : "");
}

/* A sentence that contains a token. */
static int put_sentence(FILE *f, const struct explanation *x)
{
    char *text = NULL;
    size_t size;
    FILE *m = open_memstream(&text, &size);
    int rc = m ? show_sentence(m, x) : -1;

    if (m && fclose(m) != 0)
        rc = -1;
    if (rc == 0) {
        fputs("<p class=sentence>", f);
        html_text(f, text);
        fputs("</p>\n", f);
    }
    free(text);
    return rc;
}

/* The parts of a page that show one explanation, the text first, except for the scripts. The
 * script shows the map only beside a text that has to be scrolled. */
static int put_explanation(FILE *f, const struct explanation *x, int level)
{
    if (put_title(f, x, level) != 0)
        return -1;
    fputs("<nav aria-label=\"shades, steps and search\">\n", f);
    put_legend(f, x);
    fputs("<p class=tools>"
          "<a href=\"#about\">tables</a>"
          "<span class=wide>by share:</span>"
          "<button id=up type=button title=\"the token with the next larger share, key p\">previous"
          "</button><button id=down type=button title=\"the token with the next smaller share, key "
          "n\">next</button><span id=at aria-live=polite></span>\n"
          "<label>search <input id=find type=search title=\"key /\"></label>"
          "<button id=back type=button title=\"Shift+Enter\" "
          "aria-label=\"previous place\">&#8593;</button>"
          "<button id=on type=button title=\"Enter\" aria-label=\"next place\">&#8595;</button>"
          "<span id=found aria-live=polite></span></p>\n"
          "</nav>\n<main>\n",
          f);
    page_text(f, x);
    fputs("</main>\n<article id=about tabindex=-1>\n", f);
    if (put_sentence(f, x) != 0)
        return -1;
    put_about(f, x);
    fputs("<div class=tables>\n", f);
    if (put_predictions(f, x) != 0 || put_top(f, x) != 0)
        return -1;
    fputs("</div>\n<p class=\"about keys\">Keys: n and p go from token to token by share, l and h "
          "by place; / searches; Escape hides the values.</p>\n</article>\n<canvas id=map "
          "aria-hidden=true></canvas>\n<div id=tip role=status hidden></div>\n",
          f);
    return 0;
}

static void put_command(FILE *f, const char *command)
{
    fputs("<footer><code>", f);
    html_text(f, command);
    fputs("</code></footer>\n", f);
}

static int put_one(FILE *f, const struct explanation *x, const char *command, const char *version)
{
    begin_page(f, version, x->model);
    fprintf(f, ": what a prediction depended on</title>\n<style>\n%s</style>\n</head>\n<body>\n",
            style);
    if (put_explanation(f, x, 1) != 0)
        return -1;
    put_command(f, command);
    put_data(f, x);
    fprintf(f, "<script>\n%s</script>\n</body>\n</html>\n", script);
    return 0;
}

/* ---- several, of which one is shown at a time ---- */

static int put_index_row(FILE *f, const struct explanation *x, size_t number)
{
    struct error unused;
    struct around a;
    int rc;

    if (around_make(&a, x, x->count, BEFORE, &unused) != 0)
        return -1;
    fprintf(f, "<tr><td><a href=\"#%zu\">", number);
    if (x->name)
        html_text(f, x->name);
    else
        fprintf(f, "%zu", number);
    fprintf(f, "</a></td><td>%zu</td><td class=around>", explanation_inputs(x) + 1);
    html_text(f, a.before);
    fputs("</td><td>", f);
    rc = put_quoted(f, x, x->target.id);
    fprintf(f, "</td><td>%.4f</td><td>%.3g&nbsp;%%</td><td>%zu</td></tr>\n", x->target.logprob,
            100 * exp(x->target.logprob), x->half);
    around_free(&a);
    return rc;
}

static int put_index(FILE *f, const struct explanations *all)
{
    int rc = 0;

    fprintf(f, "<header><h1>What %zu predictions of ", all->count);
    html_text(f, all->item->model);
    fprintf(f,
            " depended on</h1></header>\n<div id=index><table><thead><tr><th "
            "scope=col>%s</th><th scope=col>position</th><th scope=col>before it</th><th "
            "scope=col>target</th><th scope=col>log p</th><th "
            "scope=col>p</th><th scope=col>half within</th></tr></thead><tbody>\n",
            all->item->name ? "prompt" : "number");
    for (size_t i = 0; i < all->count && rc == 0; i++)
        rc = put_index_row(f, &all->item[i], i + 1);
    fputs("</tbody></table></div>\n<p id=turn><button id=left type=button title=\"left "
          "arrow\">previous "
          "prediction</button><button id=right type=button title=\"right arrow\">next "
          "prediction</button><span "
          "id=which aria-live=polite></span></p>\n<div id=view></div>\n",
          f);
    return rc;
}

/* An explanation that is not shown yet is a template. The script of a page of one becomes a
 * function, which is called with a document and events that end where the next one is shown. */
static int put_many(FILE *f, const struct explanations *all, const char *command,
                    const char *version)
{
    begin_page(f, version, all->item->model);
    fprintf(f,
            ": what %zu predictions depended on</title>\n<style>\n%s%s</style>\n</head>\n<body>\n",
            all->count, style, style_of_many);
    if (put_index(f, all) != 0)
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        fprintf(f, "<template id=e%zu>\n", i + 1);
        if (put_explanation(f, &all->item[i], 2) != 0)
            return -1;
        put_data(f, &all->item[i]);
        fputs("</template>\n", f);
    }
    put_command(f, command);
    fprintf(f,
            "<script>\nconst explain = (document, addEventListener, matchMedia) => "
            "{\n%s};\n%s</script>\n</body>\n</html>\n",
            script, script_of_many);
    return 0;
}

int page_explain(FILE *f, const struct explanations *all, const char *command, const char *version)
{
    return all->count == 1 ? put_one(f, all->item, command, version)
                           : put_many(f, all, command, version);
}
