/* Pair descent within a set of rows by one cluster of blocks: no value is fetched by the host, no step launched.

   The steps are those of pair_descent.py, for programs of one group. Each of CLUSTER blocks has SPAN columns of the
   values, each thread PER of them, with their slopes in registers. A step has two exchanges: every warp sends what it
   would raise, and then the partner it would lower, to the shared memory of all blocks; all find the same pair and
   compute the same step, each block on a copy of the coefficients of its own. Pairs are compared in float, which chooses
   one and decides nothing else; coefficients and slopes are double.

   CLUSTER, THREADS and PER are given when this is compiled. */

#define WARPS (THREADS / 32)
#define SPAN (THREADS * PER)
#define SENDERS (CLUSTER * WARPS)
#define ALL 0xffffffffu
/* The least curvature of a direction, and what rounding leaves of a coefficient, as a share of the step. */
#define FLAT 1e-12
#define HAIR 1e-13
/* Steps between two looks for the largest violation: a few steps too many cost less than to look each time. */
#define PATIENCE 16
#define NONE __int_as_float(0xff800000)

/* What a warp sends: how its candidate ranks, its column and slope; of a partner the value with the other, and the
   largest gap of the warp. */
struct __align__(16) Candidate {
    unsigned rank, column;
    double slope;
};
struct __align__(16) Partner {
    unsigned rank, column;
    double slope;
    float value, gap;
    double unused;
};

#if CLUSTER > 1
__device__ __forceinline__ unsigned block_number()
{
    unsigned number;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(number));
    return number;
}

__device__ __forceinline__ void wait_for_all()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Writes 16 bytes to the same place of the shared memory of another block. */
__device__ __forceinline__ void send(void *place, unsigned block, unsigned long long low, unsigned long long high)
{
    unsigned here = (unsigned)__cvta_generic_to_shared(place), there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
    asm volatile("st.shared::cluster.v2.u64 [%0], {%1, %2};" ::"r"(there), "l"(low), "l"(high) : "memory");
}
#else
__device__ __forceinline__ unsigned block_number() { return 0; }
__device__ __forceinline__ void wait_for_all() { __syncthreads(); }
__device__ __forceinline__ void send(void *place, unsigned block, unsigned long long low, unsigned long long high)
{
    *(ulonglong2 *)place = make_ulonglong2(low, high);
}
#endif

/* Whole numbers in the order of floats. */
__device__ __forceinline__ unsigned ranked(float value)
{
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float unranked(unsigned rank)
{
    return __uint_as_float(rank & 0x80000000u ? rank & 0x7fffffffu : ~rank);
}

__device__ __forceinline__ unsigned long long pack(unsigned low, unsigned high)
{
    return (unsigned long long)high << 32 | low;
}

__device__ __forceinline__ float rising(double value, double top, double kink)
{
    return value >= top ? -NONE : (float)(value >= 0.0 ? kink : -kink);
}

__device__ __forceinline__ float falling(double value, double bottom, double kink)
{
    return value <= bottom ? NONE : (float)(value > 0.0 ? kink : -kink);
}

/* Has the part of a row that this block will read brought nearer, for those that came next to the one chosen: likely ones
   of the next steps. A warp has each. The wait for the chosen one hides it. */
__device__ __forceinline__ void prefetch(const float *K, long long n, unsigned block, unsigned warp, unsigned lane,
                                         unsigned rank, unsigned column, unsigned chosen)
{
    if (warp >= AHEAD)
        return;
    for (unsigned k = 0; k <= warp; k++) {
        if (column == chosen)
            rank = ALL;
        const unsigned best = __reduce_min_sync(ALL, rank);
        chosen = __reduce_min_sync(ALL, rank == best && rank != ALL ? column : ALL);
    }
    const unsigned at = block * SPAN + lane * (SPAN / 32);
    if (chosen < n && at < n)
        for (unsigned k = 0; k < SPAN / 32; k += 32)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(K + (long long)chosen * n + at + k));
}

/* K (n, n); state: the diagonal with whatever is added to it, bounds, coefficients, slopes, what rises and falls add to
   these (7 n); the kink, the violation to end at, the most steps, and room for their number. */
extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(THREADS, 1) pair_steps(const float *__restrict__ K, double *state, long long n)
{
    extern __shared__ double b[];
    __shared__ Candidate raised[SENDERS];
    __shared__ Partner lowered[SENDERS];
    const unsigned block = block_number(), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned first = block * SPAN + threadIdx.x;
    const double *own = state, *lower = state + n, *upper = state + 2 * n;
    const double kink = state[7 * n], goal = state[7 * n + 1], most = state[7 * n + 2];
    double slope[PER];
    float near[PER], rise[PER], fall[PER], diagonal[PER], up[PER], down[PER];
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const unsigned column = first + k * THREADS;
        const bool inside = column < n;
        slope[k] = inside ? state[4 * n + column] : 0.0;
        near[k] = (float)slope[k];
        rise[k] = inside ? (float)state[5 * n + column] : -NONE;
        fall[k] = inside ? (float)state[6 * n + column] : NONE;
        diagonal[k] = inside ? (float)own[column] : 1.0f;
    }
    for (unsigned k = threadIdx.x; k < n; k += THREADS)
        b[k] = state[3 * n + k];
    long long steps = 0;
    /* The pair of the last step, whose coefficients are written when all have read the old ones. */
    unsigned last_i = ALL, last_j = ALL;
    double last_up = 0.0, last_down = 0.0;
    wait_for_all();
    while (steps < most) {
        unsigned rank = ALL, column = ALL;
        double at = 0.0;
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const unsigned one = ranked(near[k] + rise[k]);
            if (one < rank) {
                rank = one;
                column = first + k * THREADS;
                at = slope[k];
            }
        }
        unsigned best = __reduce_min_sync(ALL, rank);
        unsigned place = __reduce_min_sync(ALL, rank == best ? column : ALL);
        int owner = __ffs(__ballot_sync(ALL, column == place)) - 1;
        at = __shfl_sync(ALL, at, owner);
        if (lane < CLUSTER)
            send(&raised[block * WARPS + warp], lane, pack(best, place), __double_as_longlong(at));
        wait_for_all();
        if (threadIdx.x == 0 && last_i != ALL) {
            b[last_i] = last_up;
            b[last_j] = last_down;
        }
        rank = column = ALL;
        at = 0.0;
#pragma unroll
        for (unsigned k = lane; k < SENDERS; k += 32) {
            const Candidate one = raised[k];
            if (one.rank < rank || (one.rank == rank && one.column < column)) {
                rank = one.rank;
                column = one.column;
                at = one.slope;
            }
        }
        best = __reduce_min_sync(ALL, rank);
        const unsigned i = __reduce_min_sync(ALL, rank == best ? column : ALL);
        owner = __ffs(__ballot_sync(ALL, column == i)) - 1;
        const double slope_i = __shfl_sync(ALL, at, owner);
        const float *row = K + (long long)i * n;
#pragma unroll
        for (int k = 0; k < PER; k++)
            up[k] = first + k * THREADS < n ? row[first + k * THREADS] : 0.0f;
        const double own_i = own[i], top = upper[i], bottom_i = lower[i];
        prefetch(K, n, block, warp, lane, rank, column, i);
        const double b_i = i == last_i ? last_up : i == last_j ? last_down : b[i];
        const double least = slope_i + (b_i >= 0.0 ? kink : -kink);
        const float own_near = (float)own_i;
        const bool looks = steps % PATIENCE == 0;
        float greatest = NONE, value = 0.0f;
        rank = 0;
        column = ALL;
        at = 0.0;
#pragma unroll
        for (int k = 0; k < PER; k++) {
            /* A difference of doubles: that of floats would leave a gap, if a small one, between equal rows. */
            const float gap = (float)(slope[k] - least) + fall[k];
            const float curvature = fmaxf(own_near + diagonal[k] - 2.0f * up[k], (float)FLAT);
            const float promise = gap > 0.0f ? __fdividef(gap * gap, curvature) : 0.0f;
            greatest = fmaxf(greatest, gap);
            if (__float_as_uint(promise) > rank) {
                rank = __float_as_uint(promise);
                column = first + k * THREADS;
                at = slope[k];
                value = up[k];
            }
        }
        best = __reduce_max_sync(ALL, rank);
        place = __reduce_min_sync(ALL, rank == best ? column : ALL);
        owner = __ffs(__ballot_sync(ALL, column == place)) - 1;
        at = __shfl_sync(ALL, at, owner);
        value = __shfl_sync(ALL, value, owner);
        if (looks)
            greatest = unranked(__reduce_max_sync(ALL, ranked(greatest)));
        if (lane < CLUSTER) {
            send(&lowered[block * WARPS + warp], lane, pack(best, place), __double_as_longlong(at));
            send((char *)&lowered[block * WARPS + warp] + 16, lane,
                 pack(__float_as_uint(value), __float_as_uint(greatest)), 0);
        }
        wait_for_all();
        rank = 0;
        column = ALL;
        at = 0.0;
        value = 0.0f;
        greatest = NONE;
#pragma unroll
        for (unsigned k = lane; k < SENDERS; k += 32) {
            const Partner one = lowered[k];
            greatest = fmaxf(greatest, one.gap);
            if (one.rank > rank || (one.rank == rank && one.column < column)) {
                rank = one.rank;
                column = one.column;
                at = one.slope;
                value = one.value;
            }
        }
        best = __reduce_max_sync(ALL, rank);
        const unsigned j = __reduce_min_sync(ALL, rank == best ? column : ALL);
        if (best == 0 || (looks && !(unranked(__reduce_max_sync(ALL, ranked(greatest))) > (float)goal)))
            break;
        owner = __ffs(__ballot_sync(ALL, column == j)) - 1;
        const double slope_j = __shfl_sync(ALL, at, owner);
        value = __shfl_sync(ALL, value, owner);
        row = K + (long long)j * n;
#pragma unroll
        for (int k = 0; k < PER; k++)
            down[k] = first + k * THREADS < n ? row[first + k * THREADS] : 0.0f;
        const double own_j = own[j], bottom = lower[j], top_j = upper[j];
        prefetch(K, n, block, warp, lane, ~rank, column, j);
        const double b_j = b[j];
        const double gap = slope_j + (b_j > 0.0 ? kink : -kink) - least;
        double size = gap / fmax(own_i + own_j - 2.0 * (double)value, FLAT);
        /* Each coefficient stops at its bound or, where there is a kink, at zero. */
        size = fmin(size, b_i >= 0.0 || kink == 0.0 ? top - b_i : -b_i);
        const bool below = b_j <= 0.0 || kink == 0.0;
        const double room = below ? b_j - bottom : b_j;
        const bool ends = size >= room;
        size = ends ? room : size;
        double new_i = b_i + size, new_j = ends ? (below ? bottom : 0.0) : b_j - size;
        /* Rounding must not leave a coefficient a hair from the bound, or the kink, that it has reached. */
        new_i = kink > 0.0 && fabs(new_i) <= HAIR * size ? 0.0 : new_i;
        new_i = top - new_i <= HAIR * size ? top : new_i;
        new_j = kink > 0.0 && fabs(new_j) <= HAIR * size ? 0.0 : new_j;
        new_j = new_j - bottom <= HAIR * size ? bottom : new_j;
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const unsigned here = first + k * THREADS;
            if (here == i) {
                rise[k] = rising(new_i, top, kink);
                fall[k] = falling(new_i, bottom_i, kink);
            }
            if (here == j) {
                rise[k] = rising(new_j, top_j, kink);
                fall[k] = falling(new_j, bottom, kink);
            }
            slope[k] += size * (double)(up[k] - down[k]);
            near[k] = (float)slope[k];
        }
        last_i = i;
        last_j = j;
        last_up = new_i;
        last_down = new_j;
        steps++;
        if (!(size > 0.0))
            break;
    }
    /* Nobody leaves while others may write to its memory. */
    wait_for_all();
    if (block == 0) {
        for (unsigned k = threadIdx.x; k < n; k += THREADS)
            state[3 * n + k] = k == last_i ? last_up : k == last_j ? last_down : b[k];
        if (threadIdx.x == 0)
            state[7 * n + 3] = (double)steps;
    }
#pragma unroll
    for (int k = 0; k < PER; k++)
        if (first + k * THREADS < n)
            state[4 * n + first + k * THREADS] = slope[k];
}
