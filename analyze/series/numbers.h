/* Arb is part of FLINT from version 3 on and has headers of its own before: the only place that knows. */
#ifndef REACH_ANALYZE_SERIES_ARB_H
#define REACH_ANALYZE_SERIES_ARB_H

#if __has_include(<flint/arb.h>)
#include <flint/acb.h>
#include <flint/acb_calc.h>
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#include <flint/arb_poly.h>
#include <flint/bernoulli.h>
#else
#include <acb.h>
#include <acb_calc.h>
#include <arb.h>
#include <arb_hypgeom.h>
#include <arb_poly.h>
#include <bernoulli.h>
#endif
#include <flint/fmpq.h>
#include <flint/fmpz.h>

#endif
