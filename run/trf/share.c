/* How much of the weight of all layers lies within the training length, by
 * analyze/kernel_share.h. */
#include "run/trf/trf.h"

#include "analyze/kernel_share.h"
#include "run/models.h"

#include <math.h>
#include <stdlib.h>

/* Longer training lengths would need kernels of more than a million distances. */
enum { LENGTH_MOST = 1 << 17 };

/* kernel[distances]: exp(b) over its sum, mean over heads. 1, or 0 if a head has no sum, or -1. */
static int mean_kernel(double *kernel, const struct formula_argument *a, const struct layer_bias *b,
                       size_t distances, struct error *e)
{
    size_t rows = (size_t)bias_rows(&a->set, b);
    double *table = calloc(rows * distances, sizeof *table);
    int rc = 1;

    if (!table)
        return fail_memory(e, (double)(rows * distances) * sizeof *table, "the kernel of a bias");
    if (bias_table(table, &a->set, b, distances, a->label, e) != 0)
        rc = -1;
    for (size_t h = 0; h < rows && rc == 1; h++) {
        double *f = table + h * distances, most = -INFINITY, sum = 0;

        for (size_t t = 0; t < distances; t++)
            most = fmax(most, f[t]);
        if (most == -INFINITY) {
            rc = 0;
            break;
        }
        for (size_t t = 0; t < distances; t++)
            sum += f[t] = exp(f[t] - most);
        for (size_t t = 0; t < distances; t++)
            kernel[t] += f[t] / sum / (double)rows;
    }
    free(table);
    return rc;
}

/* 1 if every layer of the model, or the formula, is only a bias by distance. */
static int is_known(const struct formula_argument *a)
{
    for (int b = 0; b < a->set.bias_count; b++)
        if (!a->set.biases[b].formula || a->set.biases[b].reason[0])
            return 0;
    return a->set.bias_count > 0;
}

static int find_share(struct trf_share *out, const struct formula_argument *a, struct error *e)
{
    size_t distances = SHARE_DISTANCES * out->train_length;
    size_t count = (size_t)a->set.bias_count;
    double *kernels = calloc(count * distances, sizeof *kernels);
    const double **kernel = calloc(count, sizeof *kernel);
    int *layers = calloc(count, sizeof *layers), rc = 1;

    if (!kernels || !kernel || !layers)
        rc = fail_memory(e, (double)(count * distances) * sizeof *kernels,
                         "the kernels of a model");
    for (size_t b = 0; b < count && rc == 1; b++) {
        kernel[b] = kernels + b * distances;
        layers[b] = a->set.layers ? 0 : out->layers;
        for (int l = 0; l < a->set.layers; l++)
            layers[b] += a->set.bias_of_layer[l] == (int)b;
        rc = mean_kernel(kernels + b * distances, a, &a->set.biases[b], distances, e);
    }
    if (rc == 1)
        out->share = kernel_share(kernel, layers, (int)count, distances, out->train_length);
    free(layers);
    free(kernel);
    free(kernels);
    return rc < 0 ? -1 : 0;
}

long trf_train_length(const struct trf_run *r, int argument)
{
    int own = r->arguments[argument].set.train_length;

    return own ? own : r->options->train_length;
}

int trf_shares(struct trf_run *r, struct error *e)
{
    const struct trf_options *o = r->options;
    int taken = 0, rc = 0;

    for (int i = 0; i < r->count; i++)
        taken |= !r->arguments[i].set.train_length ||
                 r->arguments[i].set.train_length == o->train_length;
    if (o->train_length && !taken)
        return models_refuse_length(e);
    r->shares = calloc((size_t)r->count + 1, sizeof *r->shares);
    if (!r->shares)
        return fail_memory(e, (double)r->count * sizeof *r->shares, "shares of kernels");
    for (int i = 0; i < r->count && rc == 0; i++) {
        const struct formula_argument *a = &r->arguments[i];
        struct trf_share *out = &r->shares[i];

        out->train_length = (size_t)trf_train_length(r, i);
        out->layers = a->set.layers ? a->set.layers : (int)o->layers;
        out->share = NAN;
        if (out->train_length && out->train_length <= LENGTH_MOST && is_known(a))
            rc = find_share(out, a, e);
    }
    return rc;
}
