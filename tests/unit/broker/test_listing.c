#include "broker/pipeline/listing.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/program.h"
#include "broker/pipeline/ignore.h"
#include "broker/pipeline/repository.h"
#include "tap.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tools ---- */

static char base[] = "/tmp/tw-listing-XXXXXX";

static void bail(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(1);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    AUTO_MEM char *path = mem_printf("%s/%s", dir, name);
    AUTO_MEM char *parent = mem_dup(path);
    struct err e = {0};

    *strrchr(parent, '/') = 0;
    FILE *f = file_make_dirs(parent, 0755, &e) < 0 ? NULL : fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        bail(path);
}

/* Words are separated by one blank. */
static void git(const char *dir, const char *words, struct buf *out)
{
    static const char *const env[] = {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", NULL};
    const char *argv[32] = {"git", "-C", dir, "-c", "user.name=T", "-c", "user.email=t@e.org"};
    AUTO_MEM char *copy = mem_dup(words);
    AUTO_CLEAR(buf) struct buf own;
    struct program_run run = {.argv = argv, .env = env, .out = out ? out : &own};
    struct err e = {0};
    size_t n = 7;

    buf_init(&own, 1 << 20);
    for (char *at = copy; at && n < 31;) {
        argv[n++] = at;
        at = strchr(at, ' ');
        if (at)
            *at++ = 0;
    }
    if (program_run(&run, &e) != 1 || run.status != 0) {
        printf("# git %s: %s%s\n", words, e.text, run.complaint);
        bail("git");
    }
}

/* The listed paths, a newline after each; the error's text otherwise. */
static char *list(const char *dir, bool with_commit, struct listing *out)
{
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    AUTO_MEM char *scratch = mem_printf("%s/scratch", base);
    const struct listing_options options = {.directory = dir,
                                            .scratch = with_commit ? scratch : NULL};
    AUTO_CLEAR(buf) struct buf b;
    struct listing own;
    struct err e = {0};

    buf_init(&b, 1 << 24);
    out = out ? out : &own;
    if (listing_read(&options, arena, out, &e) < 0)
        buf_puts(&b, e.text);
    for (size_t i = 0; i < out->n; i++)
        buf_printf(&b, "%s\n", out->paths[i]);
    return mem_dup(buf_str(&b));
}

/* ---- patterns, by the words of gitignore(5) ---- */

static const struct {
    const char *rules, *path;
    bool directory, ignored;
} cases[] = {
    {"# comment\n\nfoo", "foo", false, true},
    {"\\#foo", "#foo", false, true},
    {"foo  ", "foo", false, true},
    {"foo\\ ", "foo ", false, true},
    {"foo\\ ", "foo", false, false},
    {"\\!foo", "!foo", false, true},
    {"*.o\n!keep.o", "keep.o", false, false},
    {"!keep.o\n*.o", "keep.o", false, true},
    {"foo/", "foo", false, false},
    {"foo/", "a/foo", true, true},
    {"/foo", "a/foo", false, false},
    {"/foo", "foo", false, true},
    {"doc/frotz", "a/doc/frotz", false, false},
    {"doc/frotz", "doc/frotz", false, true},
    {"frotz", "a/b/frotz", false, true},
    {"foo/*", "foo/test.json", false, true},
    {"foo/*", "foo/bar/hello.c", false, false},
    {"**/foo", "foo", false, true},
    {"**/foo/bar", "a/foo/bar", false, true},
    {"abc/**", "abc/x/y", false, true},
    {"abc/**", "abc", true, false},
    {"a/**/b", "a/b", false, true},
    {"a/**/b", "a/x/y/b", false, true},
    {"a/**/b", "a/xb", false, false},
    {"fo?", "fo", false, false},
    {"f[a-c]o", "fbo", false, true},
    {"f[!a-c]o", "fbo", false, false},
    {"f[]]o", "f]o", false, true},
    {"f[[:digit:]]o", "f7o", false, true},
    {"f[[:nothing:]]o", "f7o", false, false},
    {"f[o", "f[o", false, false},
    {"a[/]b", "a/b", false, false},
    {"foo\r\nbar\r\n", "foo", false, true},
    {"\xef\xbb\xbf"
     "foo",
     "foo", false, true},
    {"foo\\", "foo\\", false, false},
    {"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false,
     false},
};

static void patterns(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
        const struct ignore_rules *rules =
            ignore_parse(arena, NULL, 0, cases[i].rules, strlen(cases[i].rules));
        CHECK(ignore_matches(rules, cases[i].path, cases[i].directory) == cases[i].ignored,
              "case %zu: %s is %s", i, cases[i].path, cases[i].ignored ? "left out" : "taken");
    }
}

/* ---- against git ---- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((seed >> 33) % below);
}

static const char *const pieces[] = {
    "a",     "b",           "A", "B",  "aB",   "[A-Z]", "*",       "**", "?",
    "[ab]",  "[!a]",        "/", "/",  "**/",  "/**",   "\\a",     "a*", "*b",
    "[a-b]", "[[:alpha:]]", " ", "ab", "[]a]", "[b-",   "[[:x:]]", "\\", "[^b]"};

static void draw_rules(struct buf *out)
{
    for (unsigned lines = 1 + draw(5); lines--;) {
        if (draw(4) == 0)
            buf_puts(out, "!");
        for (unsigned n = 1 + draw(5); n--;)
            buf_puts(out, pieces[draw(sizeof pieces / sizeof *pieces)]);
        buf_puts(out, draw(3) ? "\n" : draw(2) ? "/\n" : "\r\n");
    }
}

static void draw_path(struct buf *out)
{
    static const char *const names[] = {"a", "b", "c", "ab", "ba", "aa", "bb", "abc"};
    static const char *const dirs[] = {"A", "B", "aB", "Ab"};

    for (unsigned depth = draw(4); depth--;)
        buf_printf(out, "%s/", dirs[draw(4)]);
    buf_puts(out, names[draw(8)]);
}

/* Some files are tracked although rules leave them out. */
static void draw_tree(const char *dir, bool tracked)
{
    AUTO_CLEAR(buf) struct buf add;

    buf_init(&add, 1 << 16);
    buf_puts(&add, "add -f --");
    for (int i = 0; i < 40; i++) {
        AUTO_CLEAR(buf) struct buf path, rules;
        buf_init(&path, 4096);
        buf_init(&rules, 4096);
        draw_path(&path);
        if (i % 8 == 0) {
            size_t slash = path.len;
            while (slash && path.data[slash - 1] != '/')
                slash--;
            path.len = slash;
            buf_puts(&path, ".gitignore");
            draw_rules(&rules);
        }
        write_file(dir, buf_str(&path), buf_str(&rules));
        if (tracked && i % 13 == 5)
            buf_printf(&add, " %s", buf_str(&path));
    }
    git(dir, "init -q .", NULL);
    if (tracked)
        git(dir, buf_str(&add), NULL);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *ask_git(const char *dir)
{
    AUTO_CLEAR(buf) struct buf names, out;
    const char *paths[1000];
    size_t n = 0;

    buf_init(&names, 1 << 20);
    buf_init(&out, 1 << 20);
    git(dir, "ls-files -z --cached --others --exclude-standard", &names);
    for (const char *at = buf_str(&names), *end = at + names.len; at < end; at += strlen(at) + 1)
        paths[n++] = at;
    qsort(paths, n, sizeof *paths, by_text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s\n", paths[i]);
    return mem_dup(buf_str(&out));
}

static void random_trees(uint64_t first, uint64_t trees)
{
    size_t wrong = 0;

    for (uint64_t i = 0; i < trees; i++) {
        AUTO_MEM char *dir = mem_printf("%s/tree", base);
        seed = first + i;
        draw_tree(dir, i % 2);
        AUTO_MEM char *ours = list(dir, false, NULL);
        AUTO_MEM char *want = ask_git(dir);
        if (strcmp(ours, want) != 0 && wrong++ < 3)
            printf("# tree %llu:\n# ours: %s\n# git: %s\n", (unsigned long long)(first + i), ours,
                   want);
        file_remove_tree(dir);
    }
    CHECK(wrong == 0, "the files of %llu random trees are those that git lists",
          (unsigned long long)trees);
}

/* ---- rules of ours ---- */

static void built_in(void)
{
    AUTO_MEM char *dir = mem_printf("%s/built-in", base);
    static const char *const files[] = {"a.py",           ".venv/x",          "venv/x",
                                        "node_modules/x", "p/__pycache__/x",  ".mypy_cache/x",
                                        "p/venv/x",       "p/node_modules/x", "keep/venv/x"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_file(dir, files[i], "x");
    AUTO_MEM char *first = list(dir, false, NULL);
    CHECK(strcmp(first, "a.py\n") == 0, "environments and caches stay out: %s", first);
    write_file(dir, "keep/.tradewindignore", "!venv\n");
    AUTO_MEM char *second = list(dir, false, NULL);
    CHECK(strcmp(second, "a.py\nkeep/.tradewindignore\nkeep/venv/x\n") == 0,
          "but for those that .tradewindignore takes in: %s", second);
}

/* ---- repositories ---- */

static void dirtiness(void)
{
    AUTO_MEM char *dir = mem_printf("%s/dirty", base);
    struct listing l;

    write_file(dir, "a", "1");
    write_file(dir, ".gitignore", "*.log\n");
    git(dir, "init -q .", NULL);
    git(dir, "add -A", NULL);
    free(list(dir, true, &l));
    CHECK(!*l.commit && l.dirty, "nothing is committed yet");
    git(dir, "commit -q -mone", NULL);
    write_file(dir, "x.log", "");
    free(list(dir, true, &l));
    CHECK(strlen(l.commit) == 40 && !l.dirty, "a clean tree");
    git(dir, "pack-refs --all", NULL);
    git(dir, "gc -q", NULL);
    free(list(dir, true, &l));
    CHECK(strlen(l.commit) == 40 && !l.dirty, "packed, it is the same");
    git(dir, "update-index --index-version 4", NULL);
    AUTO_MEM char *four = list(dir, true, &l);
    CHECK(!l.dirty && strcmp(four, ".gitignore\na\n") == 0, "an index of version 4");
    write_file(dir, "a", "2");
    free(list(dir, true, &l));
    CHECK(l.dirty, "a change of the same length in the same second is seen");
    git(dir, "add a", NULL);
    free(list(dir, true, &l));
    CHECK(l.dirty, "staged, too");
    git(dir, "commit -q -mtwo", NULL);
    git(dir, "worktree add -q ../worktree", NULL);
    AUTO_MEM char *other = mem_printf("%s/worktree", base);
    AUTO_MEM char *further = list(other, true, &l);
    CHECK(strlen(l.commit) == 40 && !l.dirty && strcmp(further, ".gitignore\na\n") == 0,
          "a further working tree: %s", further);
    git(other, "rm -q a", NULL);
    AUTO_MEM char *removed = list(other, true, &l);
    CHECK(l.dirty && strcmp(removed, ".gitignore\n") == 0, "a removed file");
    git(dir, "config core.splitIndex true", NULL);
    git(dir, "update-index --split-index", NULL);
    AUTO_MEM char *split = list(dir, true, &l);
    CHECK(l.dirty && strcmp(split, ".gitignore\na\n") == 0, "a split index counts as changed");
    AUTO_MEM char *sha256 = mem_printf("%s/sha256", base);
    write_file(sha256, "a", "1");
    git(sha256, "init -q --object-format=sha256 .", NULL);
    git(sha256, "add -A", NULL);
    git(sha256, "commit -q -mone", NULL);
    free(list(sha256, true, &l));
    CHECK(strlen(l.commit) == 64 && !l.dirty, "objects with SHA-256");
}

/* Everything that a repository can make git execute; each appends to `ran`. */
static void set_traps(const char *dir, const char *ran)
{
    AUTO_MEM char *script = mem_printf("%s/trap.sh", dir);
    AUTO_MEM char *text = mem_printf("#!/bin/sh\necho \"$0 $*\" >>%s\ncat 2>/dev/null\n", ran);
    AUTO_MEM char *config =
        mem_printf("[core]\n\trepositoryformatversion = 0\n\tfsmonitor = %s\n"
                   "\thooksPath = hooks\n\tpager = %s\n\tsshCommand = %s\n"
                   "\tattributesFile = ../attributes\n"
                   "[filter \"evil\"]\n\tclean = %s\n\tsmudge = %s\n"
                   "\tprocess = %s\n\trequired = true\n"
                   "[diff]\n\texternal = %s\n[diff \"evil\"]\n\ttextconv = %s\n"
                   "[include]\n\tpath = ../more\n[alias]\n\tstatus = !%s\n",
                   script, script, script, script, script, script, script, script, script);

    write_file(dir, "trap.sh", text);
    chmod(script, 0755);
    write_file(dir, ".git/config", config);
    write_file(dir, "more", config);
    write_file(dir, ".gitattributes", "* filter=evil diff=evil\n");
    write_file(dir, "attributes", "* filter=evil diff=evil\n");
    static const char *const hooks[] = {"post-index-change", "pre-commit", "post-checkout",
                                        "fsmonitor-watchman"};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        AUTO_MEM char *name = mem_printf(".git/hooks/%s", hooks[i]);
        AUTO_MEM char *path = mem_printf("%s/%s", dir, name);
        write_file(dir, name, text);
        chmod(path, 0755);
    }
}

static void hostile(void)
{
    AUTO_MEM char *dir = mem_printf("%s/hostile", base);
    AUTO_MEM char *inner = mem_printf("%s/lib", dir);
    AUTO_MEM char *ran = mem_printf("%s/ran", base);
    const char *const both[] = {inner, dir};
    struct listing l;

    for (int i = 0; i < 2; i++) {
        write_file(both[i], "main.py", "1");
        git(both[i], "init -q .", NULL);
        git(both[i], "add main.py", NULL);
        git(both[i], "commit -q -mone", NULL);
        set_traps(both[i], ran);
        write_file(both[i], "main.py", "2");
    }
    AUTO_MEM char *listed = list(dir, true, &l);
    CHECK(strstr(listed, "main.py\n") && strstr(listed, "lib/main.py\n") && l.dirty &&
              strlen(l.commit) == 40,
          "a hostile repository is listed");
    CHECK(access(ran, F_OK) < 0, "and executes nothing");
    AUTO_MEM char *removed = mem_printf("%s/.gitattributes", dir);
    unlink(removed);
    AUTO_MEM char *here = mem_printf("%s/lib/.git/index", dir);
    unlink(here);
    CHECK(mkfifo(here, 0600) == 0, "an index that is a pipe");
    AUTO_MEM char *again = list(inner, true, &l);
    CHECK(l.dirty && strstr(again, "main.py\n"), "does not keep the listing waiting");
    git(dir, "-c alias.status= status", NULL);
    CHECK(access(ran, F_OK) == 0, "git itself executes what the repository configures");
}

/* An index of version 4 with n files; each path but the first one is as long, and continues the one
 * before in all but its last byte. */
static bool reads_continued(size_t n, size_t path_bytes)
{
    static const unsigned char head[] = {'D', 'I', 'R', 'C', 0, 0, 0, 4};
    AUTO(arena) struct arena *a = arena_new(SIZE_MAX);
    AUTO_MEM char *first = mem_zero(path_bytes + 1, 1);
    const unsigned char count[] = {0, 0, (unsigned char)(n >> 8), (unsigned char)n};
    const char zeros[62] = {0};
    AUTO_CLEAR(buf) struct buf b;
    struct repository r = {0};

    memset(first, 'a', path_bytes);
    buf_init(&b, 1 << 20);
    buf_add(&b, head, sizeof head);
    buf_add(&b, count, sizeof count);
    for (size_t i = 0; i < n; i++) {
        buf_add(&b, zeros, sizeof zeros);
        buf_add(&b, i ? "\1b" : "\0", i ? 3 : 1); /* how much goes, what comes; NUL */
        if (!i)
            buf_add(&b, first, path_bytes + 1);
    }
    buf_add(&b, zeros, 20);
    return repository_parse_index(&r, a, (const unsigned char *)b.data, b.len, 20);
}

/* 65 bytes each: of 500 bytes they are what a deep tree has, of 4,000 a trap for memory. */
static void long_paths(void)
{
    CHECK(reads_continued(1000, 500), "an index with long paths is read");
    CHECK(!reads_continued(1000, 4000), "one whose paths take 16 times its bytes is not");
}

int main(void)
{
    if (!mkdtemp(base))
        bail("mkdtemp");
    AUTO_MEM char *scratch = mem_printf("%s/scratch", base);
    if (mkdir(scratch, 0700) < 0)
        bail(scratch);
    patterns();
    random_trees(1, 40);
    built_in();
    dirtiness();
    hostile();
    long_paths();
    file_remove_tree(base);
    return TAP_DONE();
}
