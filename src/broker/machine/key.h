/* key: the ssh key of a home, by which its machines in clouds are reached. */
#ifndef BROKER_MACHINE_KEY_H
#define BROKER_MACHINE_KEY_H

#include "base/err.h"

/* The public half as clouds take it, one line: a new string. The key is made by ssh-keygen at the
 * first call; the private half, at *private_out (a new string, a path below home/clouds), never
 * leaves the home. Any number of processes may call. NULL: ERR_NOTFOUND without ssh-keygen. */
char *machine_key(const char *home, char **private_out, struct err *e);

#endif
