#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/home.h"
#include "broker/daemon/control_line.h"
#include "broker/daemon/control_socket.h"
#include "tap.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char home[32];
static int64_t asked_for; /* the job somebody began to wait for last */

static void note_wait(void *context, int64_t job)
{
    (void)context;
    asked_for = job;
}

static struct control_socket_news hear(struct control_socket *d)
{
    struct pollfd fds[CONTROL_SOCKET_CLIENTS_MAX + 1];

    poll(fds, control_socket_fds(d, fds), 1000);
    return control_socket_hear(d, note_wait, NULL);
}

static int dial(void)
{
    AUTO_MEM char *path = broker_path(home, BROKER_SOCKET);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* What is there to read now; "" when the other side closed. */
static const char *heard(int fd, char out[static 256])
{
    ssize_t n = recv(fd, out, 255, MSG_DONTWAIT);

    out[n > 0 ? n : 0] = '\0';
    return n < 0 ? "nothing" : out;
}

static void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        printf("# send failed\n");
}

static int enter(struct control_socket *d)
{
    int fd = dial();

    hear(d);
    return fd;
}

static void test_greeting(struct control_socket *d)
{
    char text[256];
    int fd = enter(d);
    AUTO_MEM char *expected = mem_printf("tradewind %s %ld\n", TRADEWIND_VERSION, (long)getpid());

    CHECK(!strcmp(heard(fd, text), expected), "a guest is greeted");
    say(fd, "wa");
    CHECK(!hear(d).woken, "half a word is none");
    say(fd, "ke\nwake\n");
    CHECK(hear(d).woken, "the rest makes it one");
    CHECK(!strcmp(heard(fd, text), "nothing"), "nothing is answered to it");
    say(fd, "retire\n");
    CHECK(hear(d).retire, "a broker can be asked to retire");
    close(fd);
    hear(d);
    CHECK(!control_socket_has_clients(d), "who hangs up is gone");
}

static void test_waiting(struct control_socket *d)
{
    char text[256];
    int one = enter(d), two = enter(d);

    heard(one, text);
    heard(two, text);
    say(one, "wait 7\nwait 8\n");
    hear(d);
    CHECK(asked_for == 8, "who waits is told of");
    CHECK(control_socket_is_awaited(d, 7) && !control_socket_is_awaited(d, 9),
          "it is known which jobs are waited for");
    control_socket_tell(d, 9, "finished");
    CHECK(!strcmp(heard(one, text), "nothing"), "nobody hears of others' jobs");
    control_socket_tell(d, 7, "failed");
    CHECK(!strcmp(heard(one, text), "final 7 failed\n"), "the end is told");
    CHECK(!strcmp(heard(two, text), "nothing"), "to those who wait");
    CHECK(!control_socket_is_awaited(d, 7) && control_socket_is_awaited(d, 8),
          "who then wait for it no more");
    control_socket_tell(d, 7, "failed");
    CHECK(!strcmp(heard(one, text), "nothing"), "once");
    close(one);
    close(two);
    hear(d);
}

static void test_bad_guests(struct control_socket *d)
{
    static const char *const lines[] = {"hello\n",  "wait\n",     "wait x\n",
                                        "wait 0\n", "wait 7 8\n", "wait 99999999999999999999\n",
                                        "WAKE\n",   "wait -3\n"};
    char text[256], longer[CONTROL_LINE_MAX + 1];

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        int fd = enter(d);
        heard(fd, text);
        say(fd, lines[i]);
        hear(d);
        CHECK(!strcmp(heard(fd, text), ""), "shown out: line %zu of those that are none", i);
        close(fd);
    }
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    int fd = enter(d);
    heard(fd, text);
    say(fd, longer);
    hear(d);
    CHECK(!strcmp(heard(fd, text), ""), "a line without an end is not waited for");
    close(fd);
    hear(d);
}

/* Whether the client is greeted before the others could have been silent for ten times as long as
 * they may. */
static bool is_let_in(struct control_socket *d, int fd)
{
    char text[256];

    for (double end_s = time_monotonic_s() + 10; time_monotonic_s() < end_s; hear(d))
        if (!strncmp(heard(fd, text), "tradewind ", 10))
            return true;
    return false;
}

static void test_full_house(struct control_socket *d)
{
    int fds[CONTROL_SOCKET_CLIENTS_MAX], more[3];
    char text[256];

    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++) {
        fds[i] = dial();
        say(fds[i], i == 1 ? "wak" : i == 2 ? "" : "wait 7\n");
    }
    hear(d); /* lets them in */
    hear(d); /* and hears what they say */
    more[0] = dial();
    control_socket_hear(d, note_wait, NULL);
    CHECK(more[0] >= 0 && !strcmp(heard(more[0], text), "nothing"),
          "when all have only just come, one more waits outside");
    CHECK(is_let_in(d, more[0]), "until one has been silent for a while");
    heard(fds[1], text);
    heard(fds[2], text);
    CHECK(!strcmp(heard(fds[1], text), "") != !strcmp(heard(fds[2], text), ""),
          "one of those goes that wait for no job, half a word or none");
    more[1] = dial();
    CHECK(is_let_in(d, more[1]), "so does the other");
    CHECK(!strcmp(heard(fds[1], text), "") && !strcmp(heard(fds[2], text), ""), "for the next");
    say(more[0], "wait 7\n");
    say(more[1], "wait 7\n");
    hear(d);
    more[2] = dial();
    CHECK(is_let_in(d, more[2]), "when all wait for jobs, one of those goes: it comes again");
    size_t n = 0;
    control_socket_tell(d, 7, "finished");
    for (size_t i = 0; i < CONTROL_SOCKET_CLIENTS_MAX; i++) {
        heard(fds[i], text);
        n += strstr(text, "final 7 finished\n") != NULL;
        close(fds[i]);
    }
    CHECK(n == CONTROL_SOCKET_CLIENTS_MAX - 3, "the others hear of their job: %zu", n);
    for (size_t i = 0; i < 3; i++)
        close(more[i]);
    hear(d);
}

/* A client that talks without end does not keep the others from being heard. */
static void test_flood(struct control_socket *d)
{
    static char words[1 << 16];
    int flood = enter(d), other = enter(d);

    for (size_t i = 0; i < sizeof words; i++)
        words[i] = "wake\n"[i % 5];
    CHECK(send(flood, words, sizeof words, MSG_NOSIGNAL | MSG_DONTWAIT) > 1 << 12,
          "a flood of words");
    say(other, "retire\n");
    CHECK(hear(d).retire, "leaves the others their turn");
    int left = 0;
    CHECK(ioctl(flood, SIOCOUTQ, &left) == 0 && left > 0, "and waits for its own: %d", left);
    close(flood);
    close(other);
    while (control_socket_has_clients(d))
        hear(d);
}

static void test_one_broker(void)
{
    struct err e = {0};
    struct control_socket *second = control_socket_open(home, &e);

    CHECK(!second && e.kind == ERR_RETRY, "a home has one broker: %s", e.text);
    control_socket_free(second);
}

static void test_rights(void)
{
    AUTO_MEM char *path = broker_path(home, BROKER_SOCKET);
    struct stat st;

    CHECK(stat(path, &st) == 0 && (st.st_mode & 077) == 0, "only the owner can connect");
}

static void test_after_a_kill(void)
{
    AUTO_MEM char *path = broker_path(home, BROKER_SOCKET);
    struct err e = {0};

    /* What a killed broker leaves: its socket's name. */
    CHECK(file_replace(path, "", 0, 0600, &e) == 0, "the name is taken");
    AUTO(control_socket) struct control_socket *d = control_socket_open(home, &e);
    CHECK(d != NULL, "and taken over: %s", e.text);
    int fd = dial();
    CHECK(fd >= 0, "clients come in");
    close(fd);
}

static void test_long_home(void)
{
    char name[140];
    struct err e = {0};

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    AUTO_MEM char *longer = mem_printf("%s/%s", home, name);
    CHECK(mkdir(longer, 0700) == 0, "a home with a long path");
    AUTO(control_socket) struct control_socket *d = control_socket_open(longer, &e);
    AUTO_MEM char *path = broker_path(longer, BROKER_SOCKET);
    CHECK(d && access(path, F_OK) == 0, "longer than a socket's has its socket: %s", e.text);
}

int main(void)
{
    struct err e = {0};

    snprintf(home, sizeof home, "/tmp/door-XXXXXX");
    if (!mkdtemp(home))
        return EXIT_FAILURE;
    struct control_socket *d = control_socket_open(home, &e);
    CHECK(d != NULL, "a door opens: %s", e.text);
    test_greeting(d);
    test_waiting(d);
    test_bad_guests(d);
    test_full_house(d);
    test_flood(d);
    test_one_broker();
    test_rights();
    control_socket_free(d);
    CHECK(dial() < 0, "a closed door is closed");
    test_after_a_kill();
    test_long_home();
    file_remove_tree(home);
    return TAP_DONE();
}
