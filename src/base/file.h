/* file: files that are old or new but never half written, and directories. Permissions that are
 * missing are ERR_DENIED, other failures ERR_IO. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Puts these bytes at path. A reader, and the next start after a crash, sees the old file or the
 * new one: it is written beside path, synced and renamed. Behind a symbolic link, the file it leads
 * to is replaced. The old file's permissions are kept; a new one gets mode less the umask.
 * ERR_USAGE when path is there and is no regular file. */
int file_replace(const char *path, const void *bytes, size_t len, mode_t mode, struct err *e);

/* What the program keeps for itself is its owner's alone: files 0600 (0400), directories 0700.
 * Below a directory that a group shares (group-writable, setgid: `init --shared`) the group has
 * what the owner has. FILE_OWN is the mode for it, here and in file_draft_open. */
#define FILE_OWN 0600
/* Opens with these flags of open(); a new file gets mode (FILE_OWN or 0400) and the group's part of
 * it. -1 with errno set. */
int file_open_own(const char *path, int flags, mode_t mode);
/* As file_make_dirs, each 0700 or shared. */
int file_make_own_dirs(const char *dir, struct err *e);
/* Whether a group shares the directory. */
bool file_is_shared(const char *dir);

/* The same for content that is written piece by piece: opened beside path, synced and renamed by
 * file_draft_keep, and gone without a trace when it is cleared before that. */
struct file_draft {
    int fd;       /* for writing; anywhere, in any order */
    char *path;   /* as asked for */
    char *target; /* path, or the file behind it when it is a link */
    char *beside; /* NULL: there is none, or it was kept */
};

int file_draft_open(struct file_draft *d, const char *path, mode_t mode, struct err *e);
int file_draft_keep(struct file_draft *d, struct err *e);
/* For one that was opened, or is all zero. */
void file_draft_clear(struct file_draft *d);

/* Creates the directory and those above it where missing, each with mode less the umask. */
int file_make_dirs(const char *dir, mode_t mode, struct err *e);
/* The directory's entries are on disk when this returns. */
int file_sync_dir(const char *dir, struct err *e);
/* Removes what is at path, with everything below it, however deep and even in directories of the
 * user's that the user may not write; links are not followed. What cannot be removed stays. */
void file_remove_tree(const char *path);

/* All n bytes to fd, whatever signals come in between. -1 with errno set. */
int file_write_all(int fd, const void *bytes, size_t n);
/* The same at an offset, which leaves the position of fd alone. */
int file_pwrite_all(int fd, const void *bytes, size_t n, uint64_t offset);
/* n bytes from an offset on, fewer only where the file ends: how many. -1 with errno set. */
ssize_t file_pread_all(int fd, void *bytes, size_t n, uint64_t offset);

/* The first size bytes of one file to the beginning of an empty one: shared blocks where the file
 * system has that, else copied by the kernel, else by hand. -1 with errno set. */
int file_copy(int from_fd, int to_fd, uint64_t size);

/* The whole content of a regular file that is not empty, read into memory at once and unmapped by
 * munmap. NULL: ERR_NOTFOUND when there is none, else ERR_IO. */
void *file_map(const char *path, size_t *len_out, struct err *e);
/* Waits for the lock on the file at path, which is created where missing (FILE_OWN): a descriptor,
 * which holds the lock until it is closed, or -1. */
int file_lock(const char *path, struct err *e);

/* Calls each for the regular files of dir and of directories up to `depth` levels below, by name;
 * hidden ones are left out, links are followed. -1: the first -1 of each, or ERR_USAGE. */
int file_walk(const char *dir,
              int depth,
              int (*each)(void *context, const char *path, struct err *e),
              void *context,
              struct err *e);

/* Says that `what` (a verb) failed at path, and why, from errno. Returns -1. */
int file_error(struct err *e, const char *what, const char *path);

#endif
