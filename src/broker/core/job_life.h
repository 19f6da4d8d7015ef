/* job_life: the life of a job's attempt as one transition table, for the broker and the simulator.
 * Pure.
 *
 * An engine (src/broker/daemon/attempt_life.c, src/broker/sim/simulate_life.c) keeps the state of
 * each attempt, turns what happens into an event, looks up the row, enters the next state and
 * carries out the action in its own way. An action may answer with the next event. */
#ifndef BROKER_CORE_JOB_LIFE_H
#define BROKER_CORE_JOB_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of a life without failures; all states from LIFE_PREPARED on have their input, all
 * from LIFE_FINISHED on end the attempt. */
enum life_state {
    LIFE_WAITING,      /* queued: for its turn, a free host, or the stages that it needs */
    LIFE_RESUMED,      /* left by an earlier broker, whose records say where it continues */
    LIFE_LAUNCHING,    /* the lake records that a machine will be provisioned */
    LIFE_REQUEUED,     /* the lake records that every host is taken */
    LIFE_PROVISIONING, /* a machine is being provisioned, or will be at the next retry */
    LIFE_GANG_WAITING, /* its gang has released all machines, and asks for all of them later */
    LIFE_BOOTING,      /* has a machine; the other machines of its gang are not up yet */
    LIFE_PLACED,       /* the lake records its machine */
    LIFE_GATHERING,    /* its machine is recorded; another node of its gang has none */
    LIFE_FETCHING,     /* input and code go to its machine, or will at the next retry */
    LIFE_PREPARED,     /* can start; another node of its gang cannot yet */
    LIFE_REPLAYING,    /* what an earlier broker read of its agent is read again */
    LIFE_REACHING,     /* its host is contacted before its agent is followed */
    LIFE_RUNNING,      /* its agent runs and reports */
    LIFE_DISCONNECTED, /* the connection to its agent broke and will be made again */
    LIFE_ENDED,        /* its agent reported the end */
    LIFE_SAVING,       /* its last checkpoint is saved, or will be at the next retry */
    LIFE_EXITED,       /* the lake records that it ended well, before its output is stored */
    LIFE_STORING,      /* its output is stored, or will be at the next retry */
    LIFE_UNSAVED,      /* its output could not be stored; the lake says so, and retries follow */
    LIFE_FINISHED,
    LIFE_FAILED,
    LIFE_KILLED,
    LIFE_LOST,
    LIFE_KEPT, /* unsaved: its output stays in its directory until `job save` or `job rm` */
};
#define LIFE_STATES (LIFE_KEPT + 1)

enum life_event {
    EVENT_NONE,
    EVENT_TURN,           /* starts now, on a machine that is to be provisioned */
    EVENT_TURN_LOCAL,     /* starts now, on this machine */
    EVENT_TURN_AGAIN,     /* looks for a free host once more, of which the record tells */
    EVENT_FOUND_UNPLACED, /* resumed: without a machine */
    EVENT_FOUND_LAUNCHED, /* resumed: to run here, its machine not recorded */
    EVENT_FOUND_PLACED,   /* resumed: its machine is recorded */
    EVENT_FOUND_PREPARED, /* resumed: its agent may be about to start */
    EVENT_FOUND_GATHERED, /* resumed: prepared, as a node of a gang */
    EVENT_FOUND_RUNNING,  /* resumed: its agent was started here */
    EVENT_FOUND_SENT,     /* resumed: its agent may have been started on its host */
    EVENT_FOUND_EXITED,   /* resumed: its output is to be stored */
    EVENT_FOUND_UNSAVED,  /* resumed: its output could not be stored before */
    EVENT_RECORDED,       /* the lake has the change */
    EVENT_OVERRULED,      /* the lake recorded another end before */
    EVENT_PROVISIONED,    /* has a machine */
    EVENT_REUSED,         /* takes over the machines of a stage that ended */
    EVENT_FULL,           /* every host is taken */
    EVENT_STILL_FULL,     /* every host is taken, as the record says */
    EVENT_GANG_FULL,      /* there are not enough machines for its gang */
    EVENT_GANG_FREE,      /* there are enough machines for its gang */
    EVENT_GANG_COMPLETE,  /* all nodes of its gang have come as far */
    EVENT_REPLACED,       /* its machine was refused or lost before the program started */
    EVENT_RETRY_LATER,    /* a passing error */
    EVENT_DUE,            /* the time of the retry */
    EVENT_FETCHED,        /* its directory is on its machine */
    EVENT_REPLAYED,       /* all that the earlier broker read is read */
    EVENT_REACHED,        /* its host answers */
    EVENT_STARTED,        /* its agent reported the start of the program */
    EVENT_DISCONNECTED,   /* the connection to its agent broke */
    EVENT_LEASE_DUE,      /* the lease of its host is to be renewed */
    EVENT_CHECKPOINT_DUE, /* its checkpoint is to be saved */
    EVENT_ERRAND_DONE,    /* a worker thread renewed, saved or stopped, or could not */
    EVENT_AGENT_ENDED,    /* its agent reported everything, or is gone */
    EVENT_UNSAVED,        /* its last checkpoint is still on its host */
    EVENT_SAVED,          /* its last checkpoint is here, or lost */
    EVENT_EXIT_OUTPUT,    /* the program ended well and has an output */
    EVENT_EXIT_EMPTY,     /* the program ended well and has no output */
    EVENT_STORED,         /* its output is stored */
    EVENT_UNSTORED,       /* its output cannot be stored for a reason that may pass */
    EVENT_UNSTORABLE,     /* its output cannot be stored as it is */
    EVENT_STOP,           /* its user wants the end of a running program */
    EVENT_STOP_BUSY,      /* its user wants the end while a worker thread has the attempt */
    EVENT_STOPPED,        /* ends because its user wants that */
    EVENT_FAILED,         /* ends with an error of its own */
    EVENT_LOST,           /* ends with its machine or agent */
};
#define LIFE_EVENTS (EVENT_LOST + 1)

enum life_action {
    ACTION_NONE,
    ACTION_RECORD_LAUNCH,
    ACTION_RECORD_LOCAL,
    ACTION_RECORD_QUEUED,
    ACTION_RECORD_MACHINE,
    ACTION_RECORD_RUNNING,
    ACTION_RECORD_OUTCOME,
    ACTION_RECORD_UNSAVED,
    ACTION_PROVISION,
    ACTION_PROVISION_OTHER,
    ACTION_HOLD,     /* back to the queue */
    ACTION_RELEASE,  /* the machine that the gang cannot use yet */
    ACTION_ASK_GANG, /* whether there are machines for all nodes */
    ACTION_GATHER,   /* looks whether the gang is complete */
    ACTION_FETCH,
    ACTION_FETCH_AGAIN,
    ACTION_START,
    ACTION_FOLLOW,
    ACTION_REACH,
    ACTION_RENEW_LEASE,
    ACTION_SAVE_CHECKPOINT,
    ACTION_STOP_AGENT,
    ACTION_CONCLUDE, /* finds out how the program ended */
    ACTION_SAVE,
    ACTION_STORE,
    ACTION_NOTE_KILLED, /* the end that holds unless the worker thread's result is recorded first */
    ACTION_END,         /* records the final state */
    ACTION_FORGET,      /* the final state is recorded already */
};
#define LIFE_ACTIONS (ACTION_FORGET + 1)

struct life_row {
    enum life_state from;
    enum life_event event;
    enum life_state next;
    enum life_action action;
};
extern const struct life_row life_table[];
extern const size_t life_table_n;

/* The row of a state and an event; NULL: the event cannot happen in that state. */
const struct life_row *life_find(enum life_state from, enum life_event event);
/* Whether the action may be answered with the event, at once, after a write or by a worker thread.
 */
bool life_raises(enum life_action action, enum life_event event);

static inline bool life_is_final(enum life_state state)
{
    return state >= LIFE_FINISHED;
}
/* "provisioning", as in the diagram of docs/ARCHITECTURE.md. */
const char *life_state_text(enum life_state state);

#endif
