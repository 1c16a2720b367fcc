# The rows of a node sorted by their codes in one column, and the random draws of a node. code_order.py is the
# uncompiled twin.
#
# A key is code 2^32 + i for row i of the node: keys are distinct, and sorting them sorts the rows stably by code.

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* Keys that are sorted by insertion alone. */
    #define SMALL_RUN 24
    /* Buckets of a digit of 11 bits: their counts, 8 KiB, stay in the first-level cache. */
    #define MOST_BUCKETS 2048

    static inline void mercer_insert_keys(long long *keys, Py_ssize_t n)
    {
        for (Py_ssize_t i = 1; i < n; i++) {
            const long long key = keys[i];
            Py_ssize_t j = i;
            for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
            keys[j] = key;
        }
    }

    /* One stable pass over the digit of `bits` bits above `shift`; returns the size of the fullest bucket. */
    static inline int32_t mercer_digit_pass(const long long *from, long long *to, Py_ssize_t n, long long least,
                                            int shift, int bits)
    {
        int32_t starts[MOST_BUCKETS + 1];
        const long long mask = ((long long)1 << bits) - 1;
        int32_t fullest = 0;
        memset(starts, 0, sizeof(int32_t) * (mask + 2));
        for (Py_ssize_t i = 0; i < n; i++) starts[((((from[i] >> 32) - least) >> shift) & mask) + 1]++;
        for (long long b = 0; b <= mask; b++) {
            fullest = starts[b + 1] > fullest ? starts[b + 1] : fullest;
            starts[b + 1] += starts[b];
        }
        for (Py_ssize_t i = 0; i < n; i++) to[starts[(((from[i] >> 32) - least) >> shift) & mask]++] = from[i];
        return fullest;
    }

    /* Sort n keys. Few keys: one pass over the leading bits leaves short runs of unsorted keys, which insertion sorts
       unless a bucket holds more than 32. Many keys: a stable pass for each digit of at most 11 bits, the lowest first;
       keys come with rising i, so that equal codes stay in the order of their rows. */
    static inline void mercer_order_keys(long long *keys, long long *spare, Py_ssize_t n, long long least,
                                         long long greatest)
    {
        int width = 0, passes, bits, done = 0;
        if (n <= SMALL_RUN) { mercer_insert_keys(keys, n); return; }
        /* Bits that tell codes apart. With none all codes are equal, and keys come in the order of the rows. */
        while ((greatest - least) >> width) width++;
        if (width == 0) return;
        if (n < 2048) {
            bits = n < 256 ? 6 : 9;
            if (width > bits) {
                if (mercer_digit_pass(keys, spare, n, least, width - bits, bits) <= 32) {
                    mercer_insert_keys(spare, n);
                    memcpy(keys, spare, sizeof(long long) * n);
                    return;
                }
            }
        }
        passes = (width + 10) / 11;
        bits = (width + passes - 1) / passes;
        for (int pass = 0; pass < passes; pass++) {
            if (done) mercer_digit_pass(spare, keys, n, least, pass * bits, bits);
            else mercer_digit_pass(keys, spare, n, least, pass * bits, bits);
            done = !done;
        }
        if (done) memcpy(keys, spare, sizeof(long long) * n);
    }
    """
    void mercer_order_keys(long long *keys, long long *spare, Py_ssize_t n, long long least,
                           long long greatest) noexcept nogil

ctypedef fused code:
    unsigned char
    unsigned short
    int


cdef inline Py_ssize_t gather_keys(
    const code[:, ::1] codes,
    Py_ssize_t feature,
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t stop,
    long long missing,
    long long[::1] keys,
    long long[::1] span,
) noexcept nogil:
    """Write a key for each row from `start` to `stop`, those of known values first; return the number of these.

    `span` receives the least and the greatest known code.
    """
    # Keys of known values fill ``keys[:known]``, those of missing values ``keys[unknown:]``; at the end the two meet.
    cdef Py_ssize_t i, known = 0, unknown = stop - start
    cdef long long value, least = 1LL << 40, greatest = -1
    for i in range(start, stop):
        value = codes[feature, rows[i]]
        if value == missing:
            unknown -= 1
            keys[unknown] = (value << 32) + (i - start)
            continue
        least = value if value < least else least
        greatest = value if value > greatest else greatest
        keys[known] = (value << 32) + (i - start)
        known += 1
    span[0] = least
    span[1] = greatest
    return known


cdef inline void order_keys(
    long long[::1] keys, long long[::1] spare, Py_ssize_t n, long long least, long long greatest
) noexcept nogil:
    """Sort the first n keys, whose codes lie between `least` and `greatest`."""
    mercer_order_keys(&keys[0], &spare[0], n, least, greatest)


cdef inline Py_ssize_t read_place(long long key) noexcept nogil:
    """Return the index in its node of the row that `key` stands for."""
    return key & 0xFFFFFFFFLL


cdef inline long long mix(long long x) noexcept nogil:
    """Return a pseudorandom integer below 2^32 that depends on `x` alone; the products stay below 2^63."""
    x &= 0xFFFFFFFFLL
    x ^= x >> 16
    x = (x * 0x7FEB352DLL) & 0xFFFFFFFFLL
    x ^= x >> 15
    x = (x * 0x5846CA6BLL) & 0xFFFFFFFFLL
    return x ^ (x >> 16)


cdef inline int draw_feature(int[::1] order, Py_ssize_t number, long long seed) noexcept nogil:
    """Return feature `number` of a random order: one step of a Fisher-Yates shuffle of `order`.

    ``order[:number]`` are the features drawn before, and a feature drawn is swapped into ``order[number]``.
    """
    cdef Py_ssize_t other = number + mix(seed + 0x9E3779B9LL * (number + 1)) % (order.shape[0] - number)
    cdef int feature = order[other]
    order[other] = order[number]
    order[number] = feature
    return feature


cdef inline double draw_threshold(long long seed, Py_ssize_t feature, double low, double high) noexcept nogil:
    """Return a pseudorandom threshold, uniform on [`low`, `high`); `low` where the two are equal."""
    cdef double share = mix(seed + 7919 * (feature + 1)) / 4294967296.0
    cdef double value = low * (1.0 - share) + high * share
    # Rounding may reach `high`, and then no row would go right.
    return low if value >= high or value < low else value


cdef inline int draw_side(long long seed, Py_ssize_t feature) noexcept nogil:
    """Return the side, 0 right or 1 left, that missing rows take at a random cut."""
    return mix(seed + 104729 * (feature + 1)) & 1


cdef inline Py_ssize_t find_last_below(
    const double[::1] table, Py_ssize_t first, Py_ssize_t last, double value
) noexcept nogil:
    """Return the last index i from `first` to `last` with ``table[i] <= value``; it must hold at `first`."""
    cdef Py_ssize_t middle
    # The answer is always in [first, last].
    while first < last:
        middle = (first + last + 1) // 2
        if table[middle] <= value:
            first = middle
        else:
            last = middle - 1
    return first
