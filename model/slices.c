/* Blocks whose rows a recurrence alone mixes, computed by slices of positions when whole segments
 * do not fit: all but the recurrence goes row by row. Whole remain the inputs and outputs of the
 * block and of the recurrence; what forward keeps for reverse is made again, of one slice at a
 * time. The last rows that each slice gives to the convolution are kept for the next one. Slices
 * are cut where sets cut their products, so they change no byte. */
#include "model/engine_parts.h"

static int sliced(const struct shape *s, int l)
{
    const struct block *b = &s->d->blocks[l];
    return s->slices && block_recurs(b) && !block_mixes_time(b) && !block_attends(b) &&
           !block_convolves(b) && b->residual == RESIDUAL_SEQUENTIAL && !b->residual_from_norm &&
           !b->experts.routing.experts && !b->laurel.down.weight.data && !b->gate_cut.present &&
           !b->side.gate.weight.data && b->factor == 0 && !s->d->streams.count &&
           (s->queries[l] == s->keys[l] || s->queries[l] < SLICE_ROWS); /* fewer than a slice has */
}

int slices_count(const struct shape *s, int l)
{
    int count = s->keys[l] / SLICE_ROWS;
    return count > 1 && sliced(s, l) ? count : 0;
}

/* The first row of a slice; of the one after the last, the number of rows. */
static int slice_begin(const struct shape *s, int l, int number)
{
    int count = slices_count(s, l), tiles = s->keys[l] / SLICE_TILE;
    return number == count ? s->keys[l]
                           : (int)(((int64_t)number * tiles + count - 1) / count) * SLICE_TILE;
}

int slices_rows(const struct shape *s, int l)
{
    int count = slices_count(s, l), most = count ? 0 : s->keys[l];
    for (int i = 0; i < count; i++) {
        int rows = slice_begin(s, l, i + 1) - slice_begin(s, l, i);
        most = rows > most ? rows : most;
    }
    return most;
}

int slices_queries(const struct shape *s, int l)
{
    int rows = slices_rows(s, l);
    return s->queries[l] < rows ? s->queries[l] : rows;
}

int slices_open(struct engine *g, struct error *e)
{
    static const enum buffer_role roles[VIEWS] = {
        [VIEW_X] = ROLE_RESIDUAL,       [VIEW_OUT] = ROLE_RESIDUAL, [VIEW_GATES] = ROLE_RESIDUAL,
        [VIEW_D_GATES] = ROLE_RESIDUAL, [VIEW_DX] = ROLE_RESIDUAL,  [VIEW_DY] = ROLE_RESIDUAL};
    for (int i = 0; g->shape.slices && i < VIEWS; i++)
        if (!(g->views[i] = g->k->create(g->k, roles[i], 0, e)))
            return -1;
    return 0;
}

void slices_close(struct engine *g)
{
    for (int i = 0; i < VIEWS; i++) {
        g->k->destroy(g->k, g->views[i]);
        g->views[i] = NULL;
    }
}

/* A slice of block l: all that is of whole segments stands for its rows from slice_enter to
 * slice_leave. */
struct slice {
    int l, number, first, rows; /* of the block's keys */
    int queries; /* rows of the block's output */
    int before, after; /* rows of the convolution's reach next to it */
    int keys, all_queries; /* of the whole block */
    struct buffer **place[VIEWS], *whole[VIEWS];
};

static struct slice slice_of(const struct engine *g, int l, int number)
{
    const struct shape *s = &g->shape;
    int first = slice_begin(s, l, number), last = number + 1 == slices_count(s, l),
        reach = s->d->blocks[l].mixer.recurrence.reach - 1;
    struct slice it = {.l = l,
                       .number = number,
                       .first = first,
                       .rows = slice_begin(s, l, number + 1) - first,
                       .before = number ? reach : 0,
                       .after = last ? 0 : reach,
                       .keys = s->keys[l],
                       .all_queries = s->queries[l]};
    it.queries = it.all_queries == it.keys ? it.rows : last ? it.all_queries : 0;
    return it;
}

static void stand_for(struct engine *g, struct slice *it, enum slice_view which,
                      struct buffer **place, int width)
{
    if (!*place)
        return;
    g->k->aim(g->k, g->views[which], *place, (size_t)it->first * (size_t)width);
    it->place[which] = place, it->whole[which] = *place;
    *place = g->views[which];
}

/* dx and dy: gradients of the block's input and, if it has as many rows, output. NULL: none. */
static void slice_enter(struct engine *g, struct slice *it, struct buffer **dx, struct buffer **dy)
{
    const struct block *b = &g->d->blocks[it->l];
    int hidden = g->d->hidden, width = block_recurrence_width(b), made = block_gate_width(b),
        gates = block_steps_width(b), factors = block_factors_width(b);
    struct layer *s = &g->layers[it->l];
    stand_for(g, it, VIEW_X, &s->x, hidden);
    stand_for(g, it, VIEW_QKV, &g->qkv, width);
    stand_for(g, it, VIEW_GATES, &g->gates, gates);
    stand_for(g, it, VIEW_DKV, &g->dkv, width);
    stand_for(g, it, VIEW_D_GATES, &g->d_gates, gates);
    stand_for(g, it, VIEW_FACTORS, &g->factors, factors);
    stand_for(g, it, VIEW_D_FACTORS, &g->d_factors, factors);
    if (dx)
        stand_for(g, it, VIEW_DX, dx, hidden);
    if (it->all_queries == it->keys) {
        stand_for(g, it, VIEW_OUT, &g->layers[it->l + 1].x, hidden);
        stand_for(g, it, VIEW_RAW, &s->raw_recurred, made);
        stand_for(g, it, VIEW_DZ, &g->dz, made);
        if (dy)
            stand_for(g, it, VIEW_DY, dy, hidden);
    }
    g->shape.keys[it->l] = it->rows, g->shape.queries[it->l] = it->queries;
}

static void slice_leave(struct engine *g, const struct slice *it)
{
    for (int i = 0; i < VIEWS; i++)
        if (it->place[i])
            *it->place[i] = it->whole[i];
    g->shape.keys[it->l] = it->keys, g->shape.queries[it->l] = it->all_queries;
    g->rounded_of = NULL; /* a view's rows are others with the next slice */
}

/* Copies `rows` rows of g->mixed, from row `at` on, to those that the convolution of slice `number`
 * reads before its own, or back. */
static void pass_border(struct engine *g, const struct slice *it, int number, int at, int back)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[it->l];
    int width = block_recurrence_width(b), reach = b->mixer.recurrence.reach - 1;
    struct buffer *mixed = g->views[VIEW_MIXED], *border = g->views[VIEW_BORDER];
    if (!reach)
        return;
    k->aim(k, mixed, g->mixed, (size_t)at * (size_t)width);
    k->aim(k, border, g->borders, (size_t)(number * reach) * (size_t)width);
    k->copy(k, back ? mixed : border, back ? border : mixed, (struct rows){1, reach}, width);
}

/* g->y, what the recurrence reads of the slice, and in reverse what that was made of. */
static void slice_operands(struct engine *g, const struct slice *it)
{
    struct layer *s = &g->layers[it->l];
    forward_norm(g, g->y, s->statistics_1, s->x, &g->blocks[it->l].attention_norm,
                 (struct rows){1, it->rows});
    if (it->before)
        pass_border(g, it, it->number - 1, 0, 1);
    recurrence_project(g, it->l, 1, it->before);
    if (it->after)
        pass_border(g, it, it->number, it->before + it->rows - it->after, 0);
    recurrence_operands(g, it->l, 1, it->first);
}

/* The rest of a slice of as many queries, after the recurrence. */
static int slice_rest(struct engine *g, const struct slice *it, int only_kept, struct error *e)
{
    struct layer *s = &g->layers[it->l];
    forward_norm(g, g->y, s->statistics_1, s->x, &g->blocks[it->l].attention_norm,
                 (struct rows){1, it->rows});
    recurrence_gate(g, it->l, g->y, 1);
    return forward_rest(g, it->l, g->y, 1, only_kept, e);
}

int slices_forward(struct engine *g, int l, int only_kept, struct error *e)
{
    int count = slices_count(&g->shape, l), queries = g->shape.queries[l],
        equal = queries == g->shape.keys[l], rc = 0;
    for (int i = 0; i < count; i++) {
        struct slice it = slice_of(g, l, i);
        slice_enter(g, &it, NULL, NULL);
        slice_operands(g, &it);
        if (!equal && i + 1 == count)
            g->k->tail(g->k, g->t, g->y, 1, queries, it.rows, g->d->hidden);
        slice_leave(g, &it);
    }
    recurrence_recur(g, l, 1);
    if (!equal) {
        recurrence_gate(g, l, g->t, 1);
        return forward_rest(g, l, g->t, 1, only_kept, e);
    }
    for (int i = 0; i < count && !only_kept && rc == 0; i++) {
        struct slice it = slice_of(g, l, i);
        slice_enter(g, &it, NULL, NULL);
        rc = slice_rest(g, &it, 0, e);
        slice_leave(g, &it);
    }
    return rc;
}

/* From the gradient dy of the block's output, or of a slice of it, to that of the recurrence's
 * output, in g->t. */
static int to_recurrence(struct engine *g, int l, struct buffer *dx, struct buffer *dy,
                         struct error *e)
{
    struct buffer *branch = reverse_rest(g, l, dx, dy, 1, e);
    if (!branch)
        return -1;
    reverse_recurrence_out(g, l, branch, 1);
    recurrence_gate_reverse(g, l, 1);
    return 0;
}

int slices_reverse(struct engine *g, int l, struct buffer **dx, struct buffer **dy, struct error *e)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    int count = slices_count(&g->shape, l), equal = g->shape.queries[l] == g->shape.keys[l], rc = 0;
    struct buffer *to = *dx, *from = *dy;
    if (!equal && to_recurrence(g, l, to, from, e))
        return -1;
    for (int i = 0; i < count && equal && rc == 0; i++) {
        struct slice it = slice_of(g, l, i);
        slice_enter(g, &it, &to, &from);
        rc = slice_rest(g, &it, 1, e) || to_recurrence(g, l, to, from, e) ? -1 : 0;
        k->copy(k, g->layers[l].raw_recurred, g->t, (struct rows){1, it.rows}, block_gate_width(b));
        slice_leave(g, &it);
    }
    if (rc)
        return -1;
    recurrence_recur_reverse(g, l, equal ? g->layers[l].raw_recurred : g->t, 1);
    for (int i = count; i-- > 0;) {
        struct slice it = slice_of(g, l, i);
        slice_enter(g, &it, &to, &from);
        slice_operands(g, &it);
        recurrence_project_reverse(g, l, 1, it.first, it.after, 0);
        if (it.queries)
            reverse_output_gate(g, l, g->blocks[l].recurrence_gate.weight,
                                g->blocks[l].recurrence_gate_down.weight, 1);
        struct buffer *in = to, *out = from; /* which it may swap */
        reverse_input(g, l, &in, &out, 1);
        slice_leave(g, &it);
    }
    if (equal) {
        struct buffer *swap = *dx;
        *dx = *dy, *dy = swap;
    }
    return 0;
}
