/* Frequencies of rotary positions and their published scalings. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int family_rotary_plain(struct decoder *d, int size, double base, enum rotary_pairing pairing, struct error *e)
{
    d->position = POSITION_ROTARY;
    d->rotary.size = size;
    d->rotary.pairing = pairing;
    d->rotary.frequency = calloc((size_t)(size / 2 ? size / 2 : 1), sizeof *d->rotary.frequency);
    if (!d->rotary.frequency)
        return fail_memory(e, size / 2 * 8.0, "rotary frequencies");
    for (int i = 0; i < size / 2; i++)
        d->rotary.frequency[i] = pow(base, -2.0 * i / size);
    return 0;
}

/* Llama 3's scaling by wavelength: long waves are slowed by `factor`, short ones kept, a linear blend of the two between. */
static int scale_llama3(struct decoder *d, const char *root, struct error *e)
{
    double factor, low, high, original;
    char key[64];
    snprintf(key, sizeof key, "%s.factor", root);
    if (config_real_or(d->config, key, 1e-6, 1e6, NAN, &factor, e))
        return -1;
    snprintf(key, sizeof key, "%s.low_freq_factor", root);
    if (config_real_or(d->config, key, 1e-6, 1e6, NAN, &low, e))
        return -1;
    snprintf(key, sizeof key, "%s.high_freq_factor", root);
    if (config_real_or(d->config, key, 1e-6, 1e6, NAN, &high, e))
        return -1;
    snprintf(key, sizeof key, "%s.original_max_position_embeddings", root);
    if (config_real_or(d->config, key, 1, 1e9, NAN, &original, e))
        return -1;
    if (isnan(factor) || isnan(low) || isnan(high) || isnan(original) || low == high)
        return fail(e, "%s: %s of type llama3 needs factor, low_freq_factor, high_freq_factor and original_max_position_embeddings",
                    config_path(d->config), root);
    for (int i = 0; i < d->rotary.size / 2; i++) {
        double f = d->rotary.frequency[i], wavelength = 2 * M_PI / f;
        if (wavelength > original / low)
            f /= factor;
        else if (!(wavelength < original / high)) {
            double m = (original / wavelength - low) / (high - low);
            f = (1 - m) * f / factor + m * f;
        }
        d->rotary.frequency[i] = f;
    }
    return 0;
}

int family_rope(struct decoder *d, const char *theta_key, const char *fraction_key, double fraction, struct error *e)
{
    struct config *c = d->config;
    double theta;
    const char *type = "default", *old = "default", *root = "rope_scaling";
    if (config_real_or(c, theta_key, 1e-6, 1e12, 10000, &theta, e) || config_real_or(c, "rope_parameters.rope_theta", 1e-6, 1e12, theta, &theta, e) ||
        config_real_or(c, fraction_key, 0, 1, fraction, &fraction, e) ||
        config_real_or(c, "rope_parameters.partial_rotary_factor", 0, 1, fraction, &fraction, e))
        return -1;
    if (config_has(c, "rope_parameters"))
        root = "rope_parameters";
    else if (config_string_or(c, "rope_scaling.type", "default", &old, e))
        return -1;
    char key[64];
    snprintf(key, sizeof key, "%s.rope_type", root);
    if (config_string_or(c, key, old, &type, e))
        return -1;

    int size = (int)(d->head_size * fraction);
    size -= size % 2;
    if (family_rotary_plain(d, size, theta, PAIRING_HALF, e))
        return -1;
    const char *scaled = "";
    if (strcmp(type, "linear") == 0) {
        double factor;
        snprintf(key, sizeof key, "%s.factor", root);
        if (config_real_or(c, key, 1e-6, 1e6, NAN, &factor, e))
            return -1;
        if (isnan(factor))
            return fail(e, "%s: %s of type linear needs factor", config_path(c), root);
        for (int i = 0; i < size / 2; i++)
            d->rotary.frequency[i] /= factor;
        scaled = ", linear scaling";
    } else if (strcmp(type, "llama3") == 0) {
        if (scale_llama3(d, root, e))
            return -1;
        scaled = ", llama3 scaling";
    } else if (strcmp(type, "default") != 0) {
        return fail(e, "%s: rotary scaling '%s' is not supported (supported: default, linear, llama3)", config_path(c), type);
    }
    snprintf(d->position_text, sizeof d->position_text, "rotary, base %.10g%s", theta, scaled);
    return 0;
}
