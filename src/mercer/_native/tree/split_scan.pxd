# Every cut of a node's rows by one column, judged by sums. split_scan.py is the uncompiled twin.
#
# `place`: the weight of the node, the feature, the cut, where missing rows go, the order asked for, the worth if known.

from mercer._native.tree cimport code_order, impurity
from mercer._native.tree.code_order cimport code

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* Sums by code: each cell and each row is four numbers, which one wide addition joins. */
    static inline void mercer_fill_cells(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                                         const double *quads, double *cells)
    {
        memset(cells, 0, 1024 * sizeof(double));
        for (Py_ssize_t i = 0; i < n; i++) {
            double *cell = cells + 4 * (Py_ssize_t)codes[stride * (Py_ssize_t)rows[i]];
            const double *quad = quads + 4 * i;
            const double a = cell[0] + quad[0], b = cell[1] + quad[1], c = cell[2] + quad[2], d = cell[3] + quad[3];
            cell[0] = a; cell[1] = b; cell[2] = c; cell[3] = d;
        }
    }

    /* A few rows in the order of their codes: a row's place is the number of codes below its own, counted many at a
       time. `codes` has room for 15 more. */
    static inline void mercer_order_few(int32_t *codes, const double *quads, Py_ssize_t n, int32_t *ordered,
                                        double *pairs)
    {
        const Py_ssize_t padded = (n + 15) & ~(Py_ssize_t)15;
        for (Py_ssize_t i = n; i < padded; i++) codes[i] = INT32_MAX;
        for (Py_ssize_t i = 0; i < n; i++) ordered[i] = -1;
        for (Py_ssize_t i = 0; i < n; i++) {
            const int32_t own = codes[i];
            int32_t rank = 0;
            for (Py_ssize_t j = 0; j < padded; j += 16)
                for (Py_ssize_t k = 0; k < 16; k++) rank += codes[j + k] < own;
            while (ordered[rank] >= 0) rank++;
            ordered[rank] = own;
            pairs[2 * rank] = quads[4 * i + 1];
            pairs[2 * rank + 1] = quads[4 * i + 2];
        }
    }
    """
    void mercer_fill_cells(const unsigned char *codes, Py_ssize_t stride, const int *rows, Py_ssize_t n,
                           const double *quads, double *cells) noexcept nogil
    void mercer_order_few(int *codes, const double *quads, Py_ssize_t n, int *ordered, double *pairs) noexcept nogil


cdef inline void scan_keys(
    const long long[::1] keys,
    Py_ssize_t known,
    Py_ssize_t count,
    const int[:, ::1] slots,
    const double[:, ::1] amounts,
    const double[::1] weight,
    const double[::1] total,
    double[::1] left,
    double[::1] place,
    const double[::1] settings,
    const double[::1] bounds,
    double[::1] best,
) noexcept nogil:
    """Try every cut between rows in the order of their codes, with the missing ones right and then left."""
    cdef Py_ssize_t i, o, p, s, side, rows
    cdef double amount, left_weight, one, two
    for side in range(2 if known < count else 1):
        rows = count - known if side else 0
        left_weight = 0.0
        one = 0.0
        two = 0.0
        for s in range(total.shape[0]):
            left[s] = 0.0
        for i in range(known, count if side else known):
            p = code_order.place_of(keys[i])
            left_weight += weight[p]
            for o in range(slots.shape[1]):
                left[slots[p, o]] += amounts[p, o]
        for s in range(total.shape[0]):
            one += left[s] * left[s]
            two += (total[s] - left[s]) * (total[s] - left[s])
        place[3] = side if known < count else 2
        for i in range(known):
            p = code_order.place_of(keys[i])
            for o in range(slots.shape[1]):
                s = slots[p, o]
                amount = amounts[p, o]
                one += amount * (2.0 * left[s] + amount)
                two -= amount * (2.0 * (total[s] - left[s]) - amount)
                left[s] += amount
            left_weight += weight[p]
            rows += 1
            if i + 1 < known:
                if keys[i] >> 32 == keys[i + 1] >> 32:
                    continue
            elif side or known == count:
                continue
            if settings[6] != 0.0:
                place[5] = one / left_weight + two / (place[0] - left_weight)
                if place[5] <= best[0]:
                    continue
            place[2] = keys[i] >> 32
            impurity.judge(left, total, left_weight, rows, count, place, settings, bounds, best)


cdef inline void scan_cells(
    const long long[::1] keys,
    Py_ssize_t known,
    Py_ssize_t count,
    Py_ssize_t least,
    Py_ssize_t span,
    const int[:, ::1] slots,
    const double[:, ::1] amounts,
    const double[::1] weight,
    const double[::1] total,
    double[::1] left,
    double[::1] cells,
    double[::1] place,
    const double[::1] settings,
    const double[::1] bounds,
    double[::1] best,
) noexcept nogil:
    """As :func:`scan_keys`, from sums by code, for many rows of few codes. Missing rows have the last cell."""
    cdef Py_ssize_t width = total.shape[0] + 2
    cdef Py_ssize_t i, o, p, s, side, cell
    cdef double rows, left_weight
    for i in range((span + 1) * width):
        cells[i] = 0.0
    for i in range(count):
        cell = (((keys[i] >> 32) - least) if i < known else span) * width
        p = code_order.place_of(keys[i])
        cells[cell] += 1.0
        cells[cell + 1] += weight[p]
        for o in range(slots.shape[1]):
            cells[cell + 2 + slots[p, o]] += amounts[p, o]
    for side in range(2 if known < count else 1):
        rows = cells[span * width] if side else 0.0
        left_weight = cells[span * width + 1] if side else 0.0
        for s in range(total.shape[0]):
            left[s] = cells[span * width + 2 + s] if side else 0.0
        place[3] = side if known < count else 2
        for cell in range(span if side == 0 and known < count else span - 1):
            if cells[cell * width] == 0.0:
                continue
            rows += cells[cell * width]
            left_weight += cells[cell * width + 1]
            for s in range(total.shape[0]):
                left[s] += cells[cell * width + 2 + s]
            place[2] = cell + least
            place[5] = settings[8]
            impurity.judge(left, total, left_weight, rows, count, place, settings, bounds, best)


cdef inline void scan_single_keys(
    const long long[::1] keys,
    Py_ssize_t count,
    const double[:, ::1] quads,
    const double[::1] total,
    double[::1] left,
    double[::1] place,
    const double[::1] settings,
    const double[::1] bounds,
    double[::1] best,
) noexcept nogil:
    """As :func:`scan_keys` where there is a single sum, squared, and nothing missing: most searches are of this kind.

    A split is worth looking at closely if s^2 / w + r^2 / v > b, or s^2 v + r^2 w > b w v, which needs no division.
    """
    cdef Py_ssize_t i, p
    cdef double sum = 0.0, weight = 0.0, rest, other, bound = best[0] * (1.0 - 1e-12)
    for i in range(count - 1):
        p = code_order.place_of(keys[i])
        weight += quads[p, 1]
        sum += quads[p, 2]
        if keys[i] >> 32 == keys[i + 1] >> 32:
            continue
        rest = place[0] - weight
        other = total[0] - sum
        if sum * sum * rest + other * other * weight > bound * (weight * rest):
            left[0] = sum
            place[2] = keys[i] >> 32
            impurity.judge(left, total, weight, i + 1, count, place, settings, bounds, best)
            bound = best[0] * (1.0 - 1e-12)


cdef inline void scan_few(
    int[:, ::1] few,
    double[::1] pairs,
    Py_ssize_t count,
    const double[:, ::1] quads,
    const double[::1] total,
    double[::1] left,
    double[::1] place,
    const double[::1] settings,
    const double[::1] bounds,
    double[::1] best,
) noexcept nogil:
    """As :func:`scan_single_keys` for a few rows, whose codes are in the first row of `few`."""
    cdef Py_ssize_t i
    cdef double sum = 0.0, weight = 0.0, rest, other, bound = best[0] * (1.0 - 1e-12)
    mercer_order_few(&few[0, 0], &quads[0, 0], count, &few[1, 0], &pairs[0])
    for i in range(count - 1):
        weight += pairs[2 * i]
        sum += pairs[2 * i + 1]
        if few[1, i] == few[1, i + 1]:
            continue
        rest = place[0] - weight
        other = total[0] - sum
        if sum * sum * rest + other * other * weight > bound * (weight * rest):
            left[0] = sum
            place[2] = few[1, i]
            impurity.judge(left, total, weight, i + 1, count, place, settings, bounds, best)
            bound = best[0] * (1.0 - 1e-12)


cdef inline bint gather_few(
    const code[:, ::1] codes,
    const code[:, ::1] matrix,
    Py_ssize_t feature,
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t count,
    int[:, ::1] few,
) noexcept nogil:
    """Write the codes of a few rows to the first row of `few`; whether they vary."""
    cdef Py_ssize_t i
    cdef int varied = 0
    if matrix.shape[0]:
        for i in range(count):
            few[0, i] = matrix[rows[start + i], feature]
    else:
        for i in range(count):
            few[0, i] = codes[feature, rows[start + i]]
    for i in range(1, count):
        varied |= few[0, i] ^ few[0, 0]
    return varied != 0


cdef inline void order_more(
    const int[:, ::1] few, Py_ssize_t count, long long[::1] keys, long long[::1] spare
) noexcept nogil:
    """Sort keys of the codes in the first row of `few`, where there are too many for counting."""
    cdef Py_ssize_t i
    cdef int least = few[0, 0], greatest = least
    for i in range(count):
        least = few[0, i] if few[0, i] < least else least
        greatest = few[0, i] if few[0, i] > greatest else greatest
        keys[i] = (<long long> few[0, i] << 32) + i
    code_order.order_keys(keys, spare, count, least, greatest)


cdef inline bint scan_single_cells(
    const unsigned char[:, ::1] coarse,
    const unsigned char[:, ::1] coarse_matrix,
    Py_ssize_t feature,
    const int[::1] rows,
    Py_ssize_t start,
    Py_ssize_t count,
    const double[:, ::1] quads,
    const double[::1] total,
    double[::1] left,
    double[::1] cells,
    double[::1] place,
    const double[::1] settings,
    const double[::1] bounds,
    double[::1] best,
) noexcept nogil:
    """As :func:`scan_cells` where there is a single sum, squared, and nothing missing; whether the codes vary."""
    cdef Py_ssize_t i
    cdef double sum = 0.0, weight = 0.0, seen = 0.0, rest, other, bound = best[0] * (1.0 - 1e-12)
    # Rows of a node that has few of all lie far apart: then those of one row had better be near each other.
    if 8 * count < coarse_matrix.shape[0]:
        mercer_fill_cells(
            &coarse_matrix[0, feature], coarse_matrix.shape[1], &rows[start], count, &quads[0, 0], &cells[0]
        )
    else:
        mercer_fill_cells(&coarse[feature, 0], 1, &rows[start], count, &quads[0, 0], &cells[0])
    for i in range(256):
        if cells[4 * i] == 0.0:
            continue
        seen += cells[4 * i]
        weight += cells[4 * i + 1]
        sum += cells[4 * i + 2]
        if seen == count:
            return cells[4 * i] != count
        rest = place[0] - weight
        other = total[0] - sum
        if sum * sum * rest + other * other * weight > bound * (weight * rest):
            left[0] = sum
            place[2] = i
            impurity.judge(left, total, weight, seen, count, place, settings, bounds, best)
            bound = best[0] * (1.0 - 1e-12)
    return True
