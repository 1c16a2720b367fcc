/* Sums over rows of weight times kernel value, for each of many columns, of a radial kernel. No value is stored.

   A block computes the sums of 128 columns over some rows, in tiles of 128 rows. Dot products are in registers, 8 x 8 for
   each thread, over parts of 16 entries in shared memory; then come the values, and their sums in double. The grid is
   (columns / 128, slices). Each slice of the rows has its own sums, which are added afterwards in a fixed order, so
   that the result does not depend on the GPU.

   Rows and columns are stored entry by entry, (d, m) and (d, c), with m and c multiples of 128 and d even; padding has
   weight zero. KIND is the code of the profile, see _profile.py. A row and a column of equal number are the same row:
   their distance is set to zero, since the square root would magnify its rounding. */

#define TILE 128
#define PART 16
#define THREADS 256

__device__ __forceinline__ float value_of(float s, float scale, float shape)
{
#if KIND == 1
    return exp2f(s * scale);
#elif KIND == 2
    return expf(-scale * sqrtf(s));
#elif KIND == 3
    const float t = scale * sqrtf(s);
    return (1.0f + t) * expf(-t);
#elif KIND == 4
    const float t = scale * sqrtf(s);
    return (1.0f + t + t * t / 3.0f) * expf(-t);
#else
    return expf(-shape * log1pf(scale * s));
#endif
}

/* Copies a part of 16 entries, or the last d % 16, of 128 rows to registers, 8 values for each thread. */
__device__ __forceinline__ void fetch(const float *given, long long pitch, long long begin, int entry, int d, float4 *out)
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const int e = threadIdx.x / 32 + 8 * k;
        if (entry + e < d)
            out[k] = *(const float4 *)(given + (entry + e) * pitch + begin + 4 * (threadIdx.x % 32));
    }
}

__device__ __forceinline__ void lay(float (*part)[TILE], const float4 *given)
{
#pragma unroll
    for (int k = 0; k < 2; k++)
        *(float4 *)&part[threadIdx.x / 32 + 8 * k][4 * (threadIdx.x % 32)] = given[k];
}

__device__ __forceinline__ void read(const float *line, int at, float *out)
{
    const float4 low = *(const float4 *)(line + 4 * at), high = *(const float4 *)(line + TILE / 2 + 4 * at);
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
kernel_sums(const float *rows, const float *row_squares, const long long *row_numbers, const double *weights,
            long long m, const float *columns, const float *column_squares, const long long *column_numbers, long long c,
            long long d, long long rows_of_slice, double shape, double scale, double *sums)
{
    __shared__ __align__(16) float left[2][PART][TILE], right[2][PART][TILE];
    __shared__ double totals[THREADS / 16][TILE];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16, parts = (int)((d + PART - 1) / PART);
    const long long begin = (long long)blockIdx.x * TILE, top = blockIdx.y * rows_of_slice;
    const long long bottom = top + rows_of_slice < m ? top + rows_of_slice : m;
    const float a = (float)shape, f = (float)scale;
    double total[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    /* Which of the two buffers in shared memory is in use. All threads left the other one before the last barrier, so it
       can be filled without a second barrier. */
    int now = 0;
    for (long long start = top; start < bottom; start += TILE) {
        float dots[8][8] = {};
        float4 next_left[2] = {}, next_right[2] = {};
        fetch(rows, m, start, 0, (int)d, next_left);
        fetch(columns, c, begin, 0, (int)d, next_right);
        for (int part = 0; part < parts; part++) {
            const int entry = part * PART;
            lay(left[now], next_left);
            lay(right[now], next_right);
            __syncthreads();
            if (part + 1 < parts) {
                fetch(rows, m, start, entry + PART, (int)d, next_left);
                fetch(columns, c, begin, entry + PART, (int)d, next_right);
            }
            const int count = (int)d - entry < PART ? (int)d - entry : PART;
#pragma unroll 2
            for (int e = 0; e < count; e++) {
                float p[8], q[8];
                read(left[now][e], y, p);
                read(right[now][e], x, q);
#pragma unroll
                for (int r = 0; r < 8; r++)
#pragma unroll
                    for (int s = 0; s < 8; s++)
                        dots[r][s] += p[r] * q[s];
            }
            now = 1 - now;
        }
#pragma unroll
        for (int r = 0; r < 8; r++) {
            const long long row = start + (r < 4 ? 4 * y + r : TILE / 2 + 4 * y + r - 4);
            const float square = row_squares[row];
            const double weight = weights[row];
#pragma unroll
            for (int s = 0; s < 8; s++) {
                const long long column = begin + (s < 4 ? 4 * x + s : TILE / 2 + 4 * x + s - 4);
                float distance = fmaxf(square + column_squares[column] - 2.0f * dots[r][s], 0.0f);
#if KIND == 2
                distance = row_numbers[row] == column_numbers[column] ? 0.0f : distance;
#endif
                total[s] += weight * (double)value_of(distance, f, a);
            }
        }
    }
#pragma unroll
    for (int s = 0; s < 8; s++)
        totals[y][s < 4 ? 4 * x + s : TILE / 2 + 4 * x + s - 4] = total[s];
    __syncthreads();
    if (threadIdx.x < TILE) {
        double sum = 0.0;
        for (int k = 0; k < THREADS / 16; k++)
            sum += totals[k][threadIdx.x];
        sums[blockIdx.y * c + begin + threadIdx.x] = sum;
    }
}
