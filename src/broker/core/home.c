#include "broker/core/home.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

char *broker_path(const char *home, const char *name)
{
    return mem_printf("%s/%s", home, name);
}

int broker_socket_address(const char *home, struct sockaddr_un *out, int *dir_out, struct err *e)
{
    AUTO_MEM char *path = broker_path(home, BROKER_SOCKET);

    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    *dir_out = -1;
    if (strlen(path) < sizeof out->sun_path) {
        memcpy(out->sun_path, path, strlen(path));
        return 0;
    }
    *dir_out = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*dir_out < 0)
        return file_error(e, "open", home);
    snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", *dir_out,
             strrchr(path, '/') + 1);
    return 0;
}

char *broker_job_path(const char *home, int64_t job, const char *part)
{
    return mem_printf("%s/jobs/%lld%s%s", home, (long long)job, part ? "/" : "", part ? part : "");
}

void broker_log_bound(const char *home, int fd)
{
    AUTO_MEM char *path = broker_path(home, BROKER_LOG);
    AUTO_MEM char *old = mem_printf("%s.1", path);
    struct stat ours, there;

    /* fd may be a terminal, or another file. */
    if (fstat(fd, &ours) < 0 || ours.st_size < BROKER_LOG_BYTES || stat(path, &there) < 0 ||
        ours.st_ino != there.st_ino || ours.st_dev != there.st_dev || rename(path, old) < 0)
        return;
    AUTO_FD int fresh = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fresh >= 0)
        dup3(fresh, fd, fd > STDERR_FILENO ? O_CLOEXEC : 0);
}
