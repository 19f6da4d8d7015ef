/* Operations on data through the table alone: no command line, a home of its own. */
#include "app/data/data.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "tap.h"
#include "view/writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char home[] = "/tmp/tradewind-data-XXXXXX";
static struct app *app;

/* An answer collected as the JSON that a front door gives. */
struct heard {
    struct writer writer;
    char *text;
    size_t size;
};

static int hear_head(void *context, const void *record, struct err *e)
{
    return writer_head(&((struct heard *)context)->writer, record, e);
}

static int hear_item(void *context, const void *record, struct err *e)
{
    return writer_item(&((struct heard *)context)->writer, record, e);
}

/* The answer as JSON; NULL: e. */
static json_t *ask_operation(const struct operation *op, const char *request, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 24);
    AUTO_JSON json_t *object = json_loads(request, 0, NULL);
    struct heard h = {0};
    FILE *out = open_memstream(&h.text, &h.size);
    struct answer answer = {.arena = arena, .head = hear_head, .item = hear_item, .context = &h};

    *e = (struct err){0};
    writer_init(&h.writer, WRITER_JSON, op->answer, op->item, op->items_name, false, out);
    int result = operation_call(app, op, object, FIELD_AS_NAME, &answer, e);
    if (result == 0)
        result = writer_end(&h.writer, e);
    writer_clear(&h.writer);
    fclose(out);
    json_t *root = result == 0 ? json_loads(h.text, 0, NULL) : NULL;
    free(h.text);
    return root;
}

static json_t *ask(const char *name, const char *request, struct err *e)
{
    const struct operation *op = operation_find(name);

    CHECK(op, "%s is in the table", name);
    return op ? ask_operation(op, request, e) : NULL;
}

/* The answer is this JSON, of which times, users and digests are left out. */
static void check_answer(const char *name, const char *request, const char *wanted)
{
    static const char *const unsteady[] = {"create_time", "creator", "owner", "sha256"};
    struct err e;
    AUTO_JSON json_t *got = ask(name, request, &e);
    AUTO_JSON json_t *want = json_loads(wanted, JSON_DECODE_ANY, NULL);
    json_t *item;
    size_t at;

    for (size_t i = 0; i < sizeof unsteady / sizeof *unsteady; i++) {
        if (json_is_object(got))
            json_object_del(got, unsteady[i]);
        json_array_foreach(got, at, item) if (json_is_object(item))
            json_object_del(item, unsteady[i]);
    }
    AUTO_MEM char *shown = got ? json_dumps(got, JSON_ENCODE_ANY) : mem_dup(e.text);
    CHECK(want && json_equal(got, want), "%s %s: %s", name, request, shown);
}

static void check_refused(const char *name,
                          const char *request,
                          enum err_kind kind,
                          const char *why)
{
    struct err e;
    AUTO_JSON json_t *got = ask(name, request, &e);

    CHECK(!got && e.kind == kind && strstr(e.text, why), "%s %s is refused: %s", name, request,
          e.text);
}

/* A local file with this text becomes the next version of a path. */
static void put(const char *text, const char *path)
{
    AUTO_MEM char *file = mem_printf("%s/local", home);
    AUTO_MEM char *request =
        mem_printf("{\"sources\": [\"%s\"], \"destination\": \"%s\"}", file, path);
    struct err e = {0};

    CHECK(file_replace(file, text, strlen(text), 0600, &e) == 0, "local file: %s", e.text);
    AUTO_JSON json_t *got = ask_operation(&data_put_operation, request, &e);
    CHECK(json_array_size(got) == 1, "put %s: %s", path, e.text);
}

static void test_files(void)
{
    put("one", "/data/a");
    put("two", "/data/a");
    put("three", "/data/b");
    check_answer("file.list", "{}",
                 "[{\"path\": \"/data/\", \"version\": null, \"size_bytes\": null}]");
    check_answer("file.list", "{\"path\": \"/data/\"}",
                 "[{\"path\": \"/data/a\", \"version\": 2, \"size_bytes\": 3},"
                 " {\"path\": \"/data/b\", \"version\": 1, \"size_bytes\": 5}]");
    check_answer("file.chmod", "{\"mode\": \"640\", \"refs\": [\"/data/b\"]}",
                 "{\"mode\": \"640\", \"refs\": [\"/data/b\"]}");
    check_answer("file.list", "{\"path\": \"/data/b\", \"long\": true}",
                 "[{\"path\": \"/data/b\", \"version\": 1, \"size_bytes\": 5, \"group\": null,"
                 " \"mode\": \"640\", \"executable\": false}]");
    check_answer("file.remove", "{\"refs\": [\"/data/a#1\"]}", "{\"removed_versions\": 1}");
    check_answer("file.history", "{\"path\": \"/data/a\"}",
                 "[{\"path\": \"/data/a\", \"version\": 2, \"size_bytes\": 3, \"removed\": false,"
                 " \"gone\": false}, {\"path\": \"/data/a\", \"version\": 1, \"size_bytes\": 3,"
                 " \"removed\": true, \"gone\": false}]");
    check_refused("file.list", "{\"path\": \"/nowhere\"}", ERR_NOTFOUND, "/nowhere");
    check_refused("file.remove", "{\"refs\": [\"/data\"]}", ERR_USAGE, "-r");
    check_refused("file.chmod", "{\"mode\": \"9\", \"refs\": [\"/data/b\"]}", ERR_USAGE,
                  "not a mode");
    check_refused("url.get", "{\"ref\": \"/data/b\"}", ERR_NOFIT, "");
    check_refused("url.get", "{\"ref\": \"/data/b\", \"expires_s\": 0}", ERR_USAGE, "expires_s 0");
}

static void test_sets(void)
{
    check_answer("set.create", "{\"name\": \"raw\", \"refs\": [\"/data/a\"]}",
                 "{\"set\": \"raw\", \"version\": 1, \"files_count\": 1, \"size_bytes\": 3,"
                 " \"parents\": [], \"conflicts\": [], \"conflicts_count\": 0}");
    check_answer("set.create", "{\"name\": \"raw\", \"refs\": [\"@raw\", \"/data/b\"]}",
                 "{\"set\": \"raw\", \"version\": 2, \"files_count\": 2, \"size_bytes\": 8,"
                 " \"parents\": [\"@raw:1\"], \"conflicts\": [], \"conflicts_count\": 0}");
    check_answer("set.get", "{\"ref\": \"@raw:1\"}",
                 "{\"set\": \"raw\", \"version\": 1, \"files_count\": 1, \"size_bytes\": 3,"
                 " \"group\": null, \"mode\": \"666\", \"parents\": [], \"files\":"
                 " [{\"path\": \"/data/a\", \"version\": 2, \"size_bytes\": 3}]}");
    check_answer("set.diff", "{\"a\": \"@raw:1\", \"b\": \"@raw:2\"}",
                 "[{\"path\": \"/data/b\", \"change\": \"added\", \"before\": null,"
                 " \"after\": 1}]");
    check_answer("alias.set", "{\"ref\": \"@raw:1\", \"alias\": \"prod\"}",
                 "{\"set\": \"raw\", \"alias\": \"prod\", \"version\": 1}");
    check_answer("alias.list", "{}", "[{\"set\": \"raw\", \"alias\": \"prod\", \"version\": 1}]");
    check_answer("alias.remove", "{\"removed\": \"@raw:prod\"}", "{\"removed\": \"@raw:prod\"}");
    check_refused("alias.remove", "{\"removed\": \"@raw:prod\"}", ERR_NOTFOUND, "prod");
    check_refused("set.get", "{\"ref\": \"/data/\"}", ERR_USAGE, "not a set");
    check_answer("lake.trace", "{\"ref\": \"@raw\", \"direction\": \"back\", \"cost\": true}",
                 "{\"cost\": {\"jobs\": 0, \"cost_usd\": 0.0, \"runtime_s\": 0.0}, \"nodes\":"
                 " [{\"ref\": \"@raw:2\"}, {\"ref\": \"@raw:1\"}], \"edges\": [{\"from\":"
                 " \"@raw:2\", \"to\": \"@raw:1\", \"kind\": \"create\", \"job\": null}]}");
    check_refused("lake.trace", "{\"hops\": 2}", ERR_USAGE, "start from");
}

/* The references of the answer. */
static void check_found(const char *request, const char *wanted)
{
    struct err e;
    AUTO_JSON json_t *got = ask("lake.find", request, &e);
    AUTO_CLEAR(buf) struct buf refs;
    json_t *item;
    size_t i;

    buf_init(&refs, 4096);
    json_array_foreach(got, i, item)
        buf_printf(&refs, "%s%s", i ? " " : "", json_string_value(json_object_get(item, "ref")));
    CHECK(!strcmp(buf_str(&refs), wanted), "find %s: %s", request, buf_str(&refs));
}

static void test_metadata(void)
{
    struct err e;
    AUTO_JSON json_t *tagged =
        ask("tag.set", "{\"ref\": \"@raw:2\", \"tags\": [\"precision=0.5\", \"good\"]}", &e);
    const json_t *meta = json_object_get(json_array_get(tagged, 0), "meta");

    CHECK(json_real_value(json_object_get(meta, "precision")) > 0.49 &&
              json_is_true(json_object_get(meta, "good")),
          "tag.set answers with the metadata: %s", e.text);
    check_found("{\"q\": \"precision>0.4\"}", "@raw:2");
    check_found("{\"q\": \"kind=set\", \"sort\": \"version\", \"reverse\": true}", "@raw:2 @raw:1");
    check_found("{\"q\": \"kind=set\", \"limit\": 1}", "@raw:1");
    check_refused("lake.find", "{\"max\": \"a\", \"sort\": \"b\"}", ERR_USAGE,
                  "only one of max, min and sort");
    check_refused("lake.find", "{\"limit\": 0}", ERR_USAGE, "limit 0");
    check_refused("tag.set", "{\"ref\": \"@raw\", \"tags\": [\"size=1\"]}", ERR_USAGE, "size");
    AUTO_JSON json_t *untagged =
        ask("tag.remove", "{\"ref\": \"@raw:2\", \"tags\": [\"good\"]}", &e);
    CHECK(json_array_size(untagged) == 1, "tag.remove: %s", e.text);
    check_found("{\"q\": \"good\"}", "");
}

static void test_sessions(void)
{
    struct err e;
    AUTO_JSON json_t *begun =
        ask("session.begin",
            "{\"files\": [{\"path\": \"/up/x\", \"size_bytes\": 4}], \"set\": \"Up\"}", &e);
    json_int_t id = json_integer_value(json_object_get(begun, "session"));
    AUTO_MEM char *by_id = mem_printf("{\"session\": %lld}", (long long)id);
    AUTO_MEM char *file = mem_printf("%s/local", home);
    AUTO_MEM char *request = mem_printf(
        "{\"session\": %lld, \"file\": \"%s\", \"path\": \"/up/x\"}", (long long)id, file);

    CHECK(id > 0, "session.begin: %s", e.text);
    check_refused("session.finish", by_id, ERR_USAGE, "has not arrived");
    CHECK(file_replace(file, "four", 4, 0600, &e) == 0, "local file");
    AUTO_JSON json_t *arrived = ask_operation(&data_session_put_operation, request, &e);
    CHECK(arrived, "session.put: %s", e.text);
    AUTO_JSON json_t *finished = ask("session.finish", by_id, &e);
    const json_t *item = json_array_get(json_object_get(finished, "files"), 0);
    CHECK(!strcmp(json_string_value(json_object_get(finished, "state")), "committed") &&
              json_integer_value(json_object_get(item, "version")) == 1,
          "session.finish numbers the version: %s", e.text);
    check_answer("session.list", "{}", "[]");
    check_refused("session.begin", "{}", ERR_USAGE, "name the paths");
    check_refused("session.begin", "{\"paths\": [\"/a\", \"/b\"], \"size\": 1}", ERR_USAGE,
                  "size and sha256 are for one path");
    check_refused("session.abort", "{\"session\": 99}", ERR_NOTFOUND, "99");
}

static void test_lake(void)
{
    struct err e;

    put("lost", "/scratch");
    check_answer("pin.add", "{\"refs\": [\"/scratch\"]}", "[\"/scratch#1\"]");
    check_answer("pin.remove", "{\"refs\": [\"/scratch\"]}", "[]");
    AUTO_JSON json_t *seen = ask("lake.gc", "{}", &e);
    CHECK(json_is_false(json_object_get(seen, "removed")) &&
              json_integer_value(json_object_get(seen, "versions")) == 2 &&
              json_array_size(json_object_get(seen, "files")) == 2,
          "gc finds /data/a#1 and /scratch#1: %s", e.text);
    AUTO_JSON json_t *few = ask("lake.gc", "{\"remove\": true, \"limit\": 1}", &e);
    CHECK(json_integer_value(json_object_get(few, "versions")) == 2 &&
              json_array_size(json_object_get(few, "files")) == 1,
          "a limit bounds the list, not the count: %s", e.text);
    check_answer("lake.fsck", "{}",
                 "{\"problems\": [], \"checked_files\": 3, \"checked_bytes\": 12, "
                 "\"problems_count\": 0, \"leftovers\": 0,"
                 " \"leftover_bytes\": 0, \"modes_fixed\": 0}");
    AUTO_JSON json_t *economic = ask("lake.gc_economic", "{\"gb_month_usd\": 1}", &e);
    CHECK(json_array_size(json_object_get(economic, "sets")) == 0 && economic,
          "no job made a set: %s", e.text);
    check_refused("lake.gc_economic", "{\"horizon_months\": 0}", ERR_USAGE, "horizon_months 0");
    check_refused("lake.init", "{\"endpoint\": \"http://localhost:1\"}", ERR_USAGE,
                  "endpoint is for a store in a bucket");
    AUTO_JSON json_t *made = ask("lake.init", "{}", &e);
    CHECK(made && !strcmp(json_string_value(json_object_get(made, "home")), home),
          "init again keeps the lake: %s", e.text);
}

static void test_roles(void)
{
    AUTO(app)
    struct app *viewer = app_new(&(struct app_options){.home = home, .role = APP_VIEWER});
    struct app *admin = app;

    app = viewer;
    check_answer("alias.list", "{}", "[]");
    check_refused("file.remove", "{\"refs\": [\"/data/b\"]}", ERR_DENIED, "member");
    check_refused("lake.gc", "{}", ERR_DENIED, "admin");
    app = admin;
}

int main(void)
{
    CHECK(mkdtemp(home), "a home");
    app = app_new(&(struct app_options){.home = home, .role = APP_PLATFORM_ADMIN});
    test_files();
    test_sets();
    test_metadata();
    test_sessions();
    test_lake();
    test_roles();
    app_free(app);
    file_remove_tree(home);
    return TAP_DONE();
}
