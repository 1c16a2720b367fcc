/* A team of threads that share one piece of work after another without the interpreter.

   A ticket holds, from its lowest bits, the next item, how many there are, and the number of the piece of work: who adds
   one to it has claimed an item of the very piece it names, or learns that none is left. So a late thread can take no
   item of one piece for that of another, and the leader, who waits for all claimed items, may change what they read. */

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

/* What to do while there is nothing to do, at the n-th look: the leader is back within some 50 microseconds as a rule,
   which is too short to sleep; but a core that others want is left to them at once, and a long wait, as for what a user
   does between two rounds, costs little. */
static inline void mercer_team_rest(Py_ssize_t look)
{
    if (look < 200)
        TEAM_PAUSE();
    else if (look < 1000)
        TEAM_YIELD();
    else
        TEAM_SLEEP(look < 1100 ? 10000 : look < 2000 ? 50000 : 500000);
}

/* The same for those who wait for each other many times in a microsecond's work: a pause takes a third of what they wait
   for, and sleep is out of the question; but who has waited for long waits for somebody without a core. */
static inline void mercer_team_hold(Py_ssize_t look)
{
    if (look >= 2000)
        TEAM_YIELD();
    else if (look >= 50)
        TEAM_PAUSE();
}
