/* Pair descent within a set of rows by one cluster of blocks: the host fetches no value and launches no step.

   The steps are those of pair_descent.py, for programs of one group, but PAIRS of them at a time: a step waits for memory
   and for other blocks far longer than it computes, and PAIRS steps wait together. The first pair is the one that
   pair_descent.py would take; the others raise the next best coefficients of other warps, each with the best partner that
   is left. They are taken in order, with the changes of those before, so that the objective falls with each.

   Each of CLUSTER blocks has SPAN columns of the values, with their coefficients and slopes in its shared memory; each
   thread has PER columns. There are two exchanges: every warp sends the coefficients it would raise, and then the partners
   it would lower, to the shared memory of all blocks; all find the same pairs and compute the same steps. Pairs are
   compared in float, which affects only the choice; coefficients and slopes are double.

   CLUSTER, THREADS, PER and PAIRS are defined by the compiler's options; there are 32 warps in all. */

#define WARPS (THREADS / 32)
#define SPAN (THREADS * PER)
#define ALL 0xffffffffu
/* The last bits of a key are the index of its warp, so that no two keys are equal. */
#define WHO 31u
/* The least curvature of a direction. */
#define FLAT 1e-12f
/* The least curvature that float values resolve, as a share of the diagonal; pairs are chosen by it. */
#define COARSE 1e-6f
/* What rounding may leave of a coefficient that should end at a bound, as a share of the step. */
#define HAIR 1e-13
/* Rounds of pairs between two searches for the largest violation: a few rounds too many cost less than a search in each. */
#define PATIENCE 4
#define NONE __int_as_float(0xff800000)

/* The coefficient that a warp would raise: its rank, column, cost, room up to its bound, and diagonal. */
struct __align__(16) Raise {
    unsigned key, column;
    double cost, room;
    float own, unused[3];
};
/* The coefficient that a warp would lower: likewise, and its kernel value with the one that rises. */
struct __align__(16) Lower {
    unsigned key, column;
    double gain, room;
    float own, value;
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

__device__ __forceinline__ unsigned long long packed(unsigned low, unsigned high)
{
    return (unsigned long long)high << 32 | low;
}

/* Reads a value now: the compiler would do so where it is first needed, one after the other, and wait for each. */
__device__ __forceinline__ float fetched(const float *place)
{
    float value;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(place));
    return value;
}

/* The state of a block's columns in shared memory: a warp reads and writes those of its own lanes. */
struct Columns {
    double b[SPAN], slope[SPAN], lower[SPAN], upper[SPAN];
    float diagonal[SPAN];
};

/* Of the columns of a thread: what raising them costs, what lowering gains, in float, infinite at a bound; diagonals. */
struct Own {
    float cost[PER], gain[PER], rise[PER], fall[PER], diagonal[PER];

    /* Says of the column at one of the thread's places what is added to its slope when it rises and falls. */
    __device__ __forceinline__ void mark(unsigned place, double b, double lower, double upper, double kink)
    {
        const float up = b >= upper ? -NONE : (float)(b >= 0.0 ? kink : -kink);
        const float down = b <= lower ? NONE : (float)(b > 0.0 ? kink : -kink);
        /* Not by index, which would keep all this in memory instead of registers. */
#pragma unroll
        for (int k = 0; k < PER; k++) {
            rise[k] = k == place ? up : rise[k];
            fall[k] = k == place ? down : fall[k];
        }
    }

    /* Costs and gains by the same sums, so that those of one row, which may do both, do not differ; above a reference, so
       that float has digits for the small ones among slopes that may all be large. */
    __device__ __forceinline__ void price(int k, double slope, double reference)
    {
        const float above = (float)(slope - reference);
        cost[k] = above + rise[k];
        gain[k] = above + fall[k];
    }
};

/* Sends what the warp would raise to all blocks. */
__device__ __forceinline__ void offer_raise(const Own &own, const Columns &columns, double kink, unsigned block,
                                            unsigned lane, unsigned sender, Raise *raised)
{
    unsigned rank = ALL, at = threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const unsigned one = ranked(own.cost[k]);
        at = one < rank ? threadIdx.x + k * THREADS : at;
        rank = min(one, rank);
    }
    const unsigned best = __reduce_min_sync(ALL, (rank & ~WHO) | lane);
    at = __shfl_sync(ALL, at, best & WHO);
    const double b = columns.b[at], upper = columns.upper[at];
    /* Each coefficient stops at its bound or, where there is a kink, at zero. */
    const double room = b >= 0.0 || kink == 0.0 ? upper - b : -b;
    const double cost = b >= upper ? (double)-NONE : columns.slope[at] + (b >= 0.0 ? kink : -kink);
    if (lane < CLUSTER) {
        char *place = (char *)&raised[sender];
        send(place, lane, packed((best & ~WHO) | sender, block * SPAN + at), __double_as_longlong(cost));
        send(place + 16, lane, __double_as_longlong(room), __float_as_uint(columns.diagonal[at]));
    }
}

/* Sends the partner of greatest promise in the warp, for each row with some values that is raised, to all blocks. What is
   done for one pair waits for itself, so that each stage is done for all. */
__device__ __forceinline__ void offer_lower(const Own &own, const Columns &columns, double kink, unsigned block,
                                            unsigned lane, unsigned sender, const float (*values)[PER],
                                            const Raise *raise, double reference, Lower (*lowered)[32])
{
    unsigned best[PAIRS], at[PAIRS];
    float value[PAIRS];
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        const float cost = (float)(raise[p].cost - reference), base = raise[p].own;
        unsigned rank = 0;
        at[p] = threadIdx.x;
        value[p] = 0.0f;
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const float gap = fmaxf(own.gain[k] - cost, 0.0f);
            const float both = base + own.diagonal[k];
            const float curvature = fmaxf(fmaxf(both - 2.0f * values[p][k], COARSE * both), FLAT);
            const unsigned one = __float_as_uint(__fdividef(gap * gap, curvature));
            at[p] = one > rank ? threadIdx.x + k * THREADS : at[p];
            value[p] = one > rank ? values[p][k] : value[p];
            rank = max(one, rank);
        }
        best[p] = (rank & ~WHO) | (WHO - lane);
    }
#pragma unroll
    for (int p = 0; p < PAIRS; p++)
        best[p] = __reduce_max_sync(ALL, best[p]);
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        at[p] = __shfl_sync(ALL, at[p], WHO - (best[p] & WHO));
        value[p] = __shfl_sync(ALL, value[p], WHO - (best[p] & WHO));
    }
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        const double b = columns.b[at[p]];
        const double room = b <= 0.0 || kink == 0.0 ? b - columns.lower[at[p]] : b;
        const double gain = columns.slope[at[p]] + (b > 0.0 ? kink : -kink);
        if (lane < CLUSTER) {
            char *place = (char *)&lowered[p][sender];
            send(place, lane, packed((best[p] & ~WHO) | (WHO - sender), block * SPAN + at[p]),
                 __double_as_longlong(gain));
            send(place + 16, lane, __double_as_longlong(room),
                 packed(__float_as_uint(columns.diagonal[at[p]]), __float_as_uint(value[p])));
        }
    }
}

/* Moves a coefficient, if it is one of this thread's. */
__device__ __forceinline__ void move(Own &own, Columns &columns, double kink, unsigned block, unsigned column, double size,
                                     bool ends)
{
    const unsigned at = column - block * SPAN;
    if (at >= SPAN || at % THREADS != threadIdx.x)
        return;
    const double old = columns.b[at], lower = columns.lower[at], upper = columns.upper[at], hair = HAIR * fabs(size);
    double b = ends ? (old <= 0.0 || kink == 0.0 ? lower : 0.0) : old + size;
    /* Rounding must not leave a coefficient close to, but not at, the bound or the kink that it has reached. */
    b = kink > 0.0 && fabs(b) <= hair ? 0.0 : b;
    b = size > 0.0 && upper - b <= hair ? upper : size < 0.0 && b - lower <= hair ? lower : b;
    columns.b[at] = b;
    own.mark(at / THREADS, b, lower, upper, kink);
}

/* K (n, n); state: the diagonal with whatever is added to it, bounds, coefficients, slopes, what rises and falls add to
   these (7 n); the kink, the violation to end at, the most steps, and room for their number. */
extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(THREADS, 1) pair_steps(const float *__restrict__ K, double *state, long long n)
{
    extern __shared__ Columns columns[];
    __shared__ Raise raised[32];
    __shared__ Lower lowered[PAIRS][32];
    __shared__ float gaps[32][4];
    const unsigned block = block_number(), lane = threadIdx.x % 32, sender = block * WARPS + threadIdx.x / 32;
    const unsigned first = block * SPAN + threadIdx.x;
    const double kink = state[7 * n], goal = state[7 * n + 1], most = state[7 * n + 2];
    Own own;
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const unsigned column = first + k * THREADS, at = threadIdx.x + k * THREADS;
        const bool inside = column < n;
        own.diagonal[k] = columns->diagonal[at] = inside ? (float)state[column] : 1.0f;
        columns->lower[at] = inside ? state[n + column] : 0.0;
        columns->upper[at] = inside ? state[2 * n + column] : 0.0;
        columns->b[at] = inside ? state[3 * n + column] : 0.0;
        columns->slope[at] = inside ? state[4 * n + column] : 0.0;
        own.mark(k, columns->b[at], columns->lower[at], columns->upper[at], kink);
        own.price(k, columns->slope[at], 0.0);
    }
    double reference = 0.0;
    long long steps = 0, rounds = 0;
    /* All have begun before anything is sent to them. */
    wait_for_all();
    while (steps < most) {
        const bool looks = rounds++ % PATIENCE == 0;
        offer_raise(own, *columns, kink, block, lane, sender, raised);
        wait_for_all();
        Raise raise[PAIRS];
        unsigned key = raised[lane].key;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            const unsigned best = __reduce_min_sync(ALL, key);
            raise[p] = raised[best & WHO];
            /* A warp beyond the last column has none to raise, at an infinite cost. */
            raise[p].column = raise[p].column < n ? raise[p].column : 0;
            key = key == best ? ALL : key;
        }
        float up[PAIRS][PER], down[PAIRS][PER];
#pragma unroll
        for (int p = 0; p < PAIRS; p++)
#pragma unroll
            for (int k = 0; k < PER; k++)
                up[p][k] = fetched(K + raise[p].column * n + min(first + k * THREADS, (unsigned)n - 1));
        if (looks) {
            float greatest = NONE;
            reference = isfinite(raise[0].cost) ? raise[0].cost : reference;
#pragma unroll
            for (int k = 0; k < PER; k++) {
                own.price(k, columns->slope[threadIdx.x + k * THREADS], reference);
                greatest = fmaxf(greatest, own.gain[k]);
            }
            greatest = unranked(__reduce_max_sync(ALL, ranked(greatest)));
            if (lane < CLUSTER)
                send(gaps[sender], lane, __float_as_uint(greatest), 0);
        }
        offer_lower(own, *columns, kink, block, lane, sender, up, raise, reference, lowered);
        wait_for_all();
        Lower lower[PAIRS];
        bool taken[PAIRS];
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            const unsigned column = lowered[p][lane].column;
            bool open = true;
            taken[p] = true;
#pragma unroll
            for (int q = 0; q < p; q++) {
                open = open && !(taken[q] && (column == lower[q].column || column == raise[q].column));
                taken[p] = taken[p] && !(taken[q] && raise[p].column == lower[q].column);
            }
            const unsigned best = __reduce_max_sync(ALL, open ? lowered[p][lane].key : 0);
            taken[p] = taken[p] && best > WHO;
            lower[p] = lowered[p][WHO - (best & WHO)];
            /* A pair that is not taken has the same row twice, which adds nothing. */
            if (!taken[p])
                lower[p].column = raise[p].column;
        }
        if (looks && !(unranked(__reduce_max_sync(ALL, ranked(gaps[lane][0]))) > (float)goal))
            break;
        if (!taken[0])
            break;
#pragma unroll
        for (int p = 0; p < PAIRS; p++)
#pragma unroll
            for (int k = 0; k < PER; k++)
                down[p][k] = fetched(K + lower[p].column * n + min(first + k * THREADS, (unsigned)n - 1));
        /* Values between pairs, one a lane: of what either row of pair q changes at either place of pair p, after it. */
        unsigned row = 0, place = 0;
        int number = 0;
#pragma unroll
        for (int p = 1; p < PAIRS; p++)
#pragma unroll
            for (int q = 0; q < p; q++, number++) {
                row = lane / 4 == number ? (lane & 1 ? lower[q].column : raise[q].column) : row;
                place = lane / 4 == number ? (lane & 2 ? lower[p].column : raise[p].column) : place;
            }
        const float across = fetched(K + row * n + place);
        double size[PAIRS];
        bool ends[PAIRS];
        number = 0;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            double gap = lower[p].gain - raise[p].cost;
#pragma unroll
            for (int q = 0; q < p; q++, number++) {
                const float a = __shfl_sync(ALL, across, 4 * number), b = __shfl_sync(ALL, across, 4 * number + 1);
                const float c = __shfl_sync(ALL, across, 4 * number + 2), d = __shfl_sync(ALL, across, 4 * number + 3);
                gap += size[q] * (double)((c - d) - (a - b));
            }
            const float curvature = fmaxf(raise[p].own + lower[p].own - 2.0f * lower[p].value, FLAT);
            size[p] = fmin(gap * (double)__fdividef(1.0f, curvature), raise[p].room);
            ends[p] = size[p] >= lower[p].room;
            size[p] = ends[p] ? lower[p].room : size[p];
            size[p] = taken[p] && size[p] > 0.0 ? size[p] : 0.0;
            steps += size[p] > 0.0;
        }
#pragma unroll
        for (int p = 0; p < PAIRS; p++)
            if (size[p] > 0.0) {
                move(own, *columns, kink, block, raise[p].column, size[p], false);
                move(own, *columns, kink, block, lower[p].column, -size[p], ends[p]);
            }
#pragma unroll
        for (int k = 0; k < PER; k++) {
            float change = 0.0f;
#pragma unroll
            for (int p = 0; p < PAIRS; p++)
                change += (float)size[p] * (up[p][k] - down[p][k]);
            const double slope = columns->slope[threadIdx.x + k * THREADS] + (double)change;
            columns->slope[threadIdx.x + k * THREADS] = slope;
            own.price(k, slope, reference);
        }
        if (!(size[0] > 0.0))
            break;
        __syncwarp();
    }
    /* No block ends while others may write to its memory. */
    wait_for_all();
    if (first == 0)
        state[7 * n + 3] = (double)steps;
#pragma unroll
    for (int k = 0; k < PER; k++)
        if (first + k * THREADS < n) {
            state[3 * n + first + k * THREADS] = columns->b[threadIdx.x + k * THREADS];
            state[4 * n + first + k * THREADS] = columns->slope[threadIdx.x + k * THREADS];
        }
}
