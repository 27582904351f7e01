/* Which inputs see which targets in the perplexity protocols; and from negative log-likelihoods of
 * targets (NLL, natural logarithm) to perplexity, its standard error, and differences over the same
 * targets.
 *
 * PPL = exp(mean NLL) ([A] section 3.4); every target has the same weight, whatever block it was
 * scored in. Standard errors treat the targets as independent draws: neighbours in one text are not
 * quite independent, so over a running text they are somewhat too small. Sums run in order in
 * double. */
#ifndef REACH_ANALYZE_PERPLEXITY_H
#define REACH_ANALYZE_PERPLEXITY_H

#include <stddef.h>

struct perplexity {
    size_t tokens;
    double nll; /* mean over the targets */
    double std_error; /* of nll: sqrt(sum (x - nll)^2 / (n - 1) / n); NaN for one target */
    double ppl; /* exp(nll) */
};

/* Reduces nll[count], count >= 1, all finite. */
struct perplexity perplexity_of(const double *nll, size_t count);

/* The nats of all targets for each of `units`, such as the bytes of their text; NaN for none. */
double perplexity_each(const struct perplexity *p, size_t units);

/* Paired t-test: the mean of a[i] - b[i] over the same targets. */
struct perplexity_difference {
    double difference, std_error; /* std_error NaN for one target */
    double p; /* two-sided, Student's t with count - 1 degrees of freedom; 1 when all differences
                 are 0; NaN for one target */
};
struct perplexity_difference perplexity_compare(const double *a, const double *b, size_t count);

/* Half of its 95 % interval, by the same distribution; NaN for one target. */
double perplexity_margin(const struct perplexity_difference *d, size_t count);

/* Wilson's 95 % interval of a share among `count` > 0 independent draws: the shares p for which the
 * observed one is within 1.96 sqrt(p (1 - p) / count). */
void share_interval(double *lo, double *hi, double share, size_t count);

/* Which context, of `contexts` ascending ones, a target needs: the index of the first at which its
 * NLL is at most `within` above that at the last one. Its NLLs are `stride` apart. */
size_t context_needed(const double *nll, size_t contexts, size_t stride, double within);

/* One run of a model over a stream of tokens: it reads the inputs first .. first + inputs - 1, and
 * the tokens after the last `scored` of them are targets. Target token j has place j - 1 among all
 * targets, so these have the places from first + inputs - scored. */
struct window {
    size_t first, inputs, scored;
};

/* The windows of the stream protocols, of `context` <= tokens - 1 inputs. stride 0: consecutive
 * blocks, all of whose targets are scored; the last one may be shorter. stride 1 to context: the
 * first window scores all its targets, each later one ends `stride` tokens further, the final one
 * at the last token, still with `context` inputs, and scores the new targets. Either way every
 * token but the first is scored once. */
size_t window_count(size_t tokens, size_t context, size_t stride);
struct window window_at(size_t index, size_t tokens, size_t context, size_t stride);

/* P(|T| >= |t|) for Student's t with `degrees` > 0 degrees of freedom: I_x(degrees/2, 1/2) at x =
 * degrees / (degrees + t^2), the regularized incomplete beta function. Relative accuracy 1e-11,
 * falling to 1e-9 at ten million degrees. NaN for NaN. */
double student_two_sided(double t, double degrees);

#endif
