// The P2 estimator.
#include "policy/quantile.h"

void quantile_start(struct quantile *quantile, double share) {
    *quantile = (struct quantile){.share = share};
}

// The first five, in order.
static void add_first(struct quantile *quantile, double value) {
    unsigned place = (unsigned)quantile->count++;
    for (; place > 0 && quantile->heights[place - 1] > value; place--)
        quantile->heights[place] = quantile->heights[place - 1];
    quantile->heights[place] = value;
    if (quantile->count < QUANTILE_MARKERS)
        return;
    const double wanted[QUANTILE_MARKERS] = {1, 1 + 2 * quantile->share, 1 + 4 * quantile->share,
                                             3 + 2 * quantile->share, 5};
    for (unsigned i = 0; i < QUANTILE_MARKERS; i++) {
        quantile->places[i] = i + 1;
        quantile->wanted[i] = wanted[i];
    }
}

static double parabolic(const struct quantile *quantile, unsigned i, double step) {
    const double *q = quantile->heights, *n = quantile->places;
    return q[i] + step / (n[i + 1] - n[i - 1]) *
                      ((n[i] - n[i - 1] + step) * (q[i + 1] - q[i]) / (n[i + 1] - n[i]) +
                       (n[i + 1] - n[i] - step) * (q[i] - q[i - 1]) / (n[i] - n[i - 1]));
}

static double linear(const struct quantile *quantile, unsigned i, double step) {
    const double *q = quantile->heights, *n = quantile->places;
    unsigned next = step > 0 ? i + 1 : i - 1;
    return q[i] + step * (q[next] - q[i]) / (n[next] - n[i]);
}

// Moves a marker by one place where it is off by at least that.
static void adjust(struct quantile *quantile, unsigned i) {
    double off = quantile->wanted[i] - quantile->places[i];
    bool up = off >= 1 && quantile->places[i + 1] - quantile->places[i] > 1;
    bool down = off <= -1 && quantile->places[i - 1] - quantile->places[i] < -1;
    if (!up && !down)
        return;
    double step = up ? 1 : -1;
    double height = parabolic(quantile, i, step);
    bool in_order = quantile->heights[i - 1] < height && height < quantile->heights[i + 1];
    quantile->heights[i] = in_order ? height : linear(quantile, i, step);
    quantile->places[i] += step;
}

void quantile_add(struct quantile *quantile, double value) {
    if (quantile->count < QUANTILE_MARKERS) {
        add_first(quantile, value);
        return;
    }
    quantile->count++;
    unsigned above = 1; // the first marker that moves up
    if (value < quantile->heights[0])
        quantile->heights[0] = value;
    else if (value >= quantile->heights[QUANTILE_MARKERS - 1])
        quantile->heights[QUANTILE_MARKERS - 1] = value;
    while (above < QUANTILE_MARKERS - 1 && value >= quantile->heights[above])
        above++;
    for (unsigned i = above; i < QUANTILE_MARKERS; i++)
        quantile->places[i]++;
    const double speeds[QUANTILE_MARKERS] = {0, quantile->share / 2, quantile->share, (1 + quantile->share) / 2, 1};
    for (unsigned i = 0; i < QUANTILE_MARKERS; i++)
        quantile->wanted[i] += speeds[i];
    for (unsigned i = 1; i < QUANTILE_MARKERS - 1; i++)
        adjust(quantile, i);
}

double quantile_value(const struct quantile *quantile) {
    if (quantile->count == 0)
        return 0;
    if (quantile->count > QUANTILE_MARKERS)
        return quantile->heights[QUANTILE_MARKERS / 2];
    unsigned place = (unsigned)(quantile->share * (double)quantile->count);
    return quantile->heights[place < quantile->count ? place : quantile->count - 1];
}
