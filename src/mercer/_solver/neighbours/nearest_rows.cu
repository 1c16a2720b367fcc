/* Nearest rows in two programs: products in half precision list candidates, exact distances rank them.

   Query x and row y are lines of 16 STEPS half-precision numbers. Beside their rounded entries they hold bounds of the
   rounding and half of |y|^2, such that the product of the two lines is an upper bound of x . y - |y|^2 / 2, which is
   (|x|^2 - |x - y|^2) / 2. A row whose bound stays below a limit of the query is farther away than this limit says; all
   other rows are candidates.

   find_candidates: a block multiplies 128 queries by the rows of one slice, 128 at a time; the grid is (query tiles,
   slices). 8 warps compute 32 x 64 products each. The lines of the queries stay in registers; rows pass through
   shared memory, STAGES tiles deep. The order of a list depends on the order in which warps run; the sorting below
   removes that. */

#define TILE 128
#define THREADS 256
/* Half-precision numbers of a line of a query or a row. */
#define WIDTH (16 * STEPS)
/* The same in shared memory: 16 bytes more, so that eight lines begin in eight different groups of four banks. */
#define PITCH (WIDTH + 8)

typedef unsigned int word;

__device__ __forceinline__ void copy_tile(unsigned short *to, const unsigned short *from)
{
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        /* 2 STEPS pieces of 16 bytes make a line, 256 STEPS a tile. */
        const int piece = threadIdx.x + THREADS * i, line = piece / (2 * STEPS), part = piece % (2 * STEPS);
        const word place = (word)__cvta_generic_to_shared(to + line * PITCH + 8 * part);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(place), "l"(from + 8 * piece));
    }
}

/* Reads the lines of 16 rows, 16 entries each: the right factors of two products of 8 rows. */
__device__ __forceinline__ void read_rows(const unsigned short *lines, int entry, word *out)
{
    const int lane = threadIdx.x % 32, line = lane / 16 * 8 + lane % 8, at = entry + lane / 8 % 2 * 8;
    const word place = (word)__cvta_generic_to_shared(lines + line * PITCH + at);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(place));
}

/* Adds the product of 16 queries and 8 rows over 16 entries to `from`, and writes it to `sum`. */
__device__ __forceinline__ void multiply(float *sum, const word *query, const word *row, const float *from)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};\n"
                 : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
                 : "r"(query[0]), "r"(query[1]), "r"(query[2]), "r"(query[3]), "r"(row[0]), "r"(row[1]), "f"(from[0]),
                   "f"(from[1]), "f"(from[2]), "f"(from[3]));
}

/* Appends the pairs of a warp whose sums are not negative to the lists of their queries. */
__device__ __forceinline__ void list_pairs(const float (*sums)[8][4], int query, long long row, int *taken, int *lists,
                                           long long capacity)
{
    /* In the bits of the sums, the highest is the sign; the and of all of them has it if every sum is negative. */
    word all = 0xffffffffu;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                all &= __float_as_uint(sums[m][n][c]);
    if (all >> 31)
        return;
#pragma unroll
    for (int m = 0; m < 2; m++) {
        word signs = 0;
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                signs = __funnelshift_l(__float_as_uint(sums[m][n][c]), signs, 1);
        /* Bit 31 - (4 n + c) is the sign of sum (n, c). */
        for (word left = ~signs; left; left &= left - 1) {
            const int which = 32 - __ffs((int)left), n = which / 4, c = which % 4;
            const int own = query + 16 * m + c / 2 * 8, place = atomicAdd(taken + own, 1);
            if (place < capacity)
                lists[own * capacity + place] = (int)(row + 8 * n + c % 2);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, STEPS <= 4 ? 2 : 1)
find_candidates(const unsigned short *queries, const float *limits, const unsigned short *rows, long long tiles,
                long long tiles_of_slice, long long capacity, int *counts, int *lists)
{
    extern __shared__ __align__(16) unsigned short buffer[];
    __shared__ int taken[TILE];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4;
    const long long first = (long long)blockIdx.x * TILE, list = blockIdx.y * (long long)gridDim.x * TILE + first;
    const long long begin = blockIdx.y * tiles_of_slice;
    const long long end = begin + tiles_of_slice < tiles ? begin + tiles_of_slice : tiles;
    if (threadIdx.x < TILE)
        taken[threadIdx.x] = 0;
    /* The left factors, as the product wants them: entries 2 pair and 2 pair + 1 of lines group and group + 8. */
    word left[2][STEPS][4];
    float start[2][4];
#pragma unroll
    for (int m = 0; m < 2; m++) {
        const long long query = first + 32 * (warp / 2) + 16 * m + group;
        const unsigned short *line = queries + query * WIDTH + 2 * pair;
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            left[m][s][0] = *(const word *)(line + 16 * s), left[m][s][1] = *(const word *)(line + 8 * WIDTH + 16 * s);
            left[m][s][2] = *(const word *)(line + 16 * s + 8);
            left[m][s][3] = *(const word *)(line + 8 * WIDTH + 16 * s + 8);
        }
        /* Sums begin with the limit, so that a candidate's sum is not negative. */
        start[m][0] = start[m][1] = limits[query], start[m][2] = start[m][3] = limits[query + 8];
    }
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (begin + s < end)
            copy_tile(buffer + s * TILE * PITCH, rows + (begin + s) * TILE * WIDTH);
        asm volatile("cp.async.commit_group;\n");
    }
    int now = 0, next = STAGES - 1;
    for (long long tile = begin; tile < end; tile++) {
        asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2));
        /* All threads have left the tile before this one, so that its place can be filled. */
        __syncthreads();
        if (tile + STAGES - 1 < end)
            copy_tile(buffer + next * TILE * PITCH, rows + (tile + STAGES - 1) * TILE * WIDTH);
        asm volatile("cp.async.commit_group;\n");
        const unsigned short *lines = buffer + now * TILE * PITCH + 64 * (warp % 2) * PITCH;
        float sums[2][8][4];
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int n = 0; n < 8; n += 2) {
                word right[4];
                read_rows(lines + 8 * n * PITCH, 16 * s, right);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply(sums[m][n], left[m][s], right, s ? sums[m][n] : start[m]);
                    multiply(sums[m][n + 1], left[m][s], right + 2, s ? sums[m][n + 1] : start[m]);
                }
            }
        list_pairs(sums, 32 * (warp / 2) + group, tile * TILE + 64 * (warp % 2) + 2 * pair, taken,
                   lists + list * capacity, capacity);
        now = now + 1 == STAGES ? 0 : now + 1, next = next + 1 == STAGES ? 0 : next + 1;
    }
    __syncthreads();
    if (threadIdx.x < TILE)
        counts[list + threadIdx.x] = taken[threadIdx.x];
}
