// A quantile of a stream, without keeping the stream: five markers whose heights move along parabolas (Jain and
// Chlamtac, "The P2 algorithm for dynamic calculation of quantiles and histograms without storing observations", 1985).
#ifndef POLICY_QUANTILE_H
#define POLICY_QUANTILE_H

#include "base/compiler.h"

#define QUANTILE_MARKERS 5

struct quantile {
    double share; // which: 0.99 for p99
    uint64_t count;
    double heights[QUANTILE_MARKERS];
    double places[QUANTILE_MARKERS];
    double wanted[QUANTILE_MARKERS];
};

INTERNAL void quantile_start(struct quantile *quantile, double share);
INTERNAL void quantile_add(struct quantile *quantile, double value);
// The estimate; exact up to five values, 0 where there are none.
INTERNAL double quantile_value(const struct quantile *quantile);

#endif
