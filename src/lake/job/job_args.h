/* job_args: the arguments of a command as keys and values.
 *     --epoch 5, --epoch=5, -x 5   epoch=5, x=5          --fast   fast, a tag without a value
 *     other words                  arg1=..., arg2=...    --       all words behind it are such
 * An option takes the word behind it unless that is an option itself; a number is none. Signs that
 * a key cannot have become '_'. A name that is a built-in key of jobs, or that cannot begin a key,
 * is put behind "arg.". What is still no key or no value (too long, no clean UTF-8) is left out. */
#ifndef LAKE_JOB_JOB_ARGS_H
#define LAKE_JOB_JOB_ARGS_H

#include "lake/meta/meta_value.h"

/* In order; a key may come again. The first word, the program, is none. Pairs are borrowed for the
 * call; their is_option tells --epoch and its like from -x and from the other words. */
int lake_job_args_each(const char *const *command,
                       size_t n,
                       int (*visit)(void *context, const struct meta_pair *pair, struct err *e),
                       void *context,
                       struct err *e);

#endif
