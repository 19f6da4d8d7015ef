/* ignore: the patterns of .gitignore and .tradewindignore files, with the meaning that git gives
 * them. Reads text and compares names; runs nothing. */
#ifndef BROKER_PIPELINE_IGNORE_H
#define BROKER_PIPELINE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct ignore_pattern;

/* The patterns of one file, and those of the files above it, which are weaker. */
struct ignore_rules {
    const struct ignore_rules *above; /* NULL = none */
    size_t base; /* bytes of a path that lead to the file's directory, with the '/' after them */
    const struct ignore_pattern *patterns;
    size_t n;
};

/* Any bytes are a valid file. The rules and their patterns are in the arena, which has no cap;
 * at most 100 times len bytes. */
const struct ignore_rules *ignore_parse(struct arena *arena,
                                        const struct ignore_rules *above,
                                        size_t base,
                                        const char *text,
                                        size_t len);

/* Whether the last pattern that matches the path leaves it out. All rules must be of directories
 * above the path. The caller asks for each directory on the way first: what is below an ignored
 * directory is ignored, whatever the patterns say. Takes at most length of path times length of
 * pattern steps per pattern. */
bool ignore_matches(const struct ignore_rules *rules, const char *path, bool is_directory);

#endif
