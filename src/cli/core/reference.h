/* reference: what help and the man page both say about the program as a whole. */
#ifndef CLI_CORE_REFERENCE_H
#define CLI_CORE_REFERENCE_H

struct reference_entry {
    const char *term;
    const char *text;
};

extern const char reference_summary[];
extern const char reference_description[];
/* Each ends with {0}. */
extern const struct reference_entry reference_exit_codes[];
extern const struct reference_entry reference_environment[];
extern const struct reference_entry reference_files[];

#endif
