/* Lines of the event log: what is read, what is refused, and what workers and functions tell. */
#include "geo/events.h"

#include "base/json.h"
#include "small_world.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static void lines(void)
{
    static const struct {
        struct geo_event event;
        const char *line;
    } cases[] = {
        {{GEO_EVENT_PUT, 7, 3, Y, X, 1234, 1, 10.5, 11},
         "{\"kind\":\"put\",\"round\":7,\"worker\":3,\"from\":\"gcp/y\",\"to\":\"aws/x\","
         "\"bytes\":1234.0,\"start\":10.5,\"end\":11.0}"},
        {{GEO_EVENT_LIST, 7, GEO_EVENT_NO_WORKER, X, X, 0, 2, 11, 11},
         "{\"kind\":\"list\",\"round\":7,\"from\":\"aws/x\",\"to\":\"aws/x\","
         "\"requests\":2.0,\"start\":11.0,\"end\":11.0}"},
        {{GEO_EVENT_TRAIN, 8, 0, X, X, 0, 1, 1, 2},
         "{\"kind\":\"train\",\"round\":8,\"worker\":0,\"from\":\"aws/x\",\"start\":1.0,"
         "\"end\":2.0}"},
    };
    struct small_world w;

    small_world_init(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_JSON json_t *o = geo_event_json(&w.problem, &cases[i].event);
        char *line = json_dumps(o, JSON_COMPACT);
        CHECK(strcmp(line, cases[i].line) == 0, "an event as a line: %s", line);
        free(line);
    }
}

static void refused(void)
{
#define REST "\"round\": 1, \"start\": 1, \"end\": 2}"
    static const size_t mean_at[] = {X};
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"nonsense", "the line is not a JSON object"},
        {"[]", "the line is not a JSON object"},
        {"{\"kind\": \"steal\", " REST, "kind: \"steal\" is not an event: use train, put"},
        {"{" REST, "kind: \"\" is not an event"},
        {"{\"kind\": \"put\", \"round\": -1}", "round: must be a whole number from 0 to below"},
        {"{\"kind\": \"put\"}", "round: must be a whole number from 0 to below"},
        {"{\"kind\": \"put\", \"bytes\": \"many\", " REST, "bytes: must be a number from 0 to"},
        {"{\"kind\": \"put\", \"bytes\": -1, " REST, "bytes: must be a number from 0 to"},
        {"{\"kind\": \"put\", \"round\": 1, \"start\": 1}", "end: must be a number from 0 to"},
        {"{\"kind\": \"put\", \"round\": 1, \"start\": 3, \"end\": 2}",
         "the event ends before it starts"},
    };
    struct geo_teller t = {.worker = 3, .site = Y, .targets = mean_at, .n_targets = 1};
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    static char line[GEO_EVENT_LINE_MAX + 1];
    struct err e = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int result = geo_events_tell(&all, &t, cases[i].line, strlen(cases[i].line), &e);
        CHECK(result < 0 && e.kind == ERR_USAGE && all.n == 0 &&
                  strncmp(e.text, cases[i].message, strlen(cases[i].message)) == 0,
              "%s: %s", cases[i].message, e.text);
    }
    memset(line, ' ', sizeof line);
    CHECK(geo_events_tell(&all, &t, line, sizeof line, &e) < 0 &&
              strcmp(e.text, "the line is longer than 4096 bytes") == 0,
          "a line has an end");
}

static int tell(struct geo_events *all, struct geo_teller *t, const char *line)
{
    struct err e = {0};

    return geo_events_tell(all, t, line, strlen(line), &e);
}

static void worker_tells(void)
{
    static const size_t mean_at[] = {X};
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct geo_teller t = {
        .worker = 3, .site = Y, .store = Y, .targets = mean_at, .n_targets = 1, .since_s = 100};

    CHECK(
        tell(&all, &t,
             "{\"kind\": \"put\", \"who\": \"worker-0001\", \"round\": 0, \"bytes\": 9, "
             "\"start\": 109, \"end\": 110}") == 0 &&
            tell(&all, &t, "{\"kind\": \"event\", \"round\": 0, \"start\": 110, \"end\": 111}") ==
                0 &&
            tell(&all, &t, "{\"kind\": \"poll\", \"round\": 0, \"start\": 111, \"end\": 112}") ==
                0 &&
            tell(&all, &t,
                 "{\"kind\": \"get\", \"round\": 0, \"bytes\": 8, \"start\": 112, \"end\": 113}") ==
                0 &&
            tell(&all, &t,
                 "{\"kind\": \"put\", \"round\": 1, \"bytes\": 9, \"start\": 120, \"end\": 121}") ==
                0,
        "a worker's lines");
    static const struct geo_event wanted[] = {
        {GEO_EVENT_TRAIN, 0, 3, Y, Y, 0, 1, 100, 109}, {GEO_EVENT_PUT, 0, 3, Y, Y, 9, 1, 109, 110},
        {GEO_EVENT_POLL, 0, 3, X, Y, 0, 1, 111, 112},  {GEO_EVENT_GET, 0, 3, X, Y, 8, 1, 112, 113},
        {GEO_EVENT_TRAIN, 1, 3, Y, Y, 0, 1, 113, 120}, {GEO_EVENT_PUT, 1, 3, Y, Y, 9, 1, 120, 121},
    };
    CHECK(all.n == 6 && memcmp(all.all, wanted, sizeof wanted) == 0,
          "B3: trains, writes where it is, reads where the mean is");
    CHECK(tell(&all, &t, "{\"kind\": \"invoke\", \"round\": 0, \"start\": 1, \"end\": 2}") < 0 &&
              all.n == 6,
          "it invokes nothing");
}

static void function_tells(void)
{
    static const size_t regions[] = {X, Y}, up[] = {X};
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct geo_teller fans = {
        .worker = GEO_EVENT_NO_WORKER, .site = X, .store = X, .targets = regions, .n_targets = 2};
    struct geo_teller region = {.worker = GEO_EVENT_NO_WORKER,
                                .site = Y,
                                .store = Y,
                                .targets = up,
                                .n_targets = 1,
                                .has_result = true};

    CHECK(tell(&all, &fans,
               "{\"kind\": \"invoke\", \"round\": 2, \"outcome\": \"waiting\", "
               "\"lists\": 1, \"reads\": 0, \"writes\": 0, \"start\": 1, \"end\": 2}") == 0 &&
              all.n == 2 && all.all[0].kind == GEO_EVENT_INVOKE && all.all[0].bytes == 0 &&
              all.all[1].kind == GEO_EVENT_LIST,
          "one that looks: an invocation and a list");
    all.n = 0;
    CHECK(tell(&all, &fans,
               "{\"kind\": \"invoke\", \"round\": 2, \"outcome\": \"averaged\", \"lists\": 1, "
               "\"reads\": 2, \"writes\": 3, \"read_bytes\": 40, \"written_bytes\": 40, "
               "\"start\": 1, \"end\": 2}") == 0,
          "fan-out");
    static const struct geo_event wanted[] = {
        {GEO_EVENT_INVOKE, 2, GEO_EVENT_NO_WORKER, X, X, 20, 1, 1, 2},
        {GEO_EVENT_LIST, 2, GEO_EVENT_NO_WORKER, X, X, 0, 1, 1, 2},
        {GEO_EVENT_GET, 2, GEO_EVENT_NO_WORKER, X, X, 40, 2, 1, 2},
        {GEO_EVENT_PUT, 2, GEO_EVENT_NO_WORKER, X, X, 0, 1, 1, 2}, /* the claim */
        {GEO_EVENT_PUT, 2, GEO_EVENT_NO_WORKER, X, X, 20, 1, 1, 2},
        {GEO_EVENT_PUT, 2, GEO_EVENT_NO_WORKER, X, Y, 20, 1, 1, 2},
        {GEO_EVENT_AGGREGATE, 2, GEO_EVENT_NO_WORKER, X, X, 20, 1, 1, 2},
        {GEO_EVENT_DELETE, 2, GEO_EVENT_NO_WORKER, X, X, 40, 1, 1, 2},
    };
    CHECK(all.n == 8 && memcmp(all.all, wanted, sizeof wanted) == 0,
          "lists, reads, claims, writes to each place, deletes");
    all.n = 0;
    CHECK(tell(&all, &region,
               "{\"kind\": \"invoke\", \"round\": 2, \"outcome\": \"averaged\", \"lists\": 1, "
               "\"reads\": 2, \"writes\": 2, \"read_bytes\": 40, \"written_bytes\": 20, "
               "\"start\": 1, \"end\": 2}") == 0 &&
              all.n == 8 && all.all[3].to == Y && all.all[4].to == X && all.all[4].from == Y &&
              all.all[6].kind == GEO_EVENT_DELETE && all.all[6].to == Y && all.all[6].bytes == 40,
          "a region claims at home, writes its mean up, and deletes its inputs");
    CHECK(all.all[7].kind == GEO_EVENT_DELETE && all.all[7].to == Y && all.all[7].bytes == 20,
          "and the result of the round before, where workers read it there");
    CHECK(tell(&all, &region, "{\"kind\": \"put\", \"round\": 0, \"start\": 1, \"end\": 2}") < 0,
          "it tells of nothing else");
}

int main(void)
{
    lines();
    refused();
    worker_tells();
    function_tells();
    return TAP_DONE();
}
