#include "broker/core/home.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "tap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_paths(void)
{
    AUTO_MEM char *sock = broker_path("/h", BROKER_SOCKET), *lock = broker_path("/h", BROKER_LOCK);
    AUTO_MEM char *log = broker_path("/h", BROKER_LOG), *jobs = broker_path("/h", BROKER_JOBS);
    AUTO_MEM char *untidy = broker_path("/h", BROKER_UNTIDY);
    AUTO_MEM char *job = broker_job_path("/h", 7, NULL), *part = broker_job_path("/h", 7, "log");

    CHECK(strcmp(sock, "/h/broker.sock") == 0, "the socket");
    CHECK(strcmp(lock, "/h/broker.lock") == 0, "the lock");
    CHECK(strcmp(log, "/h/broker.log") == 0, "the broker's log");
    CHECK(strcmp(jobs, "/h/jobs") == 0, "the jobs");
    CHECK(strcmp(job, "/h/jobs/7") == 0, "a job");
    CHECK(strcmp(part, "/h/jobs/7/log") == 0, "a job's log");
    CHECK(strcmp(untidy, "/h/untidy") == 0, "marks of jobs that are not tidied");
}

/* Whether a socket at this home's address can be bound and is the file of its path. */
static bool can_listen(const char *home)
{
    AUTO_MEM char *path = broker_path(home, BROKER_SOCKET);
    struct sockaddr_un address;
    struct stat st;
    int dir, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = broker_socket_address(home, &address, &dir, NULL) == 0 &&
                bind(fd, (struct sockaddr *)&address, sizeof address) == 0;

    if (dir >= 0)
        close(dir);
    close(fd);
    return good && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void test_socket(const char *scratch)
{
    struct sockaddr_un address;
    struct err e = {0};
    int dir;

    CHECK(can_listen(scratch), "a home with a short name");
    AUTO_MEM char *home = mem_printf("%s/%0150d/%0150d", scratch, 1, 2);
    CHECK(broker_socket_address(home, &address, &dir, &e) < 0 && dir < 0 && strstr(e.text, home),
          "one with a long name that is not there: %.60s", e.text);
    file_make_dirs(home, 0700, NULL);
    CHECK(can_listen(home), "one that is, 300 bytes long");
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void test_log(const char *home)
{
    AUTO_MEM char *path = broker_path(home, BROKER_LOG);
    AUTO_MEM char *old = mem_printf("%s.1", path), *other = mem_printf("%s/other", home);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    CHECK(ftruncate(fd, BROKER_LOG_BYTES - 1) == 0, "a log");
    broker_log_bound(home, fd);
    CHECK(size_of(path) == BROKER_LOG_BYTES - 1 && size_of(old) < 0, "that is short stays");
    CHECK(file_write_all(fd, "x", 1) == 0, "written");
    broker_log_bound(home, fd);
    CHECK(size_of(path) == 0 && size_of(old) == BROKER_LOG_BYTES, "a long one moves away");
    CHECK(file_write_all(fd, "next\n", 5) == 0 && size_of(path) == 5,
          "the next line is in the new");
    int foreign = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(ftruncate(foreign, 2 * BROKER_LOG_BYTES) == 0, "another file");
    broker_log_bound(home, foreign);
    CHECK(size_of(path) == 5 && size_of(other) == 2 * BROKER_LOG_BYTES, "is none of our business");
    close(foreign);
    close(fd);
}

int main(void)
{
    char scratch[] = "/tmp/tradewind-home-XXXXXX";

    test_paths();
    if (!mkdtemp(scratch))
        return TAP_SKIP_ALL("no directory can be made");
    test_socket(scratch);
    test_log(scratch);
    file_remove_tree(scratch);
    return TAP_DONE();
}
