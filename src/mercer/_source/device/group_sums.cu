/* Sums of the rows of each label, in double: a block adds up one chunk of the rows of one label.

   `order` lists the rows label by label, `starts` where each label begins in it, and `begins` the number of its first
   chunk. LANES threads share a row, THREADS / LANES rows are read at a time; their sums are then added along a tree, so
   that the result does not depend on the order in which threads run. Sums of chunks are added by a second launch, with
   ORDERED 0, one chunk for each label. REAL is the type of the table. */

#define THREADS 256
#define GROUPS (THREADS / LANES)
/* Rows whose values are loaded before the first of them is added. */
#define AHEAD 8

extern "C" __global__ void __launch_bounds__(THREADS)
sum_chunks(const REAL *table, long long pitch, long long width, const long long *order, const long long *starts,
           const long long *begins, long long k, long long chunk, double *sums)
{
    __shared__ double parts[THREADS];
    const long long number = blockIdx.x;
    if (number >= begins[k])
        return;
    long long low = 0, high = k;
    /* The label whose chunks include this number: the last one that begins at or before it. */
    while (high - low > 1) {
        const long long middle = (low + high) / 2;
        if (begins[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    const long long first = starts[low] + (number - begins[low]) * chunk;
    const long long last = first + chunk < starts[low + 1] ? first + chunk : starts[low + 1];
    const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    for (long long base = 0; base < width; base += LANES) {
        const long long column = base + lane;
        double total = 0.0;
        if (column < width) {
            long long r = first + group;
            for (; r + (AHEAD - 1) * GROUPS < last; r += AHEAD * GROUPS) {
                REAL values[AHEAD];
#pragma unroll
                for (int i = 0; i < AHEAD; i++)
                    values[i] = table[(ORDERED ? order[r + i * GROUPS] : r + i * GROUPS) * pitch + column];
#pragma unroll
                for (int i = 0; i < AHEAD; i++)
                    total += (double)values[i];
            }
            for (; r < last; r += GROUPS)
                total += (double)table[(ORDERED ? order[r] : r) * pitch + column];
        }
        parts[threadIdx.x] = total;
        __syncthreads();
        for (int half = GROUPS / 2; half; half /= 2) {
            if (group < half)
                parts[threadIdx.x] += parts[threadIdx.x + half * LANES];
            __syncthreads();
        }
        if (group == 0 && column < width)
            sums[number * width + column] = parts[lane];
        __syncthreads();
    }
}
