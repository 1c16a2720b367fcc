/* Elementary functions without branches, the same bits on every CPU.

   Included twice by inline.pxd, with REAL float and REAL double; inline.py says the same in Python, line by line, and
   the tests hold the two to equality. No branch, so that a loop over them vectorises; no library call and no fused
   multiply-add, so that the bits do not depend on the machine. Constants come from tools/polynomials.py.

   Bounds of the error in units in the last place, against 60 digits (tests/native/shared/test_elementary.py), and the
   largest that was measured, over the floats from 2^-26 to 2^8 and 10^7 doubles (expm1: just above log(2) / 2):
                exp    log    log1p  expm1  tanh   expit  log1pexp
     bound      1      1      1      2.25   2.75   2.75   2
     measured   0.9    0.88   0.87   2.17   2.5    2.45   1.63

   NaN gives NaN (of no particular sign), and infinities, zeros and denormal numbers are treated as C99 asks. */

static inline REAL NAME(from_word)(WORD word)
{
    REAL x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static inline WORD NAME(to_word)(REAL x)
{
    WORD word;
    memcpy(&word, &x, sizeof word);
    return word;
}

/* Nearest integer. Adding 1.5 * 2^MANTISSA leaves no bits for a fraction; the integer then is the low end of the word. */
static inline REAL NAME(nearest_integer)(REAL x)
{
    return (x + ROUNDER) - ROUNDER;
}

/* 2^n for whole n between -(BIAS - 1) and BIAS. */
static inline REAL NAME(power_of_two)(REAL n)
{
    return NAME(from_word)((NAME(to_word)(n + ROUNDER) + BIAS) << MANTISSA);
}

/* exp(x) = 2^n (1 + p): returns p. What rounding took from r = x - n log 2 is put back in the last sum. */
static inline REAL NAME(reduce_exp)(REAL x, REAL *n)
{
    const REAL whole = NAME(nearest_integer)(x * LOG2_E);
    const REAL high = x - whole * LN2_HIGH;
    const REAL low = whole * LN2_LOW;
    const REAL r = high - low;
    *n = whole;
    return r + (r * r * EXP_TAIL(r, r * r) + ((high - r) - low));
}

/* u = 2^k m with m in [sqrt(1/2), sqrt(2)), for u positive and not denormal: returns m. */
static inline REAL NAME(reduce_log)(REAL u, REAL *k)
{
    const WORD word = NAME(to_word)(u) + (WORD_OF_ONE - WORD_OF_ROOT_HALF);
    const WORD exponent = word >> MANTISSA;
    *k = NAME(from_word)(exponent | WORD_OF_ULP_ONE) - (ULP_ONE + BIAS);
    return NAME(from_word)((word & MANTISSA_MASK) + WORD_OF_ROOT_HALF);
}

/* k log 2 + log(1 + f) + c, by log(1 + f) = f - f^2/2 + s (f^2/2 + z q(z)), s = f / (2 + f), z = s^2. */
static inline REAL NAME(finish_log)(REAL k, REAL f, REAL c)
{
    const REAL s = f / (2 + f);
    const REAL z = s * s;
    const REAL half = (REAL)0.5 * f * f;
    const REAL low = s * (half + z * LOG_TAIL(z)) + (k * LN2_LOW + c);
    return k * LN2_HIGH - ((half - low) - f);
}

/* Two factors of about 2^(n/2): the product is rounded once even where 2^n itself is denormal or infinite. */
static inline REAL NAME(exp)(REAL x)
{
    REAL n, p, half;
    x = EXP_HIGHEST < x ? EXP_HIGHEST : x;
    x = EXP_LOWEST > x ? EXP_LOWEST : x;
    p = NAME(reduce_exp)(x, &n);
    half = NAME(nearest_integer)((REAL)0.5 * n);
    return ((1 + p) * NAME(power_of_two)(half)) * NAME(power_of_two)(n - half);
}

static inline REAL NAME(expm1)(REAL x)
{
    REAL n, p, half, first, result;
    REAL bounded = EXP_HIGHEST < x ? EXP_HIGHEST : x;
    bounded = EXPM1_LOWEST > bounded ? EXPM1_LOWEST : bounded;
    p = NAME(reduce_exp)(bounded, &n);
    half = NAME(nearest_integer)((REAL)0.5 * n);
    first = NAME(power_of_two)(n - half);
    result = (first * p + (first - NAME(power_of_two)(-half))) * NAME(power_of_two)(half);
    return x == 0 ? x : result;
}

/* The value of a logarithm at the ends of its domain, `result` inside it; u is the argument proper. */
static inline REAL NAME(close_log)(REAL u, REAL result)
{
    const REAL above = u > LARGEST ? u : result;
    const REAL below = u == 0 ? -(REAL)INFINITY : (REAL)NAN;
    return u > 0 ? above : below;
}

static inline REAL NAME(log)(REAL x)
{
    REAL k, m;
    const REAL lift = x < SMALLEST_NORMAL ? LIFT : 1;
    const REAL lifted_by = x < SMALLEST_NORMAL ? LIFT_EXPONENT : 0;
    m = NAME(reduce_log)(x * lift, &k);
    return NAME(close_log)(x, NAME(finish_log)(k - lifted_by, m - 1, 0));
}

/* log(u) with u = 1 + x, plus what rounding took from u, divided by u. Near zero u is not needed: f is x itself. */
static inline REAL NAME(log1p)(REAL x)
{
    REAL k, m, lost, f, c, result;
    const REAL u = 1 + x;
    m = NAME(reduce_log)(u, &k);
    lost = x > 1 ? 1 - (u - x) : x - (u - 1);
    f = k == 0 ? x : m - 1;
    c = k == 0 ? 0 : lost / u;
    result = NAME(close_log)(u, NAME(finish_log)(k, f, c));
    return x == 0 ? x : result;
}

/* tanh |x| = -t / (2 + t) with t = expm1(-2 |x|), and the sign of x. */
static inline REAL NAME(tanh)(REAL x)
{
    const WORD sign = NAME(to_word)(x) & SIGN_BIT;
    const REAL size = NAME(from_word)(NAME(to_word)(x) ^ sign);
    const REAL t = NAME(expm1)(-2 * size);
    const REAL result = -t / (2 + t);
    return NAME(from_word)((NAME(to_word)(result) & ~SIGN_BIT) | sign);
}

/* 1 / (1 + exp(-x)), from exp(-|x|), which cannot overflow. */
static inline REAL NAME(expit)(REAL x)
{
    const REAL size = NAME(from_word)(NAME(to_word)(x) & ~SIGN_BIT);
    const REAL e = NAME(exp)(-size);
    const REAL numerator = x < 0 ? e : 1;
    return numerator / (1 + e);
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)). */
static inline REAL NAME(log1pexp)(REAL x)
{
    const REAL size = NAME(from_word)(NAME(to_word)(x) & ~SIGN_BIT);
    const REAL positive = x > 0 ? x : 0;
    return positive + NAME(log1p)(NAME(exp)(-size));
}
