/* Transposes 4 x 4 values in registers: a store of four values takes as long as that of one.

   Included twice by turns.pxd, with REAL float and REAL double. */

static inline void NAME(turn)(const REAL *in, Py_ssize_t stride, REAL *out, Py_ssize_t step)
{
/* __builtin_shufflevector came with GCC 12; clang has always had it. */
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
    typedef REAL four __attribute__((vector_size(4 * sizeof(REAL))));
    four a, b, c, d;
    memcpy(&a, in, sizeof a);
    memcpy(&b, in + stride, sizeof b);
    memcpy(&c, in + 2 * stride, sizeof c);
    memcpy(&d, in + 3 * stride, sizeof d);
    const four even = __builtin_shufflevector(a, b, 0, 4, 2, 6), odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const four other_even = __builtin_shufflevector(c, d, 0, 4, 2, 6), other_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    a = __builtin_shufflevector(even, other_even, 0, 1, 4, 5);
    b = __builtin_shufflevector(odd, other_odd, 0, 1, 4, 5);
    c = __builtin_shufflevector(even, other_even, 2, 3, 6, 7);
    d = __builtin_shufflevector(odd, other_odd, 2, 3, 6, 7);
    memcpy(out, &a, sizeof a);
    memcpy(out + step, &b, sizeof b);
    memcpy(out + 2 * step, &c, sizeof c);
    memcpy(out + 3 * step, &d, sizeof d);
#else
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) out[i * step + j] = in[j * stride + i];
#endif
}
