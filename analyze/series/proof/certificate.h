/* What a rule claims, in numbers: lines of doc/certificate.md. They are kept beside the proof for
 * people; where memory is short they are missing, and the verdict holds all the same. */
#ifndef REACH_ANALYZE_SERIES_PROOF_CERTIFICATE_H
#define REACH_ANALYZE_SERIES_PROOF_CERTIFICATE_H

#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/proof.h"

/* Adds a line to a text that may be NULL. */
void text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of the whole last piece: f = 0 (4.2) or constant (4.3). */
void certify_last(struct proof *f, const char *rule);
/* b(t) = shift + slope t on it. */
void certify_affine(struct proof *f, const arb_t shift, const arb_t slope);
void certify_rate(char **to, const char *rule, const fmpz_t X, const struct range *x);
/* f->residue, on [X, inf). */
void certify_residues(char **to, const struct proof *f, const fmpz_t X);
/* The verdict, the rule, and the sum from some distance on. NULL: no memory. Caller frees. */
char *proof_certificate(struct proof *f);

#endif
