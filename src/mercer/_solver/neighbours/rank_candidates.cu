/* Ranks the candidates of each query by exact distance, then by index: one block for each query.

   A query has a list of each slice of the rows; `counts` may exceed the capacity of a list, whose first entries are then
   all that is known. Squared distances are sums over columns in their order, of differences in double: the bits of the
   CPU. Rows have `pitch` columns, a multiple of 4 with zeros at the end. REAL is the type of rows. */

#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS)
rank_candidates(const REAL *rows, const REAL *queries, const long long *own, long long pitch, const int *counts,
                const int *lists, long long lines, long long slices, long long capacity, long long k, double *squares,
                long long *indices, int *known)
{
    extern __shared__ __align__(16) double room[];
    /* The query, the squared distances and the indices of its candidates. */
    double *query = room, *keys = room + pitch;
    int *places = (int *)(keys + capacity);
    const long long line = blockIdx.x;
    const int self = (int)own[line];
    for (int c = threadIdx.x; c < pitch; c += THREADS)
        query[c] = (double)queries[line * pitch + c];
    __syncthreads();
    int filled = 0;
    bool complete = true;
    for (int s = 0; s < slices; s++) {
        const long long list = s * lines + line;
        const int count = counts[list], room_left = (int)capacity - filled;
        const int taken = min(min(count, (int)capacity), room_left);
        complete = complete && taken == count;
        for (int i = threadIdx.x; i < taken; i += THREADS) {
            const int place = lists[list * capacity + i];
            const REAL *row = rows + place * pitch;
            double total = 0.0;
            for (int c = 0; c < pitch; c += 4) {
                REAL part[4];
#if WIDE
                *(double2 *)part = *(const double2 *)(row + c), *(double2 *)(part + 2) = *(const double2 *)(row + c + 2);
#else
                *(float4 *)part = *(const float4 *)(row + c);
#endif
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    /* A product and a sum, each rounded, since the CPU fuses none either. */
                    const double step = (double)part[e] - query[c + e];
                    total = __dadd_rn(total, __dmul_rn(step, step));
                }
            }
            keys[filled + i] = place == self ? __longlong_as_double(0x7ff0000000000000LL) : total;
            places[filled + i] = place;
        }
        filled += taken;
    }
    int size = 2;
    while (size < filled || size < k)
        size *= 2;
    for (int i = filled + threadIdx.x; i < size; i += THREADS)
        keys[i] = __longlong_as_double(0x7ff0000000000000LL), places[i] = 0x7fffffff;
    __syncthreads();
    /* Bitonic sort: runs of `run` entries are sorted, alternately upwards and downwards. */
    for (int run = 2; run <= size; run *= 2)
        for (int gap = run / 2; gap; gap /= 2) {
            for (int i = threadIdx.x; i < size / 2; i += THREADS) {
                const int low = 2 * i - (i & (gap - 1)), high = low + gap;
                const double a = keys[low], b = keys[high];
                const int p = places[low], q = places[high];
                const bool above = a > b || (a == b && p > q);
                if (above == ((low & run) == 0))
                    keys[low] = b, keys[high] = a, places[low] = q, places[high] = p;
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < k; i += THREADS)
        squares[line * k + i] = keys[i], indices[line * k + i] = places[i];
    if (threadIdx.x == 0)
        known[line] = complete;
}
