/* The ssh key of a home. */
#include "broker/machine/key.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "tap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char home[] = "/tmp/tradewind-key-XXXXXX";

static void put(const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/clouds/%s", home, name);
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0)
        printf("# %s cannot be written\n", path);
}

/* Whether it is the public half of the key at path, by ssh-keygen itself. */
static bool belongs(const char *public, const char *private)
{
    AUTO_MEM char *command = mem_printf("ssh-keygen -y -f '%s'", private);
    char line[400] = "";
    FILE *said = popen(command, "r");

    if (said && !fgets(line, sizeof line, said))
        line[0] = '\0';
    if (said)
        pclose(said);
    line[strcspn(line, "\n")] = '\0';
    return *line && strncmp(line, public, strlen(line)) == 0;
}

static void check_key(void)
{
    AUTO_MEM char *path = NULL;
    AUTO_MEM char *again_path = NULL;
    struct err e = {0};
    struct stat st;

    AUTO_MEM char *public = machine_key(home, &path, &e);
    CHECK(public && strncmp(public, "ssh-ed25519 AAAA", 16) == 0 && !strchr(public, '\n'),
          "one line %s", e.text);
    CHECK(path && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "the private half is ours");
    CHECK(public && path && belongs(public, path), "they belong together");
    AUTO_MEM char *again = machine_key(home, &again_path, &e);
    CHECK(public && again && strcmp(public, again) == 0, "the next call has the same");
}

static void check_remains(void)
{
    AUTO_MEM char *path = NULL;
    AUTO_MEM char *later_path = NULL;
    struct err e = {0};

    AUTO_MEM char *before = machine_key(home, &path, &e);
    put("ssh_key.new", "half");
    put("ssh_key.new.pub", "half");
    if (path)
        unlink(path);
    AUTO_MEM char *after = machine_key(home, &later_path, &e);
    CHECK(after && later_path && belongs(after, later_path) && strcmp(before, after) != 0,
          "killed halfway: a new key %s", e.text);
    put("ssh_key.pub", "");
    free(later_path);
    later_path = NULL;
    AUTO_MEM char *third = machine_key(home, &later_path, &e);
    CHECK(third && later_path && belongs(third, later_path), "an empty public half: a new key %s",
          e.text);
}

static void check_together(void)
{
    enum { PROCESSES = 6 };
    int ends[2], failed = 0;
    char digests[PROCESSES][200] = {{0}};

    file_remove_tree(home);
    mkdir(home, 0700);
    if (pipe(ends) < 0)
        return;
    fflush(stdout);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            char *path, text[200] = "";
            struct err e = {0};
            char *public = machine_key(home, &path, &e);
            snprintf(text, sizeof text, "%s", public ? public : "");
            _exit(write(ends[1], text, sizeof text) == sizeof text ? 0 : 1);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        failed += wait(&status) < 0 || status != 0;
        failed += read(ends[0], digests[i], sizeof digests[i]) != sizeof digests[i];
        failed += !*digests[i] || strcmp(digests[i], digests[0]) != 0;
    }
    CHECK(failed == 0, "%d processes at once have one key", PROCESSES);
}

static void check_missing(void)
{
    char *path;
    struct err e = {0};

    file_remove_tree(home);
    mkdir(home, 0700);
    setenv("PATH", "/nonexistent", 1);
    CHECK(!machine_key(home, &path, &e) && e.kind == ERR_NOTFOUND &&
              strstr(e.text, "openssh-client"),
          "%s", e.text);
}

int main(void)
{
    if (system("ssh-keygen -? 2>/dev/null") == -1 || !mkdtemp(home))
        return TAP_SKIP_ALL("no directory");
    check_key();
    check_remains();
    check_together();
    check_missing();
    file_remove_tree(home);
    return TAP_DONE();
}
