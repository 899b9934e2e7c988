/* The normal distribution: probabilities under mixtures of normals, and moments of truncated normals. */

#include <math.h>

#include "kernels.h"

#define ROOT_TWO 1.4142135623730951
#define ROOT_PI 1.7724538509055160
#define ROOT_TWO_PI 2.5066282746310005
#define LEAST_MASS 1e-300
#define LEAST_WIDTH 1e-12

static const double LARGE = 20;    /* from here on the tail equals its expansion, to the last digit but one */
static const double FAR = 1e3;     /* standard errors; from here on the variance is the tail's: squares would cancel */
static const double NONE = 45;    /* a density of e^−45 is nothing beside 1 */
static const double NARROW = 1e-3; /* of a standard error: the density is then constant over an interval */

/* Arrays: weights and scores (n, components), result (n,). Write Σ_c w_c Φ(z_c) of every row, at most 1. */
i64 mixture_probabilities(const Array *arrays, const i64 *numbers)
{
    const double *weights = arrays[0].data, *scores = arrays[1].data;
    double *result = arrays[2].data;
    i64 parts = arrays[0].shape[1];
    (void)numbers;
    for (i64 row = 0; row < arrays[0].shape[0]; row++) {
        double total = 0;
        for (i64 part = row * parts; part < (row + 1) * parts; part++)
            total += weights[part] * erfc(-scores[part] / ROOT_TWO) / 2;
        result[row] = fmin(total, 1);
    }
    return 0;
}

/* Return exp(z²)·erfc(z) for z ≥ 0. */
static double scaled_tail(double z)
{
    double square = 1 / (z * z);
    if (z < LARGE)
        return exp(z * z) * erfc(z);
    return (1 - square / 2 * (1 - 1.5 * square * (1 - 2.5 * square))) / (z * ROOT_PI);
}

/* Arrays (n,): x, sd, low, high; density, mean, variance. Write log mean density, mean and variance of normals
 * around x truncated to [low, high]. Neighbours often share the nearer end, and have no mass beyond the other.
 */
i64 truncate_normals(const Array *arrays, const i64 *numbers)
{
    const double *xs = arrays[0].data, *sds = arrays[1].data, *lows = arrays[2].data, *highs = arrays[3].data;
    double *density = arrays[4].data, *mean = arrays[5].data, *variance = arrays[6].data;
    double last = NAN, near_density = 0, near_mass = 0;
    (void)numbers;
    for (i64 i = 0; i < arrays[0].shape[0]; i++) {
        double x = xs[i], sd = sds[i], low = lows[i], high = highs[i];
        double width = high - low, middle = (low + high) / 2, distance = (middle - x) / sd;
        if (width / sd * (1 + fabs(distance)) < NARROW) {
            density[i] = -(distance * distance) / 2 - log(sd * ROOT_TWO_PI);
            mean[i] = middle;
            variance[i] = fmax(width, LEAST_WIDTH) * fmax(width, LEAST_WIDTH) / 12;
            continue;
        }
        double sign = distance < 0 ? -1 : 1; /* the nearer end comes first, so that tails stay exact */
        double near = (sign < 0 ? x - high : low - x) / sd, far = (sign < 0 ? x - low : high - x) / sd;
        double scale = near > 0 ? near * near / 2 : 0, far_density = 0, far_mass = near > 0 ? 0 : 1;
        if (near != last) {
            near_density = near > 0 ? 1 : exp(-near * near / 2);
            near_mass = near > 0 ? scaled_tail(near / ROOT_TWO) : erf(near / ROOT_TWO);
            last = near;
        }
        if (far * far / 2 - scale < NONE) { /* both tails on the near end's scale */
            far_density = exp(scale - far * far / 2);
            far_mass = near > 0 ? far_density * scaled_tail(far / ROOT_TWO) : erf(far / ROOT_TWO);
        }
        double mass = fmax((near > 0 ? near_mass - far_mass : far_mass - near_mass) / 2, LEAST_MASS);
        double pull = (near_density - far_density) / (ROOT_TWO_PI * mass);
        double spread = 1 + (near * near_density - far * far_density) / (ROOT_TWO_PI * mass) - pull * pull;
        if (near > FAR)
            spread = 1 / (near * near);
        density[i] = log(mass) - scale - log(fmax(width, LEAST_WIDTH));
        mean[i] = fmin(fmax(x + sign * sd * pull, low), high);
        variance[i] = fmax(fmin(sd * sd * spread, width * width / 12), LEAST_WIDTH * LEAST_WIDTH / 12);
    }
    return 0;
}
