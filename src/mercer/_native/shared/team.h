/* Atomic operations for threads that share one task after another without the interpreter.

   A ticket holds, from its lowest bits, the next item (20 bits), the number of items (20 bits) and the number of the task.
   A thread that adds one to it has claimed an item of the very task that the ticket names, or learns that none is left.
   So a late thread cannot take an item of one task for that of another, and the leader, which waits until all claimed
   items are done, may then change the arrays that they read. */

#if defined(_MSC_VER)
    #define NOMINMAX
    #define WIN32_LEAN_AND_MEAN
    #include <windows.h>
    #include <intrin.h>
    #define TEAM_ADD(place, step) _InterlockedExchangeAdd64(place, step)
    #define TEAM_LOAD(place) _InterlockedOr64(place, 0)
    #define TEAM_STORE(place, value) _InterlockedExchange64(place, value)
    #define TEAM_PAUSE() YieldProcessor()
    #define TEAM_YIELD() SwitchToThread()
    #define TEAM_SLEEP(nanoseconds) Sleep((nanoseconds) / 500000)
    static inline long long mercer_team_clock(void)
    {
        LARGE_INTEGER ticks, second;
        QueryPerformanceFrequency(&second);
        QueryPerformanceCounter(&ticks);
        return (long long)(1e9 * (double)ticks.QuadPart / (double)second.QuadPart);
    }
#else
    #include <sched.h>
    #include <time.h>
    #define TEAM_ADD(place, step) __atomic_fetch_add(place, step, __ATOMIC_ACQ_REL)
    #define TEAM_LOAD(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
    #define TEAM_STORE(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
    #if defined(__x86_64__) || defined(__i386__)
        #define TEAM_PAUSE() __builtin_ia32_pause()
    #elif defined(__aarch64__)
        #define TEAM_PAUSE() __asm__ __volatile__("yield")
    #else
        #define TEAM_PAUSE() ((void)0)
    #endif
    #define TEAM_YIELD() sched_yield()
    static inline void mercer_team_sleep(long nanoseconds)
    {
        struct timespec time = {0, nanoseconds};
        nanosleep(&time, NULL);
    }
    #define TEAM_SLEEP(nanoseconds) mercer_team_sleep(nanoseconds)
    static inline long long mercer_team_clock(void)
    {
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return 1000000000LL * time.tv_sec + time.tv_nsec;
    }
#endif

static inline long long mercer_team_add(long long *place, long long step) { return TEAM_ADD(place, step); }
static inline long long mercer_team_load(long long *place) { return TEAM_LOAD(place); }
static inline void mercer_team_store(long long *place, long long value) { TEAM_STORE(place, value); }

/* Waits for a task, at the n-th look. The leader publishes the next one within 50 microseconds as a rule, which is too
   short to sleep; after 200 looks a core that other threads want is left to them, and a long wait, as for what a user does
   between two rounds, sleeps. */
static inline void mercer_team_wait(Py_ssize_t look)
{
    if (look < 200)
        TEAM_PAUSE();
    else if (look < 1000)
        TEAM_YIELD();
    else
        TEAM_SLEEP(look < 1100 ? 10000 : look < 2000 ? 50000 : 500000);
}

/* Waits for threads that exchange values several times in a microsecond: a pause takes a third of that time, so the first
   looks have none, and sleep is too long. After 2000 looks some thread has no core: yield to it. */
static inline void mercer_team_spin(Py_ssize_t look)
{
    if (look >= 2000)
        TEAM_YIELD();
    else if (look >= 50)
        TEAM_PAUSE();
}
