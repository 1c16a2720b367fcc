/* Forces on the points of a map in 1, 2 or 3 dimensions; included once for each DIM.

   Points lie in leaves of 16: a panel has a line of 16 numbers for each coordinate. One instruction works on WIDE points
   of a leaf, each in its own lane, so a lane adds its terms in one order at every CPU level. Forces are those of the
   potential sum_j 1 / (1 + |y - y_j|^2): minus half its gradient, sum_j (y - y_j) / (1 + |y - y_j|^2)^2. */

/* Add the terms of `count` points of the panel `other` to `out`: DIM lines of forces, and a line of potentials. */
static inline void CELL(meet_leaf)(const float *own, const float *other, Py_ssize_t count, float *out)
{
    for (int lane = 0; lane < LANES; lane += WIDE) {
        mercer_points place[DIM], force[DIM], total;
        for (int c = 0; c < DIM; c++) {
            memcpy(&place[c], own + c * LANES + lane, sizeof total);
            memcpy(&force[c], out + c * LANES + lane, sizeof total);
        }
        memcpy(&total, out + DIM * LANES + lane, sizeof total);
        for (Py_ssize_t j = 0; j < count; j++) {
            mercer_points step[DIM], square;
            for (int c = 0; c < DIM; c++) step[c] = place[c] - other[c * LANES + j];
            square = step[0] * step[0];
            for (int c = 1; c < DIM; c++) square += step[c] * step[c];
            const mercer_points near = 1.0f / (1.0f + square);
            const mercer_points nearer = near * near;
            total += near;
            for (int c = 0; c < DIM; c++) force[c] += nearer * step[c];
        }
        for (int c = 0; c < DIM; c++) memcpy(out + c * LANES + lane, &force[c], sizeof total);
        memcpy(out + DIM * LANES + lane, &total, sizeof total);
    }
}

/* Add the terms of a cell, by Taylor's expansion to second order about the mean of its points.

   `moments` are the number of points m, their mean, their scatter S (upper triangle, by rows) and its trace t. With r the
   step from the mean and g = 1 / (1 + r'r), the potential is m g - t g^2 + 4 (r'Sr) g^3. */
static inline void CELL(meet_cell)(const float *own, const float *moments, float *out)
{
    const float *mean = moments + 1, *scatter = moments + 1 + DIM;
    const float mass = moments[0], trace = scatter[DIM * (DIM + 1) / 2];
    for (int lane = 0; lane < LANES; lane += WIDE) {
        mercer_points step[DIM], turned[DIM], square, across, field, part;
        for (int c = 0; c < DIM; c++) {
            memcpy(&step[c], own + c * LANES + lane, sizeof square);
            step[c] = step[c] - mean[c];
        }
        square = step[0] * step[0];
        for (int c = 1; c < DIM; c++) square += step[c] * step[c];
        int k = 0;
        for (int c = 0; c < DIM; c++)
            for (int e = c; e < DIM; e++, k++) {
                turned[c] = e == c && c == 0 ? step[e] * scatter[k] : turned[c] + step[e] * scatter[k];
                if (e > c) turned[e] = c == 0 ? step[c] * scatter[k] : turned[e] + step[c] * scatter[k];
            }
        across = step[0] * turned[0];
        for (int c = 1; c < DIM; c++) across += step[c] * turned[c];
        const mercer_points near = 1.0f / (1.0f + square);
        const mercer_points second = near * near;
        const mercer_points third = second * near;
        field = mass * second - 2.0f * trace * third + 12.0f * across * (second * second);
        for (int c = 0; c < DIM; c++) {
            memcpy(&part, out + c * LANES + lane, sizeof part);
            part += field * step[c] - 4.0f * third * turned[c];
            memcpy(out + c * LANES + lane, &part, sizeof part);
        }
        memcpy(&part, out + DIM * LANES + lane, sizeof part);
        part += mass * near - trace * second + 4.0f * across * third;
        memcpy(out + DIM * LANES + lane, &part, sizeof part);
    }
}

/* Add the terms of all points of a tree to those of one leaf; return how many cells and points of leaves were met.

   Nodes are numbered so that a subtree of k leaves has 2 k - 1 nodes that follow one another; `counts` is k. A cell is
   met as a whole if the squared distance of its mean to the box of the leaf is above its reach. */
static inline Py_ssize_t CELL(walk)(const float *own, const float *box, const float *panels, const int *firsts,
                                    const int *counts, const float *reach, const float *moments, Py_ssize_t nodes,
                                    Py_ssize_t points, float *out)
{
    const Py_ssize_t width = 2 + DIM + DIM * (DIM + 1) / 2;
    Py_ssize_t node = 0, met = 0;
    while (node < nodes) {
        const float *mean = moments + node * width + 1;
        float gap = 0.0f;
        for (int c = 0; c < DIM; c++) {
            const float below = box[c] - mean[c], above = mean[c] - box[DIM + c];
            const float outside = below > above ? below : above;
            const float step = outside > 0.0f ? outside : 0.0f;
            gap += step * step;
        }
        if (gap > reach[node]) {
            CELL(meet_cell)(own, moments + node * width, out);
            node += 2 * counts[node] - 1;
            met += 2;
        } else if (counts[node] == 1) {
            const Py_ssize_t first = (Py_ssize_t)LANES * firsts[node];
            const Py_ssize_t count = points - first < LANES ? points - first : LANES;
            CELL(meet_leaf)(own, panels + first * DIM, count, out);
            node += 1;
            met += count;
        } else {
            node += 1;
        }
    }
    return met;
}

/* Write sum_j p_ij (y_i - y_j) / (1 + |y_i - y_j|^2) over the edges `first` to `last` of a row.

   Lane l adds the edges first + l, first + 16 + l, ...; the lanes are added up by halves. */
static inline void CELL(attract)(const float *places, Py_ssize_t row, const int *ends, const float *weights,
                                 Py_ssize_t first, Py_ssize_t last, float *out)
{
    float sums[DIM][LANES], other[DIM][LANES], weight[LANES];
    memset(sums, 0, sizeof sums);
    for (Py_ssize_t edge = first; edge < last; edge += LANES) {
        const Py_ssize_t count = last - edge < LANES ? last - edge : LANES;
        for (Py_ssize_t l = 0; l < count; l++) {
            for (int c = 0; c < DIM; c++) other[c][l] = places[(Py_ssize_t)DIM * ends[edge + l] + c];
            weight[l] = weights[edge + l];
        }
        for (Py_ssize_t l = count; l < LANES; l++) {
            for (int c = 0; c < DIM; c++) other[c][l] = places[(Py_ssize_t)DIM * row + c];
            weight[l] = 0.0f;
        }
        for (int lane = 0; lane < LANES; lane += WIDE) {
            mercer_points step[DIM], square, pull, part;
            for (int c = 0; c < DIM; c++) {
                memcpy(&step[c], &other[c][lane], sizeof square);
                step[c] = places[(Py_ssize_t)DIM * row + c] - step[c];
            }
            square = step[0] * step[0];
            for (int c = 1; c < DIM; c++) square += step[c] * step[c];
            memcpy(&pull, weight + lane, sizeof pull);
            pull = pull / (1.0f + square);
            for (int c = 0; c < DIM; c++) {
                memcpy(&part, &sums[c][lane], sizeof part);
                part += pull * step[c];
                memcpy(&sums[c][lane], &part, sizeof part);
            }
        }
    }
    for (int c = 0; c < DIM; c++) {
        for (int half = LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++) sums[c][l] += sums[c][l + half];
        out[c] = sums[c][0];
    }
}

#undef DIM
#undef CELL
