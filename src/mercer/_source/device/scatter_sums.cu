/* The sum of (x - s)(x - s)^T over rows x in double, of x - s, and of (x - s) t for a target t: one pass over the rows.

   Columns are in BANDS bands of 32. A warp has the product of two bands, 32 x 32, in registers, by matrix instructions of
   double; only the upper triangle is computed. The grid is (slices of rows, groups of PAIRS pairs of bands). A block
   reads LINES rows at a time, of which each of TEAMS sets of warps multiplies an equal part. Each set writes its own
   products, which are added afterwards in a fixed order. REAL is the type of rows. Narrow rows come FOLD at a time as one
   long row, whose products on the diagonal are those of the rows; it has FOLD targets. A multiprocessor has
   RESIDENT blocks, so that one computes while another one waits for rows. */

#define BAND 32
#define WIDTH (BAND * BANDS)
#define THREADS (32 * PAIRS * TEAMS)
/* Rows that an instruction multiplies; the instruction for 16 was no faster on an H200. */
#define DEPTH 8
/* Numbers of a line in shared memory: four more, so that 4 lines of 4 numbers lie in 16 different banks. */
#define PITCH (WIDTH + 4)
/* Entries of a tile that a thread brings. */
#define OWN ((LINES * WIDTH + THREADS - 1) / THREADS)
/* Threads that share a column in sums over lines; a block has at least as many threads as columns. */
#define SHARERS (THREADS / WIDTH)

__device__ __forceinline__ void multiply(double *sums, const double *left, const double *right)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};\n"
                 : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                 : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(right[0]), "d"(right[1]));
}

__device__ __forceinline__ void fetch(const REAL *rows, long long pitch, long long d, long long start, long long last,
                                      REAL *out)
{
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        const int entry = threadIdx.x + THREADS * i, column = entry % WIDTH;
        const long long row = start + entry / WIDTH;
        out[i] = row < last && column < d && entry < LINES * WIDTH ? rows[row * pitch + column] : (REAL)0;
    }
}

/* Writes a tile minus the shift to shared memory; lines after the last row and columns after the last are zero. */
__device__ __forceinline__ void lay(double (*tile)[PITCH], const double *shift, long long count, const REAL *given)
{
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        const int entry = threadIdx.x + THREADS * i, column = entry % WIDTH, line = entry / WIDTH;
        if (entry < LINES * WIDTH)
            tile[line][column] = line < count ? (double)given[i] - shift[column] : 0.0;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
sum_scatter(const REAL *rows, long long pitch, long long d, long long n, long long rows_of_slice, const double *shift,
            const double *targets, long long has_targets, long long pairs, double *products, double *sums)
{
    extern __shared__ __align__(16) double room[];
    double (*tiles)[LINES][PITCH] = (double (*)[LINES][PITCH])room;
    double *middle = room + 2 * LINES * PITCH, *both_aims = middle + WIDTH;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int team = warp / PAIRS, pair = blockIdx.y * PAIRS + warp % PAIRS;
    const long long begin = blockIdx.x * rows_of_slice;
    const long long last = begin + rows_of_slice < n ? begin + rows_of_slice : n;
    /* Pair (i, j), i <= j, in the order of i, then j. */
    int i = 0, j = pair;
    while (j >= BANDS - i && i < BANDS - 1)
        j -= BANDS - i, i++;
    j += i;
    const bool works = pair < pairs;
    for (int c = threadIdx.x; c < WIDTH; c += THREADS)
        middle[c] = c < d ? shift[c] : 0.0;
    double total[2][4][4] = {};
    double line_sum = 0.0, line_cross = 0.0;
    const int column = threadIdx.x % WIDTH, sharer = threadIdx.x / WIDTH;
    /* Which of the FOLD rows a column belongs to. */
    const int part = min(column / (int)(d / FOLD), FOLD - 1);
    REAL next[OWN];
    fetch(rows, pitch, d, begin, last, next);
    int now = 0;
    __syncthreads();
    for (long long start = begin; start < last; start += LINES) {
        /* Before the last barrier all threads had left this buffer, so that it can be filled without another one. */
        double *aims = both_aims + LINES * FOLD * now;
        lay(tiles[now], middle, last - start, next);
        for (int e = threadIdx.x; e < LINES * FOLD; e += THREADS)
            aims[e] = has_targets && start * FOLD + e < last * FOLD ? targets[start * FOLD + e] : 0.0;
        __syncthreads();
        if (start + LINES < last)
            fetch(rows, pitch, d, start + LINES, last, next);
        const double (*tile)[PITCH] = tiles[now];
        if (works)
#pragma unroll 1
            for (int k = 0; k < LINES / TEAMS; k += DEPTH) {
                const int line = team * (LINES / TEAMS) + k + t;
                /* As the instruction wants them: lines t, t + 4 and so on, columns g, and on the left g + 8 too. */
                double left[2][DEPTH / 2], right[4][DEPTH / 4];
#pragma unroll
                for (int m = 0; m < 2; m++)
#pragma unroll
                    for (int e = 0; e < DEPTH / 2; e++)
                        left[m][e] = tile[line + e / 2 * 4][BAND * i + 16 * m + e % 2 * 8 + g];
#pragma unroll
                for (int q = 0; q < 4; q++)
#pragma unroll
                    for (int e = 0; e < DEPTH / 4; e++)
                        right[q][e] = tile[line + 4 * e][BAND * j + 8 * q + g];
#pragma unroll
                for (int m = 0; m < 2; m++)
#pragma unroll
                    for (int q = 0; q < 4; q++)
                        multiply(total[m][q], left[m], right[q]);
            }
        /* The first group of pairs also sums lines. */
        if (blockIdx.y == 0 && sharer < SHARERS)
            for (int line = sharer; line < LINES; line += SHARERS) {
                line_sum += tile[line][column];
                line_cross += tile[line][column] * aims[line * FOLD + part];
            }
        now = 1 - now;
    }
    if (works) {
        double *out = products + ((blockIdx.x * TEAMS + team) * pairs + pair) * (long long)(BAND * BAND);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int q = 0; q < 4; q++)
#pragma unroll
                for (int h = 0; h < 2; h++)
                    *(double2 *)(out + (16 * m + 8 * h + g) * BAND + 8 * q + 2 * t)
                        = make_double2(total[m][q][2 * h], total[m][q][2 * h + 1]);
    }
    if (blockIdx.y == 0 && sharer < SHARERS) {
        double *out = sums + (blockIdx.x * SHARERS + sharer) * 2LL * WIDTH;
        out[column] = line_sum, out[WIDTH + column] = line_cross;
    }
}
