#include "base/file.h"

#include "content.h"
#include "tap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/tradewind-file-XXXXXX";

static const char *at(const char *name)
{
    static char paths[4][512];
    static size_t next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof *paths, "%s/%s", root, name);
    return path;
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    return stat(at(name), &st) == 0 ? st.st_mode & 07777 : 0;
}

static void check_replace(void)
{
    struct err e = {0};
    struct stat st;

    CHECK(file_replace(at("f"), "one", 3, 0666, &e) == 0 && !strcmp(content_of(at("f")), "one"),
          "a file is written");
    CHECK(mode_of("f") == 0640, "with the mode less the umask");
    CHECK(chmod(at("f"), 0604) == 0 && file_replace(at("f"), "tw", 2, 0666, &e) == 0 &&
              !strcmp(content_of(at("f")), "tw"),
          "and replaced by a shorter one");
    CHECK(mode_of("f") == 0604, "which keeps the mode");
    CHECK(file_replace(at("f"), NULL, 0, 0666, &e) == 0 && !*content_of(at("f")), "or by nothing");
    CHECK(symlink("f", at("link")) == 0 && file_replace(at("link"), "3", 1, 0666, &e) == 0 &&
              !strcmp(content_of(at("f")), "3") && lstat(at("link"), &st) == 0 &&
              S_ISLNK(st.st_mode),
          "behind a symbolic link, too");
}

/* Written in any order, and there only once it is kept. */
static void check_draft(void)
{
    struct file_draft d;
    struct err e = {0};

    CHECK(file_replace(at("d"), "old", 3, 0666, &e) == 0 && chmod(at("d"), 0604) == 0 &&
              file_draft_open(&d, at("d"), 0666, &e) == 0 && pwrite(d.fd, "w", 1, 2) == 1 &&
              pwrite(d.fd, "ne", 2, 0) == 2 && !strcmp(content_of(at("d")), "old"),
          "while a draft is written the old file stays");
    CHECK(file_draft_keep(&d, &e) == 0 && !strcmp(content_of(at("d")), "new") &&
              mode_of("d") == 0604,
          "kept, it is in its place");
    file_draft_clear(&d);
    CHECK(!strcmp(content_of(at("d")), "new"), "and stays when it is cleared");
    CHECK(file_draft_open(&d, at("d"), 0666, &e) == 0 && pwrite(d.fd, "x", 1, 0) == 1 &&
              access(d.beside, F_OK) == 0,
          "another one");
    char beside[600];
    snprintf(beside, sizeof beside, "%s", d.beside);
    file_draft_clear(&d);
    CHECK(access(beside, F_OK) < 0 && !strcmp(content_of(at("d")), "new"),
          "cleared before, it leaves nothing");
    file_draft_clear(&d);
    CHECK(file_draft_open(&d, root, 0666, &e) < 0 && e.kind == ERR_USAGE,
          "nor is a directory replaced by one: %s", e.text);
    file_draft_clear(&d);
    CHECK(file_draft_open(&d, at("no/d"), 0666, &e) < 0 && e.kind == ERR_IO,
          "nor is there one without its directory: %s", e.text);
    file_draft_clear(&d);
}

static void check_refusals(void)
{
    struct err e = {0};

    CHECK(file_replace(root, "x", 1, 0666, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, root),
          "a directory is not replaced: %s", e.text);
    CHECK(file_replace(at("no/f"), "x", 1, 0666, &e) < 0 && e.kind == ERR_IO &&
              strstr(e.text, "no/f: No such file"),
          "no file where there is no directory: %s", e.text);
    CHECK(file_replace("/dev/full", "x", 1, 0666, &e) < 0 && e.kind == ERR_USAGE,
          "a device is not replaced: %s", e.text);
    CHECK(file_make_dirs(at("f/x"), 0755, &e) < 0 && e.kind == ERR_IO, "a file is no directory: %s",
          e.text);
    CHECK(file_make_dirs("", 0755, &e) < 0 && e.kind == ERR_IO, "nor is no name: %s", e.text);
    CHECK(file_sync_dir(at("f"), &e) < 0 && e.kind == ERR_IO, "nor can it be synced: %s", e.text);
    if (geteuid() != 0) {
        CHECK(file_make_dirs(at("closed"), 0500, &e) == 0 &&
                  file_replace(at("closed/f"), "x", 1, 0666, &e) < 0 && e.kind == ERR_DENIED,
              "a closed directory is ERR_DENIED: %s", e.text);
    }
}

static void check_dirs(void)
{
    struct err e = {0};

    CHECK(file_make_dirs(at("x/y/z"), 0777, &e) == 0 && mode_of("x/y/z") == 0750 &&
              mode_of("x") == 0750,
          "directories are made on the way");
    CHECK(file_make_dirs(at("x//y/z/"), 0777, &e) == 0, "and may exist");
    CHECK(file_replace(at("x/y/f"), "1", 1, 0666, &e) == 0 && file_sync_dir(at("x/y"), &e) == 0,
          "a directory is synced");
    CHECK(symlink(at("f"), at("x/link")) == 0, "beside a link");
    file_remove_tree(at("x"));
    CHECK(access(at("x"), F_OK) < 0, "a tree is removed");
    CHECK(access(at("f"), F_OK) == 0, "but not what its links lead to");
    file_remove_tree(at("x"));
}

/* Deeper than a path can be long, and closed to its owner. */
static void check_deep_tree(void)
{
    static const char name[] = "a-name-of-some-length";
    struct err e = {0};
    int made = 0;

    CHECK(file_make_dirs(at("deep"), 0700, &e) == 0, "a directory");
    int fd = open(at("deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (; fd >= 0 && made < 600 && mkdirat(fd, name, 0700) == 0; made++) {
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        symlinkat(at("f"), fd, "link");
        close(openat(fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
        fchmod(fd, made % 2 ? 0500 : 0);
        close(fd);
        fd = next;
    }
    close(fd);
    CHECK(made == 600, "600 levels below it");
    file_remove_tree(at("deep"));
    CHECK(access(at("deep"), F_OK) < 0, "all are removed");
    CHECK(access(at("f"), F_OK) == 0, "but not what links lead to");
}

static void check_offsets(void)
{
    struct err e = {0};
    char back[8] = "";
    int fd = file_replace(at("o"), "abcdef", 6, 0666, &e) == 0 ? open(at("o"), O_RDWR) : -1;

    CHECK(fd >= 0 && file_pwrite_all(fd, "XY", 2, 2) == 0 && file_pread_all(fd, back, 4, 1) == 4 &&
              !memcmp(back, "bXYe", 4) && lseek(fd, 0, SEEK_CUR) == 0,
          "bytes are written and read at an offset");
    CHECK(file_pread_all(fd, back, sizeof back, 4) == 2 && file_pread_all(fd, back, 1, 6) == 0,
          "fewer at the end of the file");
    CHECK(file_pread_all(-1, back, 1, 0) == -1 && file_pwrite_all(-1, back, 1, 0) == -1,
          "failures are told");
    close(fd);
}

static void check_map(void)
{
    struct err e = {0};
    size_t len = 0;

    CHECK(!file_map(at("none"), &len, &e) && e.kind == ERR_NOTFOUND, "no file: %s", e.text);
    CHECK(!file_map(root, &len, &e) && e.kind == ERR_IO, "a directory: %s", e.text);
    CHECK(file_replace(at("m"), "abc", 3, 0666, &e) == 0, "a file of three bytes");
    void *bytes = file_map(at("m"), &len, &e);
    CHECK(bytes && len == 3 && memcmp(bytes, "abc", 3) == 0, "is mapped whole");
    if (bytes)
        munmap(bytes, len);
}

static void check_lock(void)
{
    struct err e = {0};
    int fd = file_lock(at("lock"), &e), other = open(at("lock"), O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0 && other >= 0 && flock(other, LOCK_EX | LOCK_NB) < 0, "the lock is held");
    close(fd);
    CHECK(flock(other, LOCK_EX | LOCK_NB) == 0, "until its descriptor is closed");
    close(other);
    CHECK(file_lock(at("no/lock"), &e) < 0 && strstr(e.text, "open"), "no directory: %s", e.text);
}

/* What the program keeps: the owner's alone, or its group's below a directory that is shared. */
static void check_own(void)
{
    struct err e = {0};
    mode_t mask = umask(0);
    struct stat st;

    CHECK(file_make_own_dirs(at("own/in"), &e) == 0 && mode_of("own") == 0700 &&
              mode_of("own/in") == 0700 && !file_is_shared(at("own")),
          "directories of one's own");
    int fd = file_open_own(at("own/f"), O_RDWR | O_EXCL, FILE_OWN);
    CHECK(fd >= 0 && mode_of("own/f") == 0600, "have files of one's own");
    close(fd);
    CHECK(file_open_own(at("own/f"), O_RDWR | O_EXCL, FILE_OWN) < 0, "made once");
    umask(077);
    CHECK(mkdir(at("group"), 0700) == 0 && chmod(at("group"), 02770) == 0 &&
              file_is_shared(at("group")),
          "a directory that a group shares");
    CHECK(file_make_own_dirs(at("group/a/b"), &e) == 0 && mode_of("group/a/b") == 02770,
          "hands that on, whatever the umask");
    fd = file_open_own(at("group/a/f"), O_RDWR, FILE_OWN);
    CHECK(fd >= 0 && mode_of("group/a/f") == 0660, "to files");
    close(fd);
    close(file_open_own(at("group/read"), O_RDWR, 0400));
    CHECK(mode_of("group/read") == 0440, "which the group may read if the owner may");
    CHECK(file_replace(at("group/new"), "1", 1, FILE_OWN, &e) == 0 && mode_of("group/new") == 0660,
          "also to those written beside");
    close(file_lock(at("group/lock"), &e));
    CHECK(mode_of("group/lock") == 0660, "and to locks");
    CHECK(file_replace(at("group/mine"), "1", 1, 0666, &e) == 0 && mode_of("group/mine") == 0600,
          "what is written for a user has the umask");
    CHECK(file_make_dirs(at("group/private/x"), 0700, &e) == 0 &&
              (mode_of("group/private/x") & 0777) == 0700 && !file_is_shared(at("group/private")),
          "what is to be private stays it");
    fd = file_open_own(at("group/private/f"), O_RDWR, FILE_OWN);
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600, "with all below");
    close(fd);
    umask(mask);
}

static int note_name(void *context, const char *path, struct err *e)
{
    char *names = context;
    const char *name = strrchr(path, '/') + 1;

    if (!strcmp(name, "bad"))
        return err_set(e, ERR_IO, "bad");
    snprintf(names + strlen(names), 100 - strlen(names), "%s", name);
    return 0;
}

static void check_walk(void)
{
    struct err e = {0};
    char names[100] = "";

    CHECK(file_make_dirs(at("w/d/e"), 0777, &e) == 0 &&
              file_replace(at("w/b"), "", 0, 0666, &e) == 0 &&
              file_replace(at("w/a"), "", 0, 0666, &e) == 0 &&
              file_replace(at("w/.h"), "", 0, 0666, &e) == 0 &&
              file_replace(at("w/d/c"), "", 0, 0666, &e) == 0 &&
              file_replace(at("w/d/e/x"), "", 0, 0666, &e) == 0,
          "files: %s", e.text);
    CHECK(file_walk(at("w"), 1, note_name, names, &e) == 0 && !strcmp(names, "abc"),
          "by name, to the depth, without hidden ones: %s", names);
    CHECK(file_replace(at("w/bad"), "", 0, 0666, &e) == 0 &&
              file_walk(at("w"), 1, note_name, names, &e) < 0 && !strcmp(e.text, "bad"),
          "the first error ends the walk");
    CHECK(file_walk(at("nowhere"), 1, note_name, names, &e) < 0 && e.kind == ERR_USAGE,
          "no directory: %s", e.text);
}

int main(void)
{
    if (!mkdtemp(root))
        return EXIT_FAILURE;
    umask(027);
    check_replace();
    check_draft();
    check_refusals();
    check_dirs();
    check_deep_tree();
    check_offsets();
    check_map();
    check_lock();
    check_own();
    check_walk();
    file_remove_tree(root);
    CHECK(access(root, F_OK) < 0, "nothing is left");
    return TAP_DONE();
}
