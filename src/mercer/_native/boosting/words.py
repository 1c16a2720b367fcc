"""The uncompiled twin of ``words.pxd``: whole numbers, hence the same bits."""

import numpy


def add_rows(bins, start, words, order, first, last, offsets, chosen, side, n_chosen, parts, member):
    """Add to the bins of their chosen columns the words of the rows that `order` counts from row `start` on."""
    histogram = parts[member]
    for k in range(first, last):
        row = start + int(order[k])
        for j in chosen[side, :n_chosen]:
            place = int(offsets[j]) + int(bins[row, j])
            histogram[place].gradient += words[row].gradient
            histogram[place].rest += words[row].rest


def draw_rows(seed, start, stop, share, drawn):
    """Draw each of the rows from `start` to `stop` once with chance `share`."""
    for row in range(start, stop):
        x = (int(seed) + (row + 1) * 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        drawn[row] = ((x ^ (x >> 31)) >> 11) * 2.0**-53 < share


def quantise(gradients, output, counts, drawn, start, stop, rules, words, order, totals, member):
    """Write the words of the rows from `start` to `stop`, and the places of those drawn; return their number."""
    kept, shift = 0, int(rules[0].count_bits)
    scales = rules[0].gradient_scale, rules[0].curvature_scale
    for row in range(start, stop):
        # A row with a count stands for that many equal rows, `copies`; of these `taken` were drawn.
        copies = int(counts[row]) if len(counts) else 1
        taken = int(drawn[row]) if len(drawn) else copies
        if taken == 0:
            continue
        gradient, curvature = gradients[output, row]
        # The gradient of one copy is quantised and then multiplied, so that copies are exactly equal rows.
        words[row].gradient = taken * _round_half_up(gradient / copies * scales[0])
        words[row].rest = ((taken * _round_half_up(curvature / copies * scales[1])) << shift) + taken
        totals[member, 0].gradient += words[row].gradient
        totals[member, 0].rest += words[row].rest
        order[start + kept] = row - start
        kept += 1
    return kept


def _round_half_up(value):
    """Return the nearest whole number, halves away from zero: the same for a gradient and its opposite."""
    return int(value + 0.5 if value >= 0 else value - 0.5)


def part_rows(columns, column, start, tables, node, order, first, last, spare, member):
    """Put the rows of a block that go left before the others, both in their order; return how many go left."""
    part = slice(start + first, start + last)
    places = order[part].copy()
    left = tables[node, columns[column, start + places.astype(int)]].astype(bool)
    order[part] = numpy.concatenate([places[left], places[~left]])
    return int(left.sum())


def clear(offsets, chosen, side, n_chosen, parts, member):
    """Set the chosen columns of a thread's histogram to zero."""
    for j in chosen[side, :n_chosen]:
        parts[member, offsets[j] : offsets[j + 1]] = 0


def gather(parts, used, first, last, histograms, slot):
    """Write the sum of the histograms of those threads that added rows, from bin `first` to `last`."""
    for name in ("gradient", "rest"):
        histograms[name][slot, first:last] = parts[name][used[:, 0] > 0, first:last].sum(axis=0)


def subtract(histograms, whole, built, first, last):
    """Subtract one child's histogram from its parent's, from `first` to `last`, which leaves the other child's."""
    for name in ("gradient", "rest"):
        histograms[name][whole, first:last] -= histograms[name][built, first:last]
