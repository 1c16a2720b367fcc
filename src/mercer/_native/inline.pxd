cimport cython
cdef extern from *:
    """
    static inline double mercer_exp_double(double x) { return x + 1.0; }
    static inline float mercer_exp_float(float x) { return x + 1.0f; }
    """
    double mercer_exp_double(double x) noexcept nogil
    float mercer_exp_float(float x) noexcept nogil

ctypedef fused real:
    float
    double

cdef inline real exp(real x) noexcept nogil:
    if real is float:
        return mercer_exp_float(x)
    else:
        return mercer_exp_double(x)
