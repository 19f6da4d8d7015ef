/* killat: runs a program and kills it, with SIGKILL and all its threads, at its nth system call
 * that changes files. The kernel keeps what was written before, so this is a process that dies at
 * any moment, not a machine that loses power.
 *
 *     killat [--half] [--alone] N PROGRAM [ARGUMENT...]
 *
 * The nth call itself is not carried out; with --half, a write is carried out with half its bytes.
 * With --alone the program's children are neither counted nor killed: they live on. Their starts
 * count as calls, and with --half a child is started before the program dies.
 * Exit status: 99 when the program was killed; else the program's own. What a program that was not
 * killed would have needed is told on standard error: "killat: K calls". */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_KILLED 99
#define EXIT_TROUBLE 98
#define TASKS_MAX 256
/* A stop for a system call, told from a plain SIGTRAP by PTRACE_O_TRACESYSGOOD. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

#if defined(__x86_64__)

struct run {
    pid_t child;
    unsigned long wanted, seen;
    bool half, alone;
    bool cut; /* the call under way is carried out, a write by half: kill when it returns */
    struct task {
        pid_t id;
        bool inside; /* between entry and return of a call */
    } tasks[TASKS_MAX];
    size_t n_tasks;
};

static struct task *task_of(struct run *r, pid_t id)
{
    for (size_t i = 0; i < r->n_tasks; i++) {
        if (r->tasks[i].id == id)
            return &r->tasks[i];
    }
    if (r->n_tasks == TASKS_MAX) {
        fprintf(stderr, "killat: more than %d threads\n", TASKS_MAX);
        exit(EXIT_TROUBLE);
    }
    r->tasks[r->n_tasks] = (struct task){.id = id};
    return &r->tasks[r->n_tasks++];
}

static bool is_write(const struct user_regs_struct *regs)
{
    switch (regs->orig_rax) {
    case SYS_write:
    case SYS_pwrite64:
        return regs->rdi > 2; /* not what the program prints */
    default:
        return false;
    }
}

/* As posix_spawn and fork have it; a thread is none. */
static bool is_child(const struct user_regs_struct *regs, pid_t task)
{
    unsigned long long flags = 0;

    switch (regs->orig_rax) {
    case SYS_fork:
    case SYS_vfork:
        return true;
    case SYS_clone:
        return !(regs->rdi & CLONE_THREAD);
    case SYS_clone3:
        /* The flags are what its structure begins with. */
        flags = (unsigned long long)ptrace(PTRACE_PEEKDATA, task, (void *)regs->rdi, NULL);
        return !(flags & CLONE_THREAD);
    default:
        return false;
    }
}

static bool changes_files(const struct user_regs_struct *regs)
{
    switch (regs->orig_rax) {
    case SYS_writev:
    case SYS_pwritev:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_link:
    case SYS_linkat:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rmdir:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_copy_file_range:
    case SYS_bind: /* makes a socket's file */
        return true;
    case SYS_openat:
        return regs->rdx & O_CREAT;
    default:
        return is_write(regs);
    }
}

static int kill_now(struct run *r)
{
    kill(r->child, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
    return EXIT_KILLED;
}

/* True when the program must die here. */
static bool at_call(struct run *r, struct task *task)
{
    struct user_regs_struct regs;

    task->inside = !task->inside;
    if (!task->inside)
        return r->cut;
    if (ptrace(PTRACE_GETREGS, task->id, NULL, &regs) < 0)
        return false;
    bool child = r->alone && is_child(&regs, task->id);
    if (!child && !changes_files(&regs))
        return false;
    if (++r->seen != r->wanted)
        return false;
    if (r->half && child) {
        r->cut = true;
        return false;
    }
    if (!r->half || !is_write(&regs) || regs.rdx < 2)
        return true;
    regs.rdx /= 2;
    r->cut = true;
    return ptrace(PTRACE_SETREGS, task->id, NULL, &regs) < 0;
}

static int follow(struct run *r)
{
    int status;
    pid_t id;

    while ((id = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (id < 0)
            continue;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (id != r->child)
                continue;
            fprintf(stderr, "killat: %lu calls\n", r->seen);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        int sig = WSTOPSIG(status);
        if (sig == SYSCALL_STOP) {
            if (at_call(r, task_of(r, id)))
                return kill_now(r);
            sig = 0;
        } else if (sig == SIGTRAP || sig == SIGSTOP) {
            sig = 0; /* a new thread, or the program's start */
        }
        ptrace(PTRACE_SYSCALL, id, NULL, (void *)(long)sig);
    }
    return EXIT_TROUBLE;
}

static int start(struct run *r, char **command)
{
    int status;

    r->child = fork();
    if (r->child < 0)
        return -1;
    if (r->child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execvp(command[0], command);
        perror(command[0]);
        _exit(EXIT_TROUBLE);
    }
    if (waitpid(r->child, &status, 0) != r->child || !WIFSTOPPED(status))
        return -1;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    if (!r->alone)
        options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (ptrace(PTRACE_SETOPTIONS, r->child, NULL, (void *)options) < 0)
        return -1;
    return ptrace(PTRACE_SYSCALL, r->child, NULL, NULL) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    char *end = NULL;
    int at = 1;

    for (; argc > at && argv[at][0] == '-'; at++) {
        r.half = r.half || strcmp(argv[at], "--half") == 0;
        r.alone = r.alone || strcmp(argv[at], "--alone") == 0;
    }
    if (argc > at)
        r.wanted = strtoul(argv[at], &end, 10);
    if (argc < at + 2 || !end || *end) {
        fprintf(stderr, "usage: killat [--half] [--alone] N PROGRAM [ARGUMENT...]\n");
        return EXIT_TROUBLE;
    }
    if (start(&r, argv + at + 1) < 0) {
        perror("killat");
        return EXIT_TROUBLE;
    }
    return follow(&r);
}

#else

int main(void)
{
    fprintf(stderr, "killat: knows x86-64 alone\n");
    return EXIT_TROUBLE;
}

#endif
