/* log: messages about the program's progress, for stderr. Results go to stdout, errors travel in
 * struct err. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Default LOG_WARN; TRADEWIND_LOG=debug|info|warn|error is read by main. */
void log_set_level(enum log_level level);
int log_level_from_text(const char *text, enum log_level *out);

void log_at(enum log_level level, const char *room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define log_warn(room, ...) log_at(LOG_WARN, room, __VA_ARGS__)
#define log_info(room, ...) log_at(LOG_INFO, room, __VA_ARGS__)
#define log_debug(room, ...) log_at(LOG_DEBUG, room, __VA_ARGS__)

#endif
