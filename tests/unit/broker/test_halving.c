#include "broker/learn/halving.h"

#include "tap.h"

#include <math.h>
#include <string.h>

/* One trial per letter: n new, r running, p paused, s told to stop, e ended, f failed. */
static void read(struct halving_trial *t,
                 const char *states,
                 const size_t *reached,
                 const double *values)
{
    for (size_t i = 0; states[i]; i++) {
        t[i] = (struct halving_trial){.reached = reached[i]};
        t[i].state = strchr("rs", states[i]) ? HALVING_RUNNING
                     : states[i] == 'p'      ? HALVING_PAUSED
                     : states[i] == 'e'      ? HALVING_ENDED
                     : states[i] == 'f'      ? HALVING_FAILED
                                             : HALVING_NEW;
        t[i].is_stopping = states[i] == 's';
        for (size_t k = 0; k < HALVING_RUNGS_MAX; k++)
            t[i].values[k] = values[i];
    }
}

/* Actions: . nothing, + start, > continue, x stop. Each expectation is calculated by hand. */
static const struct {
    const char *name, *states;
    size_t reached[9];
    double values[9];
    size_t rungs, slots;
    bool more_is_better;
    const char *actions;
} cases[] = {
    {"free slots take new trials in order", "nnn", {0}, {0}, 1, 2, false, "++."},
    {"the first at a rung stops: floor(1/3) = 0", "rnn", {1}, {.5}, 1, 1, false, "x.."},
    {"so does the second: floor(2/3) = 0", "rrn", {1, 1}, {.5, .4}, 1, 2, false, "xx."},
    {"of three the best goes on", "rrr", {1, 1, 1}, {.5, .3, .9}, 1, 3, false, "x.x"},
    {"of three the greatest, where more is better",
     "rrr",
     {1, 1, 1},
     {.5, .3, .9},
     1,
     3,
     true,
     "xx."},
    {"a paused one that is among the best continues",
     "ppr",
     {1, 1, 1},
     {.5, .3, .9},
     1,
     2,
     false,
     ".>x"},
    {"before a new one starts", "ppsn", {1, 1, 1, 0}, {.5, .3, .9, 0}, 1, 2, false, ".>.."},
    {"not without a slot", "ppsn", {1, 1, 1, 0}, {.5, .3, .9, 0}, 1, 1, false, "...."},
    {"stopping ones are told once", "spp", {1, 1, 1}, {.5, .3, .9}, 1, 1, false, "..."},
    {"of six the best two",
     "pppppp",
     {1, 1, 1, 1, 1, 1},
     {6, 5, 4, 3, 2, 1},
     1,
     4,
     false,
     "....>>"},
    {"the highest rung first: one of 3 at rung 1",
     "pppppppp",
     {2, 2, 2, 1, 1, 1, 1, 1},
     {3, 2, 1, 0, 9, 9, 9, 9},
     2,
     1,
     false,
     "..>....."},
    {"then rung 0: best 2 of 8 are 0 and 1, of which 1 is beyond it",
     "pppppppp",
     {2, 2, 2, 1, 1, 1, 1, 1},
     {3, 2, 1, 0, 9, 9, 9, 9},
     2,
     2,
     false,
     "..>>...."},
    {"not a number is worst", "ppp", {1, 1, 1}, {(double)NAN, 2, 3}, 1, 1, false, ".>."},
    {"of equal ones the first", "ppp", {1, 1, 1}, {2, 2, 2}, 1, 3, false, ">.."},
    {"failed ones do not count", "frrn", {1, 1, 1, 0}, {.1, .2, .3, 0}, 1, 3, false, ".xx+"},
    {"finished ones do", "epp", {1, 1, 1}, {.9, .2, .3}, 1, 1, false, ".>."},
    {"when too many failed the best goes on alone",
     "fpp",
     {1, 1, 1},
     {.1, .3, .2},
     1,
     1,
     false,
     "..>"},
    {"and stays", "fpr", {1, 1, 1}, {.1, .3, .2}, 1, 1, false, "..."},
    {"unless another finished", "fpe", {1, 1, 1}, {.1, .3, .2}, 1, 1, false, "..."},
    {"no rung: all run to their ends", "rr", {0, 0}, {.1, .2}, 0, 2, false, ".."},
};

static void check_cases(void)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = strlen(cases[c].states);
        struct halving_trial t[9];
        char actions[10] = "";
        read(t, cases[c].states, cases[c].reached, cases[c].values);
        halving_decide(t, n, cases[c].rungs, !cases[c].more_is_better, cases[c].slots);
        for (size_t i = 0; i < n; i++)
            actions[i] = ".+>x"[t[i].action];
        CHECK(strcmp(actions, cases[c].actions) == 0, "%s: %s", cases[c].name, actions);
    }
}

/* Runs trials to the end in a simulation: each look a running trial advances one step of `end`. */
static void simulate(const double *losses, size_t n, size_t slots, size_t *at_step, size_t end)
{
    struct halving_trial t[27] = {0};
    size_t rungs = halving_rungs(n);

    for (size_t i = 0; i < n; i++)
        at_step[i] = 0;
    for (size_t look = 0; look < 10000; look++) {
        halving_decide(t, n, rungs, true, slots);
        for (size_t i = 0; i < n; i++) {
            if (t[i].action == HALVING_STOP)
                t[i].state = HALVING_PAUSED;
            if (t[i].action == HALVING_START || t[i].action == HALVING_CONTINUE)
                t[i].state = HALVING_RUNNING;
            if (t[i].state != HALVING_RUNNING)
                continue;
            at_step[i]++;
            while (t[i].reached < rungs && (double)at_step[i] >= halving_step(1, t[i].reached))
                t[i].values[t[i].reached++] = losses[i];
            if (at_step[i] == end)
                t[i].state = HALVING_ENDED;
        }
    }
}

int main(void)
{
    double losses[27];
    size_t at[27];

    check_cases();
    CHECK(halving_rungs(1) == 0 && halving_rungs(2) == 0 && halving_rungs(3) == 1 &&
              halving_rungs(8) == 1 && halving_rungs(9) == 2 && halving_rungs(26) == 2 &&
              halving_rungs(27) == 3 && halving_rungs(10000) == 8,
          "floor(log3(n)) rungs");
    CHECK(halving_step(1, 0) == 1 && halving_step(1, 2) == 9 && halving_step(5, 1) == 15,
          "steps of rungs");

    /* The best first: of 27 the first 9 pass rung 0 (step 1), 3 pass rung 1 (step 3), 1 passes rung
     * 2 (step 9) and ends, at step 20. Started one at a time in this order no other one ever is
     * among the best: floor(n/3) of n. */
    for (size_t i = 0; i < 27; i++)
        losses[i] = (double)i;
    simulate(losses, 27, 1, at, 20);
    size_t ones = 0, threes = 0, nines = 0, ends = 0;
    for (size_t i = 0; i < 27; i++) {
        ones += at[i] == 1;
        threes += at[i] == 3;
        nines += at[i] == 9;
        ends += at[i] == 20;
    }
    CHECK(ones == 18 && threes == 6 && nines == 2 && ends == 1 && at[0] == 20,
          "27 trials, best first: 18 stop at step 1, 6 at 3, 2 at 9, the best ends");
    return TAP_DONE();
}
