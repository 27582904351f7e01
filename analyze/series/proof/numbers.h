/* The number libraries, and numbers that are cleared where their block ends. Arb is part of FLINT
 * from version 3 on and has headers of its own before: the only place that knows. */
#ifndef REACH_ANALYZE_SERIES_PROOF_NUMBERS_H
#define REACH_ANALYZE_SERIES_PROOF_NUMBERS_H

#include <stdio.h> /* first: GMP and MPFR print to files only where it came before */

#include <mpfr.h> /* next: FLINT 3 knows its numbers only where it came before */

#if __has_include(<flint/arb.h>)
#include <flint/acb.h>
#include <flint/acb_calc.h>
#include <flint/acb_poly.h>
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#include <flint/arb_poly.h>
#include <flint/bernoulli.h>
#else
#include <acb.h>
#include <acb_calc.h>
#include <acb_poly.h>
#include <arb.h>
#include <arb_hypgeom.h>
#include <arb_poly.h>
#include <bernoulli.h>
#endif
#include <flint/fmpq.h>
#include <flint/fmpz.h>
#include <flint/fmpz_poly.h>
#include <flint/fmpz_vec.h>
#include <flint/ulong_extras.h>
#include <mpfi.h>

/* LOCAL(arb, x, y); are balls x and y, 0 at first and cleared however their block is left; so for
 * all types below. LOCAL_INTERVAL(prec, x, y); are MPFI's, LOCAL_REAL those of MPFR: not a number
 * at first. */
#define LOCAL(type, ...) LOCAL_EACH(LOCAL_ONE, type, __VA_ARGS__)
#define LOCAL_INTERVAL(prec, ...) LOCAL_EACH(LOCAL_MPFI, prec, __VA_ARGS__)
#define LOCAL_REAL(prec, ...) LOCAL_EACH(LOCAL_MPFR, prec, __VA_ARGS__)

/* clang-format off */
#define LOCAL_ONE(type, x) type##_t x __attribute__((cleanup(type##_leave))); type##_init(x)
#define LOCAL_MPFI(prec, x) mpfi_t x __attribute__((cleanup(mpfi_leave))); mpfi_init2(x, prec)
#define LOCAL_MPFR(prec, x) mpfr_t x __attribute__((cleanup(mpfr_leave))); mpfr_init2(x, prec)

#define LOCAL_1(one, k, x) one(k, x)
#define LOCAL_2(one, k, x, ...) one(k, x); LOCAL_1(one, k, __VA_ARGS__)
#define LOCAL_3(one, k, x, ...) one(k, x); LOCAL_2(one, k, __VA_ARGS__)
#define LOCAL_4(one, k, x, ...) one(k, x); LOCAL_3(one, k, __VA_ARGS__)
#define LOCAL_5(one, k, x, ...) one(k, x); LOCAL_4(one, k, __VA_ARGS__)
#define LOCAL_6(one, k, x, ...) one(k, x); LOCAL_5(one, k, __VA_ARGS__)
#define LOCAL_COUNT(a, b, c, d, e, f, chosen, ...) chosen
#define LOCAL_EACH(one, k, ...) \
    LOCAL_COUNT(__VA_ARGS__, LOCAL_6, LOCAL_5, LOCAL_4, LOCAL_3, LOCAL_2, LOCAL_1, ) \
    (one, k, __VA_ARGS__)

#define LOCAL_LEAVE(type) static inline void type##_leave(type##_t *x) { type##_clear(*x); }
LOCAL_LEAVE(acb)
LOCAL_LEAVE(acb_poly)
LOCAL_LEAVE(arb)
LOCAL_LEAVE(arb_poly)
LOCAL_LEAVE(arf)
LOCAL_LEAVE(fmpq)
LOCAL_LEAVE(fmpz)
LOCAL_LEAVE(fmpz_poly)
LOCAL_LEAVE(mag)
LOCAL_LEAVE(mpfi)
LOCAL_LEAVE(mpfr)
LOCAL_LEAVE(mpq)
LOCAL_LEAVE(mpz)
#undef LOCAL_LEAVE
/* clang-format on */

#endif
