/* clock: loaded into a program (LD_PRELOAD), it shifts the wall clock that the program sees by the
 * seconds that stand in the file TRADEWIND_TEST_CLOCK names, read anew at every look: tests make
 * the clock jump by writing to that file. Other clocks go on as they are. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long shift_s(void)
{
    const char *path = getenv("TRADEWIND_TEST_CLOCK");
    char text[32] = "";
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtoll(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = (int)syscall(SYS_clock_gettime, clock, out);

    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += shift_s();
    return result;
}
