#include "broker/core/job_life.h"

#include "base/mem.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

/* The chapter of docs/ARCHITECTURE.md that shows the table. */
#define DOCUMENT "docs/ARCHITECTURE.md"
#define DIAGRAM "stateDiagram-v2"

static bool has_row(enum life_state from, enum life_event event)
{
    return life_find(from, event) != NULL;
}

static void rows_are_found(void)
{
    size_t bad = 0;

    for (size_t i = 0; i < life_table_n; i++)
        bad += life_find(life_table[i].from, life_table[i].event) != &life_table[i];
    CHECK(bad == 0, "every pair of state and event has one row: %zu have two", bad);
    CHECK(!has_row(LIFE_STORING, EVENT_TURN) && !has_row(LIFE_WAITING, EVENT_NONE),
          "what cannot happen has none");
}

static void mark_reachable(enum life_state from, bool reached[static LIFE_STATES])
{
    if (reached[from])
        return;
    reached[from] = true;
    for (size_t i = 0; i < life_table_n; i++)
        if (life_table[i].from == from)
            mark_reachable(life_table[i].next, reached);
}

static void states_are_reachable(void)
{
    bool reached[LIFE_STATES] = {0}, resumed[LIFE_STATES] = {0}, started[LIFE_STATES] = {0};

    mark_reachable(LIFE_WAITING, reached);
    mark_reachable(LIFE_RESUMED, resumed);
    for (enum life_state s = 0; s < LIFE_STATES; s++)
        CHECK(reached[s] || resumed[s], "%s can be reached", life_state_text(s));
    for (enum life_state s = 0; s < LIFE_STATES; s++)
        if (s != LIFE_RESUMED && s != LIFE_REPLAYING && s != LIFE_REACHING)
            CHECK(reached[s], "%s without a new broker", life_state_text(s));
    mark_reachable(LIFE_RUNNING, started);
    CHECK(!started[LIFE_PROVISIONING] && !started[LIFE_WAITING] && !started[LIFE_FETCHING],
          "a program that may have started never starts again in the same attempt");
}

static void states_end(void)
{
    for (enum life_state s = 0; s < LIFE_STATES; s++) {
        bool reached[LIFE_STATES] = {0}, ends = false, leaves = false;
        mark_reachable(s, reached);
        for (enum life_state f = LIFE_FINISHED; f < LIFE_STATES; f++)
            ends = ends || reached[f];
        for (enum life_event e = 0; e < LIFE_EVENTS; e++)
            leaves = leaves || has_row(s, e);
        if (life_is_final(s))
            CHECK(!leaves, "nothing leaves %s", life_state_text(s));
        else
            CHECK(leaves && ends, "%s has a way to an end", life_state_text(s));
    }
}

/* Whatever may answer an action has a row in the state that the action is carried out in. */
static void answers_have_rows(void)
{
    bool happens[LIFE_EVENTS] = {0};

    for (size_t i = 0; i < life_table_n; i++) {
        const struct life_row *row = &life_table[i];
        happens[row->event] = true;
        for (enum life_event e = 1; e < LIFE_EVENTS && !life_is_final(row->next); e++)
            if (life_raises(row->action, e) && !has_row(row->next, e))
                CHECK(false, "%s, entered with action %d, knows event %d",
                      life_state_text(row->next), (int)row->action, (int)e);
    }
    for (enum life_event e = 1; e < LIFE_EVENTS; e++)
        if (!happens[e])
            CHECK(false, "event %d has a row", (int)e);
    CHECK(true, "answers have rows, and events happen");
}

/* Events that come from outside, whatever the attempt does. */
static void outside_events_have_rows(void)
{
    for (enum life_state s = 0; s < LIFE_STATES; s++) {
        CHECK(has_row(s, EVENT_RECORDED) == has_row(s, EVENT_OVERRULED),
              "%s: a write is applied or overruled", life_state_text(s));
        if (has_row(s, EVENT_RETRY_LATER))
            CHECK(has_row(s, EVENT_DUE), "%s: a retry comes", life_state_text(s));
        if (has_row(s, EVENT_STOP_BUSY))
            CHECK(has_row(s, EVENT_STOPPED), "%s: a stop comes into effect", life_state_text(s));
        bool records = has_row(s, EVENT_RECORDED);
        bool stops = has_row(s, EVENT_STOPPED) || has_row(s, EVENT_STOP);
        bool passes = s == LIFE_RESUMED || s == LIFE_REPLAYING || s == LIFE_SAVING;
        if (!life_is_final(s) && !records && !passes)
            CHECK(stops, "%s: the user can stop it", life_state_text(s));
    }
    /* Errands of a running program may end after the connection or the program did. */
    CHECK(has_row(LIFE_RUNNING, EVENT_ERRAND_DONE) &&
              has_row(LIFE_DISCONNECTED, EVENT_ERRAND_DONE) &&
              has_row(LIFE_ENDED, EVENT_ERRAND_DONE) && has_row(LIFE_REACHING, EVENT_ERRAND_DONE),
          "errands end");
    /* A gang that lacks a machine reaches every node that has not begun to fetch. */
    CHECK(has_row(LIFE_PROVISIONING, EVENT_GANG_FULL) && has_row(LIFE_BOOTING, EVENT_GANG_FULL) &&
              has_row(LIFE_GATHERING, EVENT_GANG_FULL) &&
              has_row(LIFE_GANG_WAITING, EVENT_GANG_FULL),
          "gangs wait as a whole");
}

/* ---- the diagram ---- */

static bool has_edge(enum life_state from, enum life_state next)
{
    for (size_t i = 0; i < life_table_n; i++)
        if (life_table[i].from == from && life_table[i].next == next)
            return true;
    return false;
}

static int state_of(const char *text)
{
    for (enum life_state s = 0; s < LIFE_STATES; s++)
        if (!strcmp(text, life_state_text(s)))
            return (int)s;
    return -1;
}

static void diagram_is_the_table(void)
{
    FILE *f = fopen(DOCUMENT, "r");
    char line[400], from[100], next[100];
    bool drawn[LIFE_STATES][LIFE_STATES] = {0}, inside = false;
    size_t n = 0;

    CHECK(f, DOCUMENT " is there");
    while (f && fgets(line, sizeof line, f)) {
        inside = (inside && strncmp(line, "```", 3) != 0) || strstr(line, DIAGRAM);
        if (!inside || sscanf(line, " %99[a-z_] --> %99[a-z_]", from, next) != 2)
            continue;
        int a = state_of(from), z = state_of(next);
        CHECK(a >= 0 && z >= 0 && has_edge((enum life_state)a, (enum life_state)z),
              "%s --> %s is in the table", from, next);
        if (a >= 0 && z >= 0)
            drawn[a][z] = true;
        n++;
    }
    if (f)
        fclose(f);
    CHECK(n > 0, "there is a diagram");
    for (size_t i = 0; i < life_table_n; i++) {
        const struct life_row *row = &life_table[i];
        if (row->from != row->next && !drawn[row->from][row->next])
            CHECK(false, "%s --> %s is in the diagram", life_state_text(row->from),
                  life_state_text(row->next));
    }
}

int main(void)
{
    rows_are_found();
    states_are_reachable();
    states_end();
    answers_have_rows();
    outside_events_have_rows();
    diagram_is_the_table();
    return TAP_DONE();
}
