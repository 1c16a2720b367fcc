/* One iteration of t-SNE on a flat map: forces and moves; the Fourier transforms between them are the library's.

   Places, steps and gains are pairs of float. The grid has `rows` x `columns` nodes in a table with lines of `pitch`
   numbers; a point touches 4 x 4 nodes by cubic B-splines. No sum depends on the order in which threads run: charges
   are integers, and forces along edges are added by one warp for each point, in a fixed order. */

#define THREADS 256

struct Nodes {
    long long first;
    double values[2][4], slopes[2][4];
};

/* Finds the nodes around a point, and the weights of its splines and their derivatives by the share of a cell. */
__device__ __forceinline__ Nodes find_nodes(float2 place, double x, double y, double inverse, long long rows,
                                            long long columns, long long pitch)
{
    Nodes nodes;
    const double given[2] = {((double)place.x - x) * inverse, ((double)place.y - y) * inverse};
    const double sizes[2] = {(double)rows, (double)columns};
    long long cells[2];
#pragma unroll
    for (int axis = 0; axis < 2; axis++) {
        /* A map that has outgrown its grid since the last look stays on the outermost cells. */
        const double position = fmin(fmax(given[axis], 1.0), sizes[axis] - 2.001), cell = floor(position);
        const double f = position - cell, g = 1.0 - f;
        double *values = nodes.values[axis], *slopes = nodes.slopes[axis];
        values[0] = g * g * g / 6.0, values[3] = f * f * f / 6.0;
        values[1] = (3.0 * f * f * f - 6.0 * f * f + 4.0) / 6.0;
        values[2] = (3.0 * g * g * g - 6.0 * g * g + 4.0) / 6.0;
        slopes[0] = -0.5 * g * g, slopes[1] = 1.5 * f * f - 2.0 * f;
        slopes[2] = 2.0 * g - 1.5 * g * g, slopes[3] = 0.5 * f * f;
        cells[axis] = (long long)cell - 1;
    }
    nodes.first = cells[0] * pitch + cells[1];
    return nodes;
}

/* Adds the points to the charges of their nodes, as integers in units of 1 / unit: any order gives the same bits. */
extern "C" __global__ void __launch_bounds__(THREADS)
spread_points(const float2 *places, long long n, double x, double y, double inverse, long long rows, long long columns,
              long long pitch, double unit, unsigned long long *charges)
{
    const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (i >= n)
        return;
    const Nodes nodes = find_nodes(places[i], x, y, inverse, rows, columns, pitch);
#pragma unroll
    for (int a = 0; a < 4; a++)
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const long long share = (long long)(nodes.values[0][a] * nodes.values[1][b] * unit);
            atomicAdd(charges + nodes.first + a * pitch + b, (unsigned long long)share);
        }
}

/* Reads the potential of the nodes at the points, and minus half its gradient. */
extern "C" __global__ void __launch_bounds__(THREADS)
read_grid(const float2 *places, long long n, double x, double y, double inverse, long long rows, long long columns,
          long long pitch, const double *potentials, double2 *pushes, double *totals)
{
    const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (i >= n)
        return;
    const Nodes nodes = find_nodes(places[i], x, y, inverse, rows, columns, pitch);
    double total = 0.0, along = 0.0, across = 0.0;
#pragma unroll
    for (int a = 0; a < 4; a++) {
        double line = 0.0, down = 0.0;
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const double known = potentials[nodes.first + a * pitch + b];
            line += nodes.values[1][b] * known, down += nodes.slopes[1][b] * known;
        }
        total += nodes.values[0][a] * line, along += nodes.slopes[0][a] * line, across += nodes.values[0][a] * down;
    }
    pushes[i] = make_double2(-0.5 * inverse * along, -0.5 * inverse * across);
    totals[i] = total;
}

/* Sums p w (y_i - y_j) over the edges of each point: one warp for a point, then its 32 sums along a tree. */
extern "C" __global__ void __launch_bounds__(THREADS)
attract_points(const float2 *places, long long n, const long long *starts, const int *ends, const float *weights,
               float2 *pulls)
{
    const long long i = (blockIdx.x * (long long)THREADS + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= n)
        return;
    const float2 own = places[i];
    float right = 0.0f, down = 0.0f;
    const long long last = starts[i + 1];
#pragma unroll 4
    for (long long e = starts[i] + lane; e < last; e += 32) {
        const float2 other = places[ends[e]];
        const float x = own.x - other.x, y = own.y - other.y;
        const float strength = weights[e] / (1.0f + (x * x + y * y));
        right += strength * x, down += strength * y;
    }
#pragma unroll
    for (int step = 16; step; step /= 2) {
        right += __shfl_down_sync(0xffffffffu, right, step);
        down += __shfl_down_sync(0xffffffffu, down, step);
    }
    if (lane == 0)
        pulls[i] = make_float2(right, down);
}

/* Sums p log(1 + squared distance) over the edges of each point, in double. */
extern "C" __global__ void __launch_bounds__(THREADS)
sum_logarithms(const float2 *places, long long n, const long long *starts, const int *ends, const float *weights,
               double *sums)
{
    const long long i = (blockIdx.x * (long long)THREADS + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= n)
        return;
    const float2 own = places[i];
    double total = 0.0;
    const long long last = starts[i + 1];
    for (long long e = starts[i] + lane; e < last; e += 32) {
        const float2 other = places[ends[e]];
        const float x = own.x - other.x, y = own.y - other.y;
        total += (double)(weights[e] * log1pf(x * x + y * y));
    }
#pragma unroll
    for (int step = 16; step; step /= 2)
        total += __shfl_down_sync(0xffffffffu, total, step);
    if (lane == 0)
        sums[i] = total;
}

__device__ __forceinline__ float change_gain(float gain, float slope, float speed)
{
    const float changed = slope * speed < 0.0f ? gain + 0.2f : gain * 0.8f;
    return changed < 0.01f ? 0.01f : changed;
}

/* Moves the points against the gradient, 4 (exaggeration pull - push / Z), with gains and momentum; keeps the gradient. */
extern "C" __global__ void __launch_bounds__(THREADS)
move_points(float2 *places, float2 *speeds, float2 *gains, const float2 *pulls, const double2 *pushes,
            const double *normaliser, long long n, double exaggeration, double momentum, double rate, double longest,
            float2 *slopes)
{
    const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (i >= n)
        return;
    const double z = *normaliser;
    const float more = (float)exaggeration;
    const float2 pull = pulls[i], speed = speeds[i];
    const double2 push = pushes[i];
    const float2 slope = make_float2(4.0f * (more * pull.x - (float)(push.x / z)),
                                     4.0f * (more * pull.y - (float)(push.y / z)));
    slopes[i] = slope;
    if (rate == 0.0)
        return;
    float2 gain = gains[i];
    gain = make_float2(change_gain(gain.x, slope.x, speed.x), change_gain(gain.y, slope.y, speed.y));
    gains[i] = gain;
    float2 step = make_float2((float)momentum * speed.x - (float)rate * gain.x * slope.x,
                              (float)momentum * speed.y - (float)rate * gain.y * slope.y);
    const float length = sqrtf(step.x * step.x + step.y * step.y), most = (float)longest;
    const float factor = length > most ? most / length : 1.0f;
    step.x *= factor, step.y *= factor;
    speeds[i] = step;
    places[i] = make_float2(places[i].x + step.x, places[i].y + step.y);
}
