#include "broker/pipeline/code.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/program.h"
#include "broker/core/staging.h"
#include "lake/core/files.h"
#include "lake/core/ref.h"
#include "lake/put/put.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char base[32];
    char *home, *dir;
    struct lake *lake;
};

/* ---- tools ---- */

static char *below(const char *dir, const char *name)
{
    return mem_printf("%s/%s", dir, name);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    AUTO_MEM char *path = below(dir, name);
    AUTO_MEM char *parent = mem_dup(path);
    struct err e = {0};

    *strrchr(parent, '/') = 0;
    if (file_make_dirs(parent, 0755, &e) < 0 ||
        file_replace(path, text, strlen(text), 0644, &e) < 0) {
        printf("Bail out! %s\n", e.text);
        exit(1);
    }
}

static void run(const char *const *argv)
{
    AUTO_CLEAR(buf) struct buf out;
    struct program_run r = {.argv = argv, .out = &out};
    struct err e = {0};

    buf_init(&out, 1 << 20);
    if (program_run(&r, &e) != 1 || r.status != 0) {
        printf("Bail out! %s: %s%s\n", argv[0], e.text, r.complaint);
        exit(1);
    }
}

static void git(const char *dir, const char *one, const char *two, const char *three)
{
    const char *argv[] = {"git",
                          "-C",
                          dir,
                          "-c",
                          "user.name=T",
                          "-c",
                          "user.email=t@example.org",
                          "-c",
                          "protocol.file.allow=always",
                          one,
                          two,
                          three,
                          NULL};

    run(argv);
}

static int add_name(void *context, const struct lake_entry *entry, struct err *e)
{
    (void)e;
    return buf_printf(context, "%s ", entry->path);
}

/* The set's files, a blank after each. */
static char *files_of(struct world *w, const char *ref)
{
    AUTO_CLEAR(buf) struct buf b;
    struct lake_ref r = {0};
    struct err e = {0};

    buf_init(&b, 1 << 20);
    if (!ref || lake_resolve(w->lake, ref, LAKE_READ, &r, &e) < 0 ||
        lake_each_file(w->lake, &r, add_name, &b, &e) < 0)
        buf_printf(&b, "%s", e.text);
    lake_ref_clear(&r);
    return mem_dup(buf_str(&b));
}

static int add_bytes(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)e;
    return buf_add(context, bytes, n);
}

static bool holds(struct world *w, const char *ref, const char *text)
{
    AUTO_CLEAR(buf) struct buf b;
    struct lake_ref r = {0};
    struct err e = {0};

    buf_init(&b, 1 << 20);
    bool good = lake_resolve(w->lake, ref, LAKE_READ, &r, &e) == 0 &&
                lake_cat(w->lake, &r, add_bytes, &b, &e) == 0 && strcmp(buf_str(&b), text) == 0;
    lake_ref_clear(&r);
    return good;
}

static size_t staged_left(const struct world *w)
{
    AUTO_MEM char *all = below(w->home, "staging");
    DIR *d = opendir(all);
    size_t n = 0;

    for (const struct dirent *entry; d && (entry = readdir(d));)
        n += entry->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

/* Stores dir/name; the files must be `want`. */
static void stores(
    struct world *w, const char *name, struct code *c, const char *ref, const char *want)
{
    AUTO_MEM char *path = below(w->dir, name);
    struct err e = {0};

    code_clear(c);
    int result = code_store(w->lake, w->home, path, c, &e);
    AUTO_MEM char *files = files_of(w, c->ref);
    CHECK(result == 0 && strcmp(c->ref, ref) == 0 && strcmp(files, want) == 0,
          "%s is stored as %s (%s): %s%s", name, ref, c->ref ? c->ref : "-", files, e.text);
}

static void refuses(
    struct world *w, const char *name, enum err_kind kind, const char *word, const char *what)
{
    AUTO_MEM char *path = below(w->dir, name);
    AUTO_CLEAR(code) struct code c = {0};
    struct err e = {0};

    CHECK(code_store(w->lake, w->home, path, &c, &e) == -1 && e.kind == kind &&
              strstr(e.text, word) && !c.ref,
          "%s: %s", what, e.text);
}

/* ---- what is left out ---- */

static void plain_directory(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};

    write_file(w->dir, "plain/run.sh", "#!/bin/sh\n");
    write_file(w->dir, "plain/a b.txt", "x");
    write_file(w->dir, "plain/build/out.o", "o");
    write_file(w->dir, "plain/data/big.bin", "b");
    write_file(w->dir, "plain/data/keep.txt", "k");
    write_file(w->dir, "plain/sub/x.log", "l");
    write_file(w->dir, "plain/sub/y.log", "l");
    write_file(w->dir, "plain/.gitignore", "build/\n*.log\n");
    write_file(w->dir, "plain/sub/.gitignore", "!y.log\n");
    write_file(w->dir, "plain/.tradewindignore", "/data/*.bin\n");
    stores(w, "plain", &c, "@code-plain:1",
           "/code/plain/.gitignore /code/plain/.tradewindignore /code/plain/a b.txt "
           "/code/plain/data/keep.txt /code/plain/run.sh /code/plain/sub/.gitignore "
           "/code/plain/sub/y.log ");
    CHECK(strcmp(c.commit, "") == 0 && !c.dirty, "no repository, no commit");
    CHECK(c.files == 7 && c.bytes > 0, "files and bytes are told");
    CHECK(staged_left(w) == 0, "no copy stays behind");
}

static void reuse(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *script = below(w->dir, "reuse/run.sh");
    AUTO_MEM char *other = below(w->dir, "reuse/other");

    write_file(w->dir, "reuse/run.sh", "#!/bin/sh\n");
    write_file(w->dir, "reuse/other", "1");
    stores(w, "reuse", &c, "@code-reuse:1", "/code/reuse/other /code/reuse/run.sh ");
    stores(w, "reuse/.", &c, "@code-reuse:1", "/code/reuse/other /code/reuse/run.sh ");
    write_file(w->dir, "reuse/other", "2");
    stores(w, "reuse", &c, "@code-reuse:2", "/code/reuse/other /code/reuse/run.sh ");
    chmod(script, 0755);
    stores(w, "reuse", &c, "@code-reuse:3", "/code/reuse/other /code/reuse/run.sh ");
    stores(w, "reuse", &c, "@code-reuse:3", "/code/reuse/other /code/reuse/run.sh ");
    unlink(other);
    stores(w, "reuse", &c, "@code-reuse:4", "/code/reuse/run.sh ");
    write_file(w->dir, "reuse/other/inside", "3");
    stores(w, "reuse", &c, "@code-reuse-2:1", "/code/reuse-2/other/inside /code/reuse-2/run.sh ");
    CHECK(holds(w, "/code/reuse/other@code-reuse:1", "1") &&
              holds(w, "/code/reuse/other@code-reuse:2", "2"),
          "earlier versions stay what they were");
}

static void executable_bit(struct world *w)
{
    AUTO_MEM char *into = below(w->base, "got");
    AUTO_MEM char *path = below(into, "code/reuse/run.sh");
    struct lake_get_summary sum;
    struct stat st = {0};
    struct err e = {0};

    static const char *const refs[] = {"@code-reuse:3"};
    const struct lake_get_options options = {.refs = refs, .n_refs = 1, .directory = into};
    CHECK(lake_get(w->lake, &options, &sum, &e) == 0 && stat(path, &st) == 0 &&
              (st.st_mode & S_IXUSR),
          "a script that became executable is executable in the next version: %s", e.text);
}

static void repository(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *repo = below(w->dir, "repo");
    AUTO_MEM char *gone = below(repo, "old.c");

    write_file(repo, "main.c", "int main;");
    write_file(repo, "old.c", "x");
    write_file(repo, "tracked.log", "kept by git though it is ignored now");
    write_file(repo, "model.bin", "too large to send");
    write_file(repo, "pkg/mod.c", "m");
    git(repo, "init", "-q", ".");
    git(repo, "add", "-A", ".");
    git(repo, "commit", "-q", "-mone");
    write_file(repo, ".gitignore", "*.log\n/build\n");
    write_file(repo, ".tradewindignore", "*.bin\n");
    git(repo, "add", "-A", ".");
    git(repo, "commit", "-q", "-mtwo");
    write_file(repo, "build/x.o", "x");
    stores(w, "repo", &c, "@code-repo:1",
           "/code/repo/.gitignore /code/repo/.tradewindignore /code/repo/main.c /code/repo/old.c "
           "/code/repo/pkg/mod.c /code/repo/tracked.log ");
    CHECK(strlen(c.commit) == 40 && strspn(c.commit, "0123456789abcdef") == 40 && !c.dirty,
          "a clean tree has its commit: %s", c.commit);
    unlink(gone);
    write_file(repo, "new.c", "n");
    stores(w, "repo", &c, "@code-repo:2",
           "/code/repo/.gitignore /code/repo/.tradewindignore /code/repo/main.c /code/repo/new.c "
           "/code/repo/pkg/mod.c /code/repo/tracked.log ");
    CHECK(strlen(c.commit) == 40 && c.dirty, "a changed one is dirty");
    stores(w, "repo/pkg", &c, "@code-pkg:1", "/code/pkg/mod.c ");
    CHECK(strlen(c.commit) == 40 && !c.dirty, "of a part, the part counts");
    stores(w, "repo/build", &c, "@code-build:1", "/code/build/x.o ");
    CHECK(strcmp(c.commit, "") == 0, "an ignored directory is of no repository");
}

static void repositories_within(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *outer = below(w->dir, "outer");
    AUTO_MEM char *inner = below(w->dir, "outer/lib");
    AUTO_MEM char *origin = below(w->dir, "origin");

    write_file(origin, "s.c", "s");
    git(origin, "init", "-q", ".");
    git(origin, "add", "-A", ".");
    git(origin, "commit", "-q", "-mone");
    write_file(outer, "a.c", "a");
    git(outer, "init", "-q", ".");
    git(outer, "submodule", "add", origin);
    write_file(inner, "b.c", "b");
    write_file(inner, "b.log", "b");
    write_file(inner, ".gitignore", "*.log\n");
    git(inner, "init", "-q", ".");
    git(inner, "add", "-A", ".");
    git(inner, "commit", "-q", "-mone");
    stores(w, "outer", &c, "@code-outer:1",
           "/code/outer/.gitmodules /code/outer/a.c /code/outer/lib/.gitignore "
           "/code/outer/lib/b.c /code/outer/origin/s.c ");
    CHECK(strcmp(c.commit, "") == 0 && c.dirty, "nothing was committed yet");
}

/* A hook of somebody's repository leads git there by its environment. */
static void environment(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *other = below(w->dir, "repo/.git");

    write_file(w->dir, "free/x", "x");
    setenv("GIT_DIR", other, 1);
    setenv("GIT_INDEX_FILE", "/nowhere", 1);
    stores(w, "free", &c, "@code-free:1", "/code/free/x ");
    CHECK(strcmp(c.commit, "") == 0, "git is not led elsewhere by the environment");
    unsetenv("GIT_DIR");
    unsetenv("GIT_INDEX_FILE");
}

static void without_git(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *path = mem_dup(getenv("PATH"));

    setenv("PATH", w->base, 1);
    stores(w, "repo/pkg", &c, "@code-pkg:1", "/code/pkg/mod.c ");
    CHECK(strlen(c.commit) == 40 && c.dirty, "without git, a repository counts as changed");
    stores(w, "origin", &c, "@code-origin:1", "/code/origin/s.c ");
    setenv("PATH", path, 1);
}

/* ---- links ---- */

static void links(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *dir = below(w->dir, "links");
    AUTO_MEM char *file = below(dir, "to-file"), *tree = below(dir, "to-dir");
    AUTO_MEM char *nowhere = below(dir, "nowhere"), *out = below(dir, "sub/out");
    AUTO_MEM char *outside = below(w->dir, "plain/run.sh");

    write_file(dir, "real", "content");
    write_file(dir, "sub/x", "x");
    CHECK(symlink("real", file) == 0 && symlink("sub", tree) == 0 &&
              symlink("missing", nowhere) == 0,
          "links are made");
    stores(w, "links", &c, "@code-links:1",
           "/code/links/real /code/links/sub/x /code/links/to-file ");
    CHECK(holds(w, "/code/links/to-file", "content"), "a link to a file within is that file");
    CHECK(symlink(outside, out) == 0, "a link that leads out is made");
    refuses(w, "links", ERR_USAGE, "sub/out", "and refused by its name");
    write_file(dir, ".tradewindignore", "out\n");
    stores(w, "links", &c, "@code-links:2",
           "/code/links/.tradewindignore /code/links/real /code/links/sub/x /code/links/to-file ");
}

/* ---- archives ---- */

static void unpacked(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    AUTO_MEM char *archive = below(w->dir, "pack.tar.gz");
    AUTO_MEM char *source = below(w->dir, "reuse");
    const char *const tar[] = {"tar", "-czf", archive, "-C", source, ".", NULL};

    run(tar);
    stores(w, "pack.tar.gz", &c, "@code-pack:1", "/code/pack/other/inside /code/pack/run.sh ");
    write_file(w->dir, "broken.tgz", "no archive");
    refuses(w, "broken.tgz", ERR_USAGE, "broken.tgz", "a broken archive");
}

static bool not_long(void *context)
{
    return ++*(int *)context < 3;
}

static void programs(void)
{
    static const char *const sleeping[] = {"sleep", "1000", NULL};
    static const char *const flooding[] = {"yes", NULL};
    static const char *const missing[] = {"no-such-program-at-all", NULL};
    static const char *const failing[] = {"sh", "-c", "echo why >&2; echo $K$HOME; exit 3", NULL};
    static const char *const env[] = {"K=v", "HOME", NULL};
    AUTO_CLEAR(buf) struct buf out;
    struct err e = {0};
    int asked = 0;

    buf_init(&out, 100000);
    struct program_run r = {.argv = sleeping, .out = &out, .go_on = not_long, .context = &asked};
    CHECK(program_run(&r, &e) == 1 && r.stopped && r.status == 128 + 9 && asked == 3,
          "a program ends when it may not go on");
    r = (struct program_run){.argv = failing, .env = env, .out = &out};
    CHECK(program_run(&r, &e) == 1 && r.status == 3 && strcmp(r.complaint, "why") == 0 &&
              strcmp(buf_str(&out), "v\n") == 0,
          "exit code, complaint, output and environment");
    r = (struct program_run){.argv = missing, .out = &out};
    CHECK(program_run(&r, &e) == 0, "one that is not there is told");
    r = (struct program_run){.argv = flooding, .out = &out};
    CHECK(program_run(&r, &e) == 1 && out.full && r.status == 128 + 9,
          "one that prints without end is ended");
}

/* ---- refused ---- */

/* A path that fits where tar unpacks it, and not below the home: what it holds cannot be seen. */
static void deep_archive(struct world *w)
{
    AUTO_MEM char *archive = below(w->dir, "deep.tgz"), *source = below(w->dir, "file.c");
    AUTO_MEM char *prefix = mem_zero(4081, 1);

    for (size_t i = 0; i < 4080; i += 2)
        memcpy(prefix + i, "d/", 2);
    AUTO_MEM char *rename = mem_printf("--transform=s,.*,%sx,", prefix);
    const char *const tar[] = {"tar", "-czPf", archive, rename, source, NULL};
    run(tar);
    refuses(w, "deep.tgz", ERR_USAGE, "paths that are too long", "a path beyond what can be read");
}

static void refused(struct world *w)
{
    AUTO_MEM char *large = below(w->dir, "large/disk.img"), *bomb = below(w->dir, "bomb.tgz");

    refuses(w, "missing", ERR_NOTFOUND, "missing", "what is not there");
    write_file(w->dir, "file.c", "x");
    refuses(w, "file.c", ERR_USAGE, "neither a directory", "a file");
    write_file(w->dir, "none/x.log", "x");
    write_file(w->dir, "none/.gitignore", "*\n");
    refuses(w, "none", ERR_USAGE, ".tradewindignore", "nothing left");
    write_file(w->dir, "large/disk.img", "");
    CHECK(truncate(large, ((off_t)4 << 30) + 1) == 0, "a sparse file of more than 4 GiB");
    refuses(w, "large", ERR_USAGE, "larger than 4 GiB", "too large");
    const char *const tar[] = {"tar", "-cSzf", bomb, large, NULL};
    run(tar);
    refuses(w, "bomb.tgz", ERR_USAGE, "bomb.tgz is larger than 4 GiB", "too large when unpacked");
    deep_archive(w);
    CHECK(staged_left(w) == 0, "nothing of it stays behind");
}

static void names(struct world *w)
{
    AUTO_CLEAR(code) struct code c = {0};
    static const struct {
        const char *ref, *root;
    } roots[] = {{"@code-a:3", "/code/a/"}, {"@code-a-2", "/code/a-2/"}, {"@other:1", NULL}};

    write_file(w->dir, "-my code (2)/x", "x");
    stores(w, "-my code (2)", &c, "@code-my-code--2-:1", "/code/my-code--2-/x ");
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        AUTO_MEM char *root = code_root(roots[i].ref);
        CHECK(roots[i].root ? root && strcmp(root, roots[i].root) == 0 : !root, "root of %s",
              roots[i].ref);
    }
}

/* A killed program leaves its copy; the next one removes it, but never one that is in use. */
static void leftovers(struct world *w)
{
    AUTO_MEM char *left = below(w->home, "staging/killed");
    AUTO_CLEAR(staging) struct staging one = {.lock = -1};
    AUTO_CLEAR(staging) struct staging other = {.lock = -1};
    struct err e = {0};

    write_file(left, "code/x", "x");
    CHECK(staging_open(w->home, &one, &e) == 0 && staging_open(w->home, &other, &e) == 0 &&
              access(left, F_OK) != 0 && access(one.path, F_OK) == 0 &&
              access(other.path, F_OK) == 0,
          "leftovers go, those in use stay: %s", e.text);
}

int main(void)
{
    struct world w = {.base = "/tmp/tw-code-XXXXXX"};
    struct err e = {0};

    if (!mkdtemp(w.base))
        return EXIT_FAILURE;
    w.home = below(w.base, "home");
    w.dir = below(w.base, "dir");
    AUTO_MEM char *url = mem_printf("dir:%s/objects", w.home);
    setenv("HOME", w.base, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    const struct lake_options options = {
        .home = w.home,
        .store = {.url = url},
        .caller = {.project = "default", .user = "ann", .admin = true},
    };
    w.lake = lake_open(&options, &e);
    CHECK(w.lake != NULL, "a lake: %s", e.text);
    if (w.lake) {
        plain_directory(&w);
        reuse(&w);
        executable_bit(&w);
        repository(&w);
        repositories_within(&w);
        environment(&w);
        without_git(&w);
        links(&w);
        unpacked(&w);
        programs();
        refused(&w);
        names(&w);
        leftovers(&w);
    }
    lake_free(w.lake);
    file_remove_tree(w.base);
    free(w.home);
    free(w.dir);
    return TAP_DONE();
}
