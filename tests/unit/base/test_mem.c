#include "base/auto.h"
#include "base/mem.h"
#include "tap.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile size_t huge = SIZE_MAX / 4;

static void ask_too_much(void)
{
    AUTO_MEM char *p = mem_grow(NULL, huge, 8);

    p[0] = 1;
}

/* True when f ends its process with abort. */
static int aborts(void (*f)(void))
{
    int status = 0;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        f();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

int main(void)
{
    AUTO_MEM int *zeroed = mem_zero(100, sizeof *zeroed);
    int sum = 0;

    for (int i = 0; i < 100; i++)
        sum |= zeroed[i];
    CHECK(sum == 0, "mem_zero zeroes");
    AUTO_MEM char *none = mem_zero(0, 8);
    CHECK(none != NULL, "nothing is something that can be freed");

    AUTO_MEM char *copy = mem_dup("wind");
    CHECK(strcmp(copy, "wind") == 0, "mem_dup copies");
    AUTO_MEM char *text = mem_printf("%s-%d", "a", 5);
    CHECK(strcmp(text, "a-5") == 0, "mem_printf formats");

    size_t cap = 0, n = 0;
    int *numbers = NULL;
    for (int i = 0; i < 1000; i++) {
        numbers = mem_room(numbers, n, &cap, sizeof *numbers);
        numbers[n++] = i;
    }
    int right = 0;
    for (int i = 0; i < 1000; i++)
        right += numbers[i] == i;
    CHECK(right == 1000 && cap >= 1000, "a growing array keeps what it holds");

    int *taken = TAKE(numbers);
    CHECK(taken && !numbers, "TAKE leaves NULL behind");
    free(taken);
    CHECK(aborts(ask_too_much), "a size that overflows aborts");
    return TAP_DONE();
}
