/* path: rules for the names of files, sets and aliases. */
#ifndef LAKE_CORE_PATH_H
#define LAKE_CORE_PATH_H

#include "base/err.h"

#define LAKE_PATH_MAX 4095
#define LAKE_COMPONENT_MAX 255
#define LAKE_NAME_MAX 128

/* A file's path: absolute, clean UTF-8 without control characters, no empty, "." or ".." part, no
 * '/' at the end, within the lengths above. ERR_USAGE that shows the path and what is wrong. */
int lake_path_check(const char *path, struct err *e);
/* Names of sets and aliases: letters, digits, '.', '_', '-', beginning with a letter or digit; an
 * alias is no number. */
int lake_path_check_set(const char *name, struct err *e);
int lake_path_check_alias(const char *name, struct err *e);

/* Undoes %23 %3A %40 %25 (in either case); other '%' stay. New string. */
char *lake_path_unescape(const char *text);
/* Escapes what a reference would read otherwise: '#', ':', '@' and '%' before two hex digits. */
char *lake_path_escape(const char *path);

#endif
