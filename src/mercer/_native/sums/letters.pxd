# Words of eight bytes out of texts that lie one after the other. letters.py is the uncompiled twin.

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    static inline uint64_t mercer_load_word(const unsigned char *data)
    {
        uint64_t word;
        memcpy(&word, data, 8);
        return word;
    }

    /* The last bytes of a text, with zeros after them. Where eight bytes can be read, they are read at once. */
    static inline uint64_t mercer_load_tail(const unsigned char *data, Py_ssize_t count, Py_ssize_t left)
    {
        uint64_t word = 0;
        if (left >= 8) {
            memcpy(&word, data, 8);
            return word & (((uint64_t)1 << (8 * count)) - 1);
        }
        memcpy(&word, data, (size_t)count);
        return word;
    }

    static inline uint64_t mercer_mix(uint64_t mixed, uint64_t word)
    {
        mixed = (mixed ^ word) * 0x9e3779b97f4a7c15u;
        return mixed ^ (mixed >> 32);
    }

    /* The upper bytes of the last word move only the upper bits of its product: they are brought down. */
    static inline uint64_t mercer_finish(uint64_t mixed)
    {
        mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
        return mixed ^ (mixed >> 32);
    }
    """
    unsigned long long mercer_finish(unsigned long long mixed) noexcept nogil
    unsigned long long mercer_load_word(const unsigned char *data) noexcept nogil
    unsigned long long mercer_load_tail(const unsigned char *data, Py_ssize_t count, Py_ssize_t left) noexcept nogil
    unsigned long long mercer_mix(unsigned long long mixed, unsigned long long word) noexcept nogil


# Texts of eight bytes or more end with a word that may overlap the one before it, so that none needs a mask.
cdef inline unsigned long long digest(const unsigned char[::1] data, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Return a hash of the bytes from `start` to `stop`."""
    cdef unsigned long long mixed = <unsigned long long> (stop - start)
    cdef Py_ssize_t at = start
    if stop - start < 8:
        if stop > start:
            mixed = mercer_mix(mixed, mercer_load_tail(&data[start], stop - start, data.shape[0] - start))
        return mercer_finish(mixed)
    while stop - at > 8:
        mixed = mercer_mix(mixed, mercer_load_word(&data[at]))
        at += 8
    return mercer_finish(mercer_mix(mixed, mercer_load_word(&data[stop - 8])))


cdef inline bint same(const unsigned char[::1] data, Py_ssize_t first, Py_ssize_t second, Py_ssize_t count) noexcept nogil:
    """Return whether `count` bytes from `first` on are those from `second` on."""
    cdef Py_ssize_t at = 0
    if count < 8:
        return count == 0 or (
            mercer_load_tail(&data[first], count, data.shape[0] - first)
            == mercer_load_tail(&data[second], count, data.shape[0] - second)
        )
    while count - at > 8:
        if mercer_load_word(&data[first + at]) != mercer_load_word(&data[second + at]):
            return False
        at += 8
    return mercer_load_word(&data[first + count - 8]) == mercer_load_word(&data[second + count - 8])
