/* wire: what server and workers tell each other: a head, and numbers behind it. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

enum wire_kind {
    WIRE_HELLO = 1, /* worker: here I am; part is its number, size that of its model */
    WIRE_WORK,      /* server: weights; learn from this part of this step's batch */
    WIRE_LEARNED,   /* worker: gradients, loss */
    WIRE_DONE,      /* server: that was all */
};

struct wire_head {
    uint32_t magic, kind;
    uint32_t step;
    uint32_t part, parts; /* WORK: which of how many */
    uint32_t size;        /* numbers behind it */
    float loss;           /* LEARNED: sum */
};

/* Connects to HOST:PORT, again and again for so long. -1 after a message. */
int wire_connect(const char *address, double timeout_s);
/* Listens on the port of HOST:PORT. -1 after a message. */
int wire_listen(const char *address);
/* How long it may say nothing, from now on. */
void wire_set_timeout(int fd, double timeout_s);
/* The next who comes within so long. -1 after a message. */
int wire_accept(int listener, double timeout_s);

/* 0, or -1 after a message: the other end is gone, says nothing for too long, or nonsense. */
int wire_send(int fd, struct wire_head head, const float *numbers);
/* Of kind, with at most `most` numbers. kind2 may come instead (0 = none). */
int wire_receive(int fd,
                 enum wire_kind kind,
                 enum wire_kind kind2,
                 struct wire_head *head,
                 float *numbers,
                 size_t most);

/* Waits until the other end, which was told that this was all, closes its own; what it still sends
 * is let go. */
void wire_end(int fd);

#endif
