/* What `reach bias` prints: values, and the presets. */
#include "commands/bias.h"

#include "commands/screen.h"
#include "commands/table.h"

#include <stdio.h>
#include <string.h>

enum { HEADS_SHOWN = 8 };

void bias_print_presets(FILE *f)
{
    fputs("\nPresets (each with its parameters and their defaults; a parameter without one needs a "
          "value, in parentheses or by "
          "--set):\n",
          f);
    for (int i = 0; i < formula_preset_count; i++) {
        const struct formula_preset *p = &formula_presets[i];
        int many = strlen(p->parameters) > 30;
        const char *last = strrchr(p->parameters, ',');

        if (many)
            fprintf(f, "  %s(%.*s,...%s)\n", p->name, (int)strcspn(p->parameters, ","),
                    p->parameters, last ? last : "");
        else
            fprintf(f, "  %s%s%s%s\n", p->name, *p->parameters ? "(" : "", p->parameters,
                    *p->parameters ? ")" : "");
        fprintf(f, "      %s\n", p->summary);
        if (strlen(p->body) <= 90)
            fprintf(f, "      %s\n", p->body);
    }
}

static int print_values(const struct bias_run *r, const struct bias_values *v, struct error *e)
{
    const struct formula_argument *a = v->argument;
    const struct layer_bias *b = &a->set.biases[v->bias];
    int shown = v->rows < HEADS_SHOWN ? v->rows : HEADS_SHOWN,
        has_source = strcmp(b->formula->source, a->label) != 0 && strlen(b->formula->source) <= 100;
    char alignment[2 * HEADS_SHOWN + 2] = "r", layers[128], heads[48] = "";
    struct table *t;
    long length = r->options->length;

    bias_layers_text(layers, sizeof layers, &a->set, v->bias);
    if (v->rows > shown)
        snprintf(heads, sizeof heads, " (%d of %d heads)", shown, v->rows);
    for (int k = 0; k < shown; k++)
        strcat(alignment, "r1");
    t = table_create(alignment);
    if (t) {
        table_caption(t, "%s%s%s%s%s%s%s%s%s", a->label, layers[0] ? ", " : "", layers,
                      has_source ? ": " : "", has_source ? b->formula->source : "",
                      b->reason[0] ? " (the window alone: " : "", b->reason,
                      b->reason[0] ? ")" : "", heads);
        table_cell(t, "distance");
        for (int k = 0; k < shown; k++) {
            int head = shown == 1 ? 0 : k * (v->rows - 1) / (shown - 1);

            if (v->rows == 1)
                table_cell(t, "all heads");
            else
                table_cell(t, "head %d", head + 1);
        }
        for (long at = 0, next; at < length; at = next) {
            table_cell(t, "%ld", at);
            for (int k = 0; k < shown; k++) {
                int head = shown == 1 ? 0 : k * (v->rows - 1) / (shown - 1);

                table_cell(t, "%.6g", v->table[(size_t)head * (size_t)length + (size_t)at]);
            }
            next = at < 4                 ? at + 1
                   : (at & (at - 1)) == 0 ? at + at / 2
                                          : at / 3 * 4; /* 4 6 8 12 16 24 ... */
            if (next > length - 1 && at < length - 1)
                next = length - 1;
        }
    }
    return table_show(t, e);
}

int bias_print(const struct bias_run *r, struct error *e)
{
    int printed = 0;

    for (int i = 0; i < r->count; i++)
        for (int b = 0; b < r->arguments[i].set.bias_count; b++)
            if (!r->arguments[i].set.biases[b].formula) {
                char layers[128];

                bias_layers_text(layers, sizeof layers, &r->arguments[i].set, b);
                screen_say("%s%s%s%s: no bias: %s\n", printed++ ? "\n" : "",
                           screen_text(r->arguments[i].label), layers[0] ? ", " : "", layers,
                           screen_text(r->arguments[i].set.biases[b].reason));
            }
    for (int i = 0; i < r->value_count; i++)
        if (print_values(r, &r->values[i], e) != 0)
            return -1;
    return 0;
}
