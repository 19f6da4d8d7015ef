/* Which files of its working directory a job used: every way of using one, on every file system
 * that can be had here, and the cases in which nothing can be known. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "hand.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 4096
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- in the job: one file, used in one way; false: not possible here ---- */

static _Alignas(BLOCK) char block[BLOCK];

static int open_way(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC);
}

static bool by_read(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);

    return fd >= 0 && read(fd, block, 10) > 0;
}

static bool by_pread(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);

    return fd >= 0 && pread(fd, block, 10, 1) > 0;
}

static bool by_readv(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    struct iovec v = {block, 10};

    return fd >= 0 && readv(fd, &v, 1) > 0;
}

static bool by_direct(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY | O_DIRECT);

    return fd >= 0 && read(fd, block, BLOCK) > 0;
}

static bool by_map(const char *path, int flags)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    char *at = fd < 0 ? MAP_FAILED : mmap(NULL, BLOCK, PROT_READ, flags, fd, 0);

    return at != MAP_FAILED && at[0] && munmap(at, BLOCK) == 0;
}

static bool by_shared_map(const char *path)
{
    return by_map(path, MAP_SHARED);
}

static bool by_private_map(const char *path)
{
    return by_map(path, MAP_PRIVATE | MAP_POPULATE);
}

static bool by_sendfile(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    AUTO_FD int null = open_way("/dev/null", O_WRONLY);

    return fd >= 0 && sendfile(null, fd, NULL, 10) > 0;
}

static bool by_splice(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    int ends[2];

    if (fd < 0 || pipe(ends) < 0)
        return false;
    ssize_t n = splice(fd, NULL, ends[1], NULL, 10, 0);
    close(ends[0]);
    close(ends[1]);
    return n > 0;
}

static bool by_copy(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    AUTO_FD int to = open("copied", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    return fd >= 0 && to >= 0 && copy_file_range(fd, NULL, to, NULL, BLOCK, 0) > 0;
}

static bool by_noatime(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY | O_NOATIME);

    return fd >= 0 && read(fd, block, 10) > 0;
}

static bool by_open(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0;
}

static bool by_openat2(const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};
    AUTO_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

    return fd >= 0 && read(fd, block, 10) > 0;
}

static bool by_aio(const char *path)
{
    AUTO_FD int fd = open_way(path, O_RDONLY);
    struct iocb one = {.aio_fildes = fd < 0 ? 0 : (uint32_t)fd,
                       .aio_lio_opcode = IOCB_CMD_PREAD,
                       .aio_buf = (uintptr_t)block,
                       .aio_nbytes = 10};
    struct iocb *list[] = {&one};
    struct io_event done;
    aio_context_t context = 0;

    return fd >= 0 && syscall(SYS_io_setup, 1, &context) == 0 &&
           syscall(SYS_io_submit, context, 1L, list) == 1 &&
           syscall(SYS_io_getevents, context, 1L, 1L, &done, NULL) == 1 && done.res > 0;
}

/* Even the opening is done by the kernel's own thread of work. */
static bool by_uring(const char *path)
{
    struct io_uring_params p = {0};
    AUTO_FD int ring = (int)syscall(SYS_io_uring_setup, 1, &p);

    if (ring < 0)
        return false;
    size_t n = p.sq_off.array + p.sq_entries * sizeof(unsigned),
           m = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    char *sq = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, m, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqe =
        mmap(NULL, sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED, ring, (off_t)IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
        return false;
    *sqe = (struct io_uring_sqe){.opcode = IORING_OP_OPENAT,
                                 .fd = AT_FDCWD,
                                 .addr = (uintptr_t)path,
                                 .open_flags = O_RDONLY};
    *(unsigned *)(void *)(sq + p.sq_off.tail) = 1;
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        return false;
    int fd = ((struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes))->res;
    return fd >= 0 && read(fd, block, 10) > 0;
}

static bool by_exec(const char *path)
{
    int status = -1;

    pid_t pid = fork();
    if (pid == 0) {
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static const struct way {
    const char *name;
    bool (*use)(const char *path);
} ways[] = {
    {"aio", by_aio},
    {"copy_file_range", by_copy},
    {"direct", by_direct},
    {"exec", by_exec},
    {"map_private", by_private_map},
    {"map_shared", by_shared_map},
    {"noatime", by_noatime},
    {"open", by_open},
    {"openat2", by_openat2},
    {"pread", by_pread},
    {"read", by_read},
    {"readv", by_readv},
    {"sendfile", by_sendfile},
    {"splice", by_splice},
    {"uring", by_uring},
};

/* Prints the files that it used. */
static int use_all(void)
{
    struct stat st;

    for (size_t i = 0; i < COUNT(ways); i++) {
        char path[100];
        snprintf(path, sizeof path, "ways/%s", ways[i].name);
        if (ways[i].use(path))
            printf("%s\n", path);
    }
    AUTO_FD int fd = open_way("unused/path", O_PATH);
    return fd < 0 || stat("unused/stat", &st) < 0 || access("unused/nosuch", F_OK) == 0;
}

/* As shells and their usual programs do it; what they use is printed likewise. */
static const char shell_ways[] =
    "cp shell/cp ../output/1; cp -a shell/cp-a ../output/2; cat shell/cat > ../output/3;"
    "install shell/install ../output/4; . shell/sourced; sh shell/script;"
    "tar --atime-preserve=replace -cf ../output/t shell/tar;"
    "tar --atime-preserve=system -cf ../output/t shell/tar-system;"
    "mv shell/mv ../output/5; mv shell/renamed shell/other; ln shell/ln ../output/6; rm shell/rm;"
    "sed -i s/a/b/ shell/sed; chmod 600 shell/chmod; : > shell/truncated; touch shell/touched;"
    "ls -l unused > ../output/ls; test -f unused/test; "
    "printf 'shell/%s\\n' cat chmod cp cp-a install ln mv renamed rm script sed sourced tar"
    " tar-system touched truncated";
static const char *const shell_files[] = {
    "cat", "chmod",  "cp",  "cp-a",    "install", "ln",         "mv",      "renamed",
    "rm",  "script", "sed", "sourced", "tar",     "tar-system", "touched", "truncated"};
static const char *const unused_files[] = {"path", "stat", "test", "other"};

/* ---- around the job ---- */

static struct exec_host host;
static char self[PATH_MAX];
static int64_t ids;

static void write_file(const char *work, const char *directory, const char *name)
{
    AUTO_MEM char *dir = mem_printf("%s/%s", work, directory);
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);
    char text[BLOCK] = "#!/bin/sh\ntrue a\n";

    memset(text + strlen(text), '#', BLOCK - strlen(text));
    if (file_make_dirs(dir, 0755, NULL) < 0 || file_replace(path, text, BLOCK, 0755, NULL) < 0)
        exit(1);
}

/* A new job with the files of all ways; script runs in its working directory. */
static int64_t new_job(const struct exec_host *h, const char *script)
{
    int64_t id = ++ids;
    AUTO_MEM char *work = mem_printf("%s/%" PRId64 "/work", h->root, id);

    hand_job(h, (struct jobfile){.id = id, .learn = 1}, script);
    for (size_t i = 0; i < COUNT(ways); i++)
        write_file(work, "ways", ways[i].name);
    for (size_t i = 0; i < COUNT(shell_files); i++)
        write_file(work, "shell", shell_files[i]);
    for (size_t i = 0; i < COUNT(unused_files); i++)
        write_file(work, "unused", unused_files[i]);
    return id;
}

/* The paths of the state's lines, sorted as the log is: "a\nb\n"; new string. */
static char *used_of(const struct hand *t, char doubt[static 1024])
{
    AUTO_CLEAR(buf) struct buf out;
    AUTO_MEM char *text = mem_dup(buf_str(&t->state));
    char *save = NULL;

    buf_init(&out, 1 << 20);
    snprintf(doubt, 1024, "nothing was learned");
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct state_line s;
        if (state_line_parse(line, &s, NULL) < 0)
            continue;
        if (s.kind == STATE_USED)
            buf_printf(&out, "%s\n", s.text);
        else if (s.kind == STATE_LEARNED)
            snprintf(doubt, 1024, "%s", s.text);
    }
    return mem_dup(buf_str(&out));
}

static bool has_line(const char *text, const char *line, size_t n)
{
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        if (strcspn(at, "\n") == n && !memcmp(at, line, n))
            return true;
    return false;
}

/* How many lines of one text the other lacks; the first is told. */
static int lacking(const char *text, const char *other, const char *what)
{
    int n = 0;

    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        if (!has_line(other, at, strcspn(at, "\n")) && n++ == 0)
            printf("# %s: %.*s\n", what, (int)strcspn(at, "\n"), at);
    return n;
}

static void check_ways(const struct exec_host *h, const char *where)
{
    AUTO_MEM char *script = mem_printf("%s use; %s", self, shell_ways);
    char doubt[1024];
    struct hand t;
    struct state_line end = hand_run(h, new_job(h, script), &t);
    AUTO_MEM char *used = used_of(&t, doubt);

    CHECK(end.code == 0 && !doubt[0], "%s: use is known %s%s", where, doubt, end.text);
    CHECK(lacking(buf_str(&t.log), used, "missed") == 0, "%s: every file that was used is told",
          where);
    CHECK(lacking(used, buf_str(&t.log), "extra") == 0, "%s: and no other file", where);
    CHECK(has_line(used, "ways/copy_file_range", 20) && has_line(used, "ways/exec", 9) &&
              has_line(used, "ways/map_private", 16),
          "%s: copies, programs and maps among them", where);
    hand_clear(&t);
}

static void check_doubt(const struct exec_host *h,
                        const char *script,
                        const char *part,
                        const char *name)
{
    char doubt[1024];
    struct hand t;
    struct state_line end = hand_run(h, new_job(h, script), &t);
    free(used_of(&t, doubt));

    CHECK(end.kind == STATE_ENDED && end.code == 0 && strstr(doubt, part), "%s: %s", name, doubt);
    hand_clear(&t);
}

/* ---- file systems ---- */

static bool run(const char *command)
{
    int status = system(command); /* NOLINT: words of ours */

    return status == 0;
}

static bool mount_tmpfs(const char *at)
{
    return mount("none", at, "tmpfs", 0, NULL) == 0;
}

static bool mount_noatime(const char *at)
{
    return mount("none", at, "tmpfs", MS_NOATIME, NULL) == 0;
}

static bool mount_nodiratime(const char *at)
{
    return mount("none", at, "tmpfs", MS_NODIRATIME, NULL) == 0;
}

static bool mount_overlay(const char *at)
{
    AUTO_MEM char *make = mem_printf("mkdir -p %s.l %s.u %s.w", at, at, at);
    AUTO_MEM char *options = mem_printf("lowerdir=%s.l,upperdir=%s.u,workdir=%s.w", at, at, at);

    return run(make) && mount("overlay", at, "overlay", 0, options) == 0;
}

static bool mount_xfs(const char *at)
{
    AUTO_MEM char *make = mem_printf("truncate -s 320M %s.img && mkfs.xfs -q -f %s.img 2>/dev/null "
                                     "&& mount -o loop %s.img %s 2>/dev/null",
                                     at, at, at, at);

    return run(make);
}

static bool mount_bind(const char *at)
{
    AUTO_MEM char *make = mem_printf("mkdir -p %s.b && mount --bind -o noatime %s.b %s && "
                                     "mount -o remount,bind,noatime %s",
                                     at, at, at, at);

    return run(make);
}

static const struct {
    const char *name;
    bool (*mount)(const char *at);
} places[] = {
    {"tmpfs", mount_tmpfs},
    {"noatime", mount_noatime},
    {"nodiratime", mount_nodiratime},
    {"overlayfs", mount_overlay},
    {"XFS", mount_xfs},
    {"a bind mount with noatime", mount_bind},
};

/* Where nothing can be written, nothing can be probed. */
static void read_only(void)
{
    int64_t id = new_job(&host, "cat ways/read >../output/1");
    AUTO_MEM char *work = mem_printf("%s/%" PRId64 "/work", host.root, id);
    AUTO_MEM char *make =
        mem_printf("mount --bind %s %s && mount -o remount,bind,ro %s", work, work, work);
    char doubt[1024];
    struct hand t;

    if (!run(make)) {
        CHECK(true, "a directory that is read-only # SKIP it cannot be mounted here");
        return;
    }
    struct state_line end = hand_run(&host, id, &t);
    AUTO_MEM char *used = used_of(&t, doubt);
    CHECK(end.code == 0 && strstr(doubt, "cannot be probed") && !*used,
          "a directory that is read-only: all counts: %s", doubt);
    hand_clear(&t);
    umount2(work, MNT_DETACH);
}

/* In a mount name space of their own: whatever happens, nothing stays mounted. */
static void file_systems(void)
{
    bool can = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
               mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;

    for (size_t i = 0; i < COUNT(places); i++) {
        AUTO_MEM char *at = mem_printf("%s/%zu", host.root, 1000 + i);
        struct exec_host h = host;
        h.root = at;
        if (!can || mkdir(at, 0755) < 0 || !places[i].mount(at)) {
            CHECK(true, "%s # SKIP it cannot be mounted here", places[i].name);
            continue;
        }
        check_ways(&h, places[i].name);
        CHECK(umount2(at, MNT_DETACH) == 0, "%s: unmounted", places[i].name);
    }
    if (can)
        read_only();
}

/* ---- doubts ---- */

/* The agent stands still while more files are opened than the kernel's queue holds. */
static void overflow(void)
{
    check_doubt(&host,
                "kill -STOP $PPID; i=0; while [ $i -lt 9000 ]; do : < ways/read; : < ways/open;"
                " i=$((i+1)); done; kill -CONT $PPID",
                "the queue overflowed", "more events than the queue holds");
}

/* In a user name space, which has limits of its own. */
static void limited(const char *limit, const char *value, const char *part)
{
    fflush(stdout);
    int before = tap_count, ends[2];
    if (pipe(ends) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        AUTO_MEM char *path = mem_printf("/proc/sys/user/%s", limit);
        int fd = unshare(CLONE_NEWUSER) == 0 ? open(path, O_WRONLY | O_CLOEXEC) : -1;
        bool set = fd >= 0 && write(fd, value, strlen(value)) > 0;
        if (set)
            check_doubt(&host, "true", part, limit);
        else
            CHECK(true, "%s # SKIP no user name space with limits here", limit);
        fflush(stdout);
        _exit(tap_failed ? 1 : 0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    tap_count = before + 1;
    tap_failed += status != 0;
    ids++;
}

static void names(void)
{
    int64_t id = new_job(&host, "cat ways/* unused/* > ../output/all");
    AUTO_MEM char *path = mem_printf("%s/%" PRId64 "/work/ways/a\nb", host.root, id);
    char doubt[1024];
    struct hand t;

    file_replace(path, "x", 1, 0644, NULL);
    hand_run(&host, id, &t);
    AUTO_MEM char *used = used_of(&t, doubt);
    CHECK(strstr(doubt, "control characters") && !*used,
          "a name that no line can hold: all counts: %s", doubt);
    hand_clear(&t);
}

/* A program that stays behind uses files until it is ended with the job. */
static void left_behind(void)
{
    char doubt[1024];
    struct hand t;
    int64_t id = new_job(&host, "(cat ways/read >../output/1; : >../output/ready; sleep 100) &"
                                " while [ ! -e ../output/ready ]; do :; done");

    hand_run(&host, id, &t);
    AUTO_MEM char *used = used_of(&t, doubt);
    CHECK(!doubt[0] && !strcmp(used, "ways/read\n"), "what a background process used counts: %s%s",
          used, doubt);
    hand_clear(&t);
}

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (argc > 1 && !strcmp(argv[1], "use"))
        return use_all();
    self[n > 0 ? n : 0] = 0;
    host = hand_host();
    check_ways(&host, "here");
    names();
    left_behind();
    overflow();
    limited("max_inotify_watches", "4", "the limit of inotify watches is reached");
    limited("max_inotify_instances", "0", "inotify cannot be used");
    file_systems();
    return TAP_DONE();
}
