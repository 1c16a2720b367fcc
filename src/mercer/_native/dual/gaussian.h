/* Values of a Gaussian kernel from dot products, in float: factor times 2^(rate s), s the squared distance of one row to
   each of the others, rate below zero.

   Half the operations of exp(-c s) by elementary.h: an argument that is itself rounded, c s, needs no reduction in two
   parts. With AVX-512 a value takes 0.33 ns instead of 0.68. The error is that of rounding the argument, twice, and less
   than two units in the last place beside. Values below 2^-125 are zero.

   2^r = 1 + r q(r) for |r| <= 1/2, q by tools/polynomials.py: exactly 1 at distance zero. All values go through one loop
   of a fixed length, so that which of its operations are fused does not depend on their places. */

#define GAUSSIAN_LANES 32

static DOT_FUSED void mercer_float_gaussian(float square, const float *restrict others, const float *restrict dots,
                                            float rate, float factor, Py_ssize_t count, float *restrict out)
{
    DOT_PRAGMA
    float lengths[GAUSSIAN_LANES] = {0.0f}, values[GAUSSIAN_LANES];
    for (Py_ssize_t first = 0; first < count; first += GAUSSIAN_LANES) {
        const Py_ssize_t left = count - first;
        const float *other = others + first, *dot = dots + first;
        float *to = out + first;
        if (left < GAUSSIAN_LANES) {
            memcpy(lengths, other, left * sizeof *other);
            other = lengths;
            to = values;
        }
        for (int lane = 0; lane < GAUSSIAN_LANES; lane++) {
            const float s = (square + other[lane]) - 2.0f * dot[lane];
            const float power = rate * (s > 0.0f ? s : 0.0f);
            const float t = power > -125.0f ? power : -125.0f;
            /* Adding 1.5 * 2^23 leaves no bits for a fraction; the integer is the low end of the word. */
            const float whole = t + 12582912.0f;
            const float r = t - (whole - 12582912.0f);
            const float tail = 0.009618082083761692f + r * (0.0013390874955803156f + r * 0.00015453173546120524f);
            const float q = 0.6931471824645996f + r * (0.24022650718688965f + r * (0.055503569543361664f + r * tail));
            const float p = 1.0f + r * q;
            uint32_t word, shift;
            float value;
            memcpy(&word, &p, sizeof word);
            memcpy(&shift, &whole, sizeof shift);
            word += shift << 23;
            memcpy(&value, &word, sizeof value);
            to[lane] = power > -125.0f ? factor * value : 0.0f;
        }
        if (left < GAUSSIAN_LANES)
            memcpy(out + first, values, left * sizeof *values);
    }
}

#undef GAUSSIAN_LANES
