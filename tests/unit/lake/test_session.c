#include "lake/clean/clean.h"
#include "lake/put/session.h"
#include "local.h"
#include "tap.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t begin(struct lake *l, const char *const *paths, size_t n, struct err *e)
{
    AUTO_MEM struct lake_target *targets = mem_zero(n, sizeof *targets);
    const char *tag = "k=v";
    const struct lake_put_options like = {.set = "S", .tags = &tag, .n_tags = 1};
    int64_t id;

    for (size_t i = 0; i < n; i++)
        targets[i].path = paths[i];
    return lake_session_begin(l, targets, n, &like, 0, &id, e) < 0 ? -1 : id;
}

struct answers {
    char text[400];
};

static int note(void *context, const struct lake_put_file *file, struct err *e)
{
    struct answers *a = context;
    size_t n = strlen(a->text);

    (void)e;
    snprintf(a->text + n, sizeof a->text - n, "%s#%lld%s:%llu ", file->path,
             (long long)file->number, file->unchanged ? "=" : "", (unsigned long long)file->size);
    return 0;
}

static int finish(struct lake *l, int64_t id, struct answers *a, struct err *e)
{
    struct lake_put_summary sum;

    a->text[0] = 0;
    return lake_session_finish(l, id, note, a, &sum, e);
}

static int state_of(void *context, const struct lake_session *s, struct err *e)
{
    (void)e;
    *(struct lake_session *)context = *s;
    return 0;
}

static struct lake_session look(struct lake *l, int64_t id)
{
    struct lake_session s = {0};
    struct err e = {0};

    CHECK(lake_session_list(l, id, state_of, &s, &e) == 0, "look at session %lld %s", (long long)id,
          e.text);
    return s;
}

static void course(struct scratch *s, struct lake *l)
{
    const char *paths[] = {"/up/z", "/up/a"};
    struct answers answers, again;
    struct err e = {0};
    int64_t id = begin(l, paths, 2, &e);

    local_text(s, "z", "zz");
    local_noise(s, "a", STORE_SMALL_MAX + 7, 3);
    CHECK(id > 0 && look(l, id).state == LAKE_SESSION_PENDING && look(l, id).files == 2,
          "begun: %s", e.text);
    CHECK(lake_session_put(l, id, "/up/z", local_path(s, "z"), NULL, &e) == 0, "one: %s", e.text);
    CHECK(look(l, id).arrived == 1 && look(l, id).bytes_arrived == 2, "one has arrived");
    CHECK(finish(l, id, &answers, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "/up/a"),
          "not yet: %s", e.text);
    CHECK(scratch_number(l, "SELECT count(*) FROM version") == 0 &&
              look(l, id).state == LAKE_SESSION_PENDING,
          "nothing was numbered, it stays pending");
    CHECK(lake_session_put(l, id, "/up/other", local_path(s, "z"), NULL, &e) < 0 &&
              e.kind == ERR_NOTFOUND,
          "a path nobody announced: %s", e.text);
    CHECK(lake_session_put(l, id, "/up/a", local_path(s, "a"), NULL, &e) == 0, "two: %s", e.text);
    CHECK(finish(l, id, &answers, &e) == 0 &&
              strcmp(answers.text, "/up/z#1:2 /up/a#1:1048583 ") == 0,
          "finished, in the order of the request: %s%s", answers.text, e.text);
    CHECK(finish(l, id, &again, &e) == 0 && strcmp(answers.text, again.text) == 0,
          "again: the same answer");
    CHECK(scratch_number(l, "SELECT count(*) FROM version") == 2 &&
              scratch_number(l, "SELECT count(*) FROM set_version") == 1 &&
              scratch_number(l, "SELECT count(*) FROM meta") == 3,
          "two versions, one set version, a tag on each");
    CHECK(lake_session_abort(l, id, &e) < 0 && e.kind == ERR_USAGE, "too late: %s", e.text);
    CHECK(lake_session_put(l, id, "/up/z", local_path(s, "a"), NULL, &e) < 0 && e.kind == ERR_USAGE,
          "nothing more arrives: %s", e.text);
    AUTO_MEM char *text = local_cat(l, "/up/z@S:1");
    CHECK(text && strcmp(text, "zz") == 0, "it reads back");
}

static void announced(struct scratch *s, struct lake *l)
{
    const struct sha256_digest digest = sha256_of("right", 5);
    const struct lake_target targets[] = {
        {.path = "/an/size", .size_known = true, .size = 5},
        {.path = "/an/digest", .digest = &digest},
    };
    struct answers answers;
    struct err e = {0};
    int64_t id = 0;

    local_text(s, "right", "right");
    local_text(s, "wrong", "wrong");
    local_text(s, "longer", "longer");
    CHECK(lake_session_begin(l, targets, 2, NULL, 0, &id, &e) == 0, "begun: %s", e.text);
    CHECK(lake_session_put(l, id, "/an/size", local_path(s, "longer"), NULL, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "6 bytes"),
          "another length: %s", e.text);
    CHECK(lake_session_put(l, id, "/an/digest", local_path(s, "wrong"), NULL, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "SHA-256"),
          "another digest: %s", e.text);
    CHECK(look(l, id).arrived == 0, "neither counts");
    CHECK(lake_session_put(l, id, "/an/size", local_path(s, "wrong"), NULL, &e) == 0 &&
              lake_session_put(l, id, "/an/size", local_path(s, "right"), NULL, &e) == 0 &&
              lake_session_put(l, id, "/an/digest", local_path(s, "right"), NULL, &e) == 0,
          "as announced; again replaces: %s", e.text);
    CHECK(finish(l, id, &answers, &e) == 0 &&
              strcmp(answers.text, "/an/size#1:5 /an/digest#1:5 ") == 0,
          "finished: %s%s", answers.text, e.text);
    AUTO_MEM char *text = local_cat(l, "/an/size");
    CHECK(text && strcmp(text, "right") == 0, "the later one counts");
}

static void refusals(struct scratch *s, struct lake *l)
{
    const char *twice[] = {"/t", "/t"}, *bad[] = {"t"}, *good[] = {"/mine"};
    struct answers answers;
    struct store_url url = {0};
    struct err e = {0};

    CHECK(begin(l, twice, 2, &e) < 0 && e.kind == ERR_USAGE, "twice: %s", e.text);
    CHECK(begin(l, bad, 1, &e) < 0 && e.kind == ERR_USAGE, "no path: %s", e.text);
    CHECK(begin(l, bad, 0, &e) < 0 && e.kind == ERR_USAGE, "none: %s", e.text);
    CHECK(finish(l, 999, &answers, &e) < 0 && e.kind == ERR_NOTFOUND, "no such: %s", e.text);
    int64_t id = begin(l, good, 1, &e);
    CHECK(lake_session_url(l, id, "/mine", 60, &url, &e) < 0 && e.kind == ERR_NOFIT,
          "a directory has no URLs: %s", e.text);
    AUTO(lake) struct lake *bob = scratch_open_as(s, "default", "bob", false);
    CHECK(finish(bob, id, &answers, &e) < 0 && e.kind == ERR_DENIED, "bob may not finish: %s",
          e.text);
    CHECK(lake_session_abort(bob, id, &e) < 0 && e.kind == ERR_DENIED, "nor abort: %s", e.text);
    AUTO(lake) struct lake *other = scratch_open_as(s, "other", "ann", true);
    CHECK(finish(other, id, &answers, &e) < 0 && e.kind == ERR_NOTFOUND,
          "another project does not see it: %s", e.text);
    CHECK(lake_session_abort(l, id, &e) == 0, "ann may: %s", e.text);
}

static void same_content_twice(struct scratch *s, struct lake *l)
{
    const char *one = "/twice/one", *other = "/twice/other";
    struct answers answers;
    struct err e = {0};
    int64_t first = begin(l, &one, 1, &e), second = begin(l, &other, 1, &e);

    local_noise(s, "twice", 1500000, 52);
    CHECK(lake_session_put(l, first, one, local_path(s, "twice"), NULL, &e) == 0 &&
              lake_session_put(l, second, other, local_path(s, "twice"), NULL, &e) == 0 &&
              lake_session_abort(l, first, &e) == 0,
          "one of two sessions with the same content is aborted: %s", e.text);
    CHECK(finish(l, second, &answers, &e) == 0 &&
              strcmp(answers.text, "/twice/other#1:1500000 ") == 0,
          "the other keeps it: %s%s", answers.text, e.text);
    CHECK(local_get(l, other, local_path(s, "back"), NULL, &e) == 0 &&
              local_same(local_path(s, "back/twice/other"), local_path(s, "twice")),
          "and it can be read: %s", e.text);
    CHECK(scratch_number(l, "SELECT count(*) FROM sqlite_master WHERE type = 'index'"
                            " AND name = 'session_file_object'") == 1,
          "who else waits with a content is one look at an index");
}

static void aborts(struct scratch *s, struct lake *l)
{
    const char *paths[] = {"/ab/small", "/ab/large", "/ab/known"};
    struct answers answers;
    struct err e = {0};
    uint64_t before = local_store_bytes(s);
    int64_t objects = scratch_number(l, "SELECT count(*) FROM object");
    int64_t id = begin(l, paths, 3, &e);

    local_noise(s, "small", 1000, 50);
    local_noise(s, "large", 2 << 20, 51);
    CHECK(lake_session_put(l, id, paths[0], local_path(s, "small"), NULL, &e) == 0 &&
              lake_session_put(l, id, paths[1], local_path(s, "large"), NULL, &e) == 0 &&
              lake_session_put(l, id, paths[2], local_path(s, "z"), NULL, &e) == 0,
          "three arrive: %s", e.text);
    CHECK(local_store_bytes(s) >= before + (2 << 20), "the store has grown");
    CHECK(lake_session_abort(l, id, &e) == 0, "aborted: %s", e.text);
    CHECK(local_store_bytes(s) < before + 10000, "its large content is gone at once: %llu",
          (unsigned long long)(local_store_bytes(s) - before));
    CHECK(scratch_number(l, "SELECT count(*) FROM object") == objects &&
              scratch_number(l, "SELECT count(*) FROM session_file f JOIN session s"
                                " ON s.id = f.session WHERE s.state = 2") == 0,
          "so are objects and state");
    AUTO_MEM char *text = local_cat(l, "/up/z");
    CHECK(text && strcmp(text, "zz") == 0, "content that others use stays");
    CHECK(lake_session_abort(l, id, &e) == 0, "again is fine: %s", e.text);
    CHECK(finish(l, id, &answers, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "aborted"),
          "it cannot be finished: %s", e.text);
}

/* What has arrived belongs to no version yet: only the session keeps it. */
static void outlives_gc(struct scratch *s, struct lake *l)
{
    static const char *const paths[] = {"/gc/small", "/gc/large"};
    const struct lake_gc_options yes = {.remove = true};
    struct lake_gc_summary sum;
    struct answers answers;
    struct err e = {0};
    int64_t id = begin(l, paths, 2, &e);

    local_noise(s, "small", 3000, 61);
    local_noise(s, "large", 1500000, 62);
    CHECK(lake_session_put(l, id, paths[0], local_path(s, "small"), NULL, &e) == 0 &&
              lake_session_put(l, id, paths[1], local_path(s, "large"), NULL, &e) == 0 &&
              lake_gc(l, &yes, NULL, NULL, &sum, &e) == 0,
          "a cleaning while a session waits: %s", e.text);
    CHECK(look(l, id).arrived == 2, "takes nothing that arrived");
    CHECK(finish(l, id, &answers, &e) == 0 &&
              strcmp(answers.text, "/gc/small#1:3000 /gc/large#1:1500000 ") == 0,
          "it can be finished: %s%s", answers.text, e.text);
    CHECK(local_get(l, "/gc/", local_path(s, "kept"), NULL, &e) == 0 &&
              local_same(local_path(s, "kept/gc/small"), local_path(s, "small")) &&
              local_same(local_path(s, "kept/gc/large"), local_path(s, "large")),
          "and both files are whole: %s", e.text);
}

static void expires(struct scratch *s, struct lake *l)
{
    const struct lake_target target = {.path = "/late"};
    struct answers answers;
    struct err e = {0};
    int64_t id;

    CHECK(lake_session_begin(l, &target, 1, NULL, 3600, &id, &e) == 0, "for an hour: %s", e.text);
    s->now_ms += 3599 * 1000;
    CHECK(lake_session_put(l, id, "/late", local_path(s, "z"), NULL, &e) == 0, "just in time: %s",
          e.text);
    s->now_ms += 3599 * 1000;
    CHECK(look(l, id).state == LAKE_SESSION_PENDING, "a sign of life renews it");
    s->now_ms += 2000;
    CHECK(look(l, id).state == LAKE_SESSION_EXPIRED, "then it expires");
    CHECK(lake_session_put(l, id, "/late", local_path(s, "z"), NULL, &e) < 0 &&
              strstr(e.text, "expired"),
          "and says so: %s", e.text);
    CHECK(finish(l, id, &answers, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "expired"),
          "finish too: %s", e.text);
    CHECK(lake_session_abort(l, id, &e) == 0, "it can be aborted: %s", e.text);
    CHECK(lake_session_begin(l, &target, 1, NULL, 1e9, &id, &e) < 0 && e.kind == ERR_USAGE,
          "thirty years are too long");
}

/* An interrupted put's session holds only what arrived: finishing it would be half a put. */
static void of_a_put(struct lake *l)
{
    struct answers answers;
    struct err e = {0};

    CHECK(db_begin(l->db, &e) == 0 &&
              db_exec(l->db,
                      "INSERT INTO session (id, project, creator, create_time, expires, lasts_ms,"
                      " state, put, request) SELECT 5000, project, creator, create_time,"
                      " 9000000000000, 1000, 0, 'put /x /y/', '{}' FROM session LIMIT 1",
                      &e) == 0 &&
              db_commit(l->db, &e) == 0,
          "a put left a session: %s", e.text);
    CHECK(finish(l, 5000, &answers, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "put /x /y/"),
          "only the put can finish it: %s", e.text);
    CHECK(lake_session_abort(l, 5000, &e) == 0, "or it is given up: %s", e.text);
}

#define RACERS 4

static void race(struct scratch *s, struct lake *l)
{
    const char *paths[] = {"/r/1", "/r/2"};
    struct err e = {0};
    int64_t id = begin(l, paths, 2, &e);
    int good = 0, pipes[2];

    local_text(s, "r1", "r1");
    local_text(s, "r2", "r2");
    CHECK(lake_session_put(l, id, "/r/1", local_path(s, "r1"), NULL, &e) == 0 &&
              lake_session_put(l, id, "/r/2", local_path(s, "r2"), NULL, &e) == 0 &&
              pipe(pipes) == 0,
          "all there");
    for (int i = 0; i < RACERS; i++) {
        if (fork() == 0) {
            struct answers answers;
            char go;
            AUTO(lake) struct lake *mine = scratch_open(s);
            close(pipes[1]);
            (void)!read(pipes[0], &go, 1); /* all start when the pipe closes */
            int failed = finish(mine, id, &answers, &e) < 0 ||
                         strcmp(answers.text, "/r/1#1:2 /r/2#1:2 ") != 0;
            lake_free(TAKE(mine));
            _exit(failed);
        }
    }
    usleep(50000);
    close(pipes[1]);
    for (int i = 0, status; i < RACERS; i++)
        good += wait(&status) > 0 && status == 0;
    CHECK(good == RACERS, "all finishes give the same answer: %d", good);
    CHECK(scratch_number(l, "SELECT count(*) FROM version v JOIN file f ON f.id = v.file"
                            " WHERE f.path LIKE '/r/%'") == 2,
          "one of them committed");
    close(pipes[0]);
}

/* Every database call of begin, put and finish fails once; then the same call works. */
static void failures(void)
{
    struct scratch s;
    bool good = true;
    int64_t n;

    scratch_init_fast(&s);
    local_text(&s, "f", "content");
    for (n = 0; good && n < 1000; n++) {
        const char *paths[] = {"/f"};
        struct answers answers;
        struct err e = {0};
        char wanted[40];
        AUTO(lake) struct lake *l = scratch_open(&s);
        local_noise(&s, "f", 100, (unsigned)n);
        s.calls_left = n;
        int64_t id = begin(l, paths, 1, &e);
        bool failed = id < 0;
        if (!failed)
            failed = lake_session_put(l, id, "/f", local_path(&s, "f"), NULL, &e) < 0;
        if (!failed)
            failed = finish(l, id, &answers, &e) < 0;
        s.calls_left = -1;
        if (!failed)
            break;
        if (id < 0)
            id = begin(l, paths, 1, &e);
        snprintf(wanted, sizeof wanted, "/f#%lld:100 ", (long long)n + 1);
        struct lake_session state = look(l, id);
        good = (state.state == LAKE_SESSION_COMMITTED ||
                lake_session_put(l, id, "/f", local_path(&s, "f"), NULL, &e) == 0) &&
               finish(l, id, &answers, &e) == 0 && strcmp(answers.text, wanted) == 0;
        CHECK(good, "call %lld fails, then it goes on: %s %s", (long long)n, answers.text, e.text);
    }
    CHECK(good && n > 20, "%lld calls, each failed once", (long long)n);
    scratch_clear(&s);
}

int main(void)
{
    struct scratch s;

    scratch_init(&s);
    AUTO(lake) struct lake *l = scratch_open(&s);
    course(&s, l);
    announced(&s, l);
    refusals(&s, l);
    aborts(&s, l);
    same_content_twice(&s, l);
    outlives_gc(&s, l);
    expires(&s, l);
    of_a_put(l);
    race(&s, l);
    failures();
    lake_free(TAKE(l));
    scratch_clear(&s);
    return TAP_DONE();
}
