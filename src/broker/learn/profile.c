#include "broker/learn/profile.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A template of the longest command there may be, written as JSON, and a model. */
#define FILE_MAX_BYTES ((off_t)16 << 20)
#define PROFILES_MAX 100000
#define SUFFIX ".json"

/* ---- sizes ---- */

void profile_sizes_clear(struct profile_sizes *s)
{
    free(s->values);
    *s = (struct profile_sizes){0};
}

void profile_sizes_add(struct profile_sizes *s, double value)
{
    size_t at = 0;

    while (at < s->n && s->values[at] < value)
        at++;
    if (at < s->n && s->values[at] <= value)
        return;
    s->values = mem_grow(s->values, s->n + 1, sizeof *s->values);
    memmove(s->values + at + 1, s->values + at, (s->n - at) * sizeof *s->values);
    s->values[at] = value;
    s->n++;
}

/* ---- names ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int broker_profile_name_check(const char *name, struct err *e)
{
    static const char *const commands[] = {"show", "ls", "predict", "fit", "import", "evaluate"};
    size_t len = strlen(name);
    bool good = len > 0 && len <= PROFILE_NAME_MAX && is_plain(name[0]);

    for (size_t i = 0; good && i < len; i++)
        good = is_plain(name[i]) || strchr("_-.", name[i]);
    if (!good)
        return err_set(
            e, ERR_USAGE,
            "\"%.80s\" is not a name; use letters, digits, '_', '-' and '.', beginning with "
            "a letter or a digit, at most %d",
            name, PROFILE_NAME_MAX);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i]) == 0)
            return err_set(e, ERR_USAGE, "%s cannot be a name: it is a command of its own", name);
    return 0;
}

char *broker_profile_job_name(const char *name)
{
    return mem_printf("profile %s", name);
}

static char *directory_of(const char *home)
{
    return mem_printf("%s/profiles", home);
}

static char *path_of(const char *home, const char *name)
{
    return mem_printf("%s/profiles/%s" SUFFIX, home, name);
}

/* ---- all of them ---- */

static int is_profile(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

    return len > suffix && entry->d_name[0] != '.' &&
           strcmp(entry->d_name + len - suffix, SUFFIX) == 0;
}

int broker_profile_each(const char *home,
                        int (*visit)(void *context, const char *name, struct err *e),
                        void *context,
                        struct err *e)
{
    AUTO_MEM char *directory = directory_of(home);
    struct dirent **entries = NULL;
    int n = scandir(directory, &entries, is_profile, alphasort), result = 0;

    if (n < 0)
        return errno == ENOENT ? 0 : file_error(e, "read", directory);
    if (n > PROFILES_MAX)
        result = err_set(e, ERR_IO, "%s: more than %d profiles", directory, PROFILES_MAX);
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name;
        name[strlen(name) - strlen(SUFFIX)] = 0;
        if (result == 0)
            result = visit(context, name, e);
        free(entries[i]);
    }
    free(entries);
    return result;
}

struct names {
    char **items;
    size_t n, cap;
};

static int note_name(void *context, const char *name, struct err *e)
{
    struct names *names = context;

    (void)e;
    names->items = mem_room(names->items, names->n, &names->cap, sizeof *names->items);
    names->items[names->n++] = mem_dup(name);
    return 0;
}

static int no_such_profile(const char *home, const char *name, struct err *e)
{
    struct names names = {0};
    struct err ignored;

    broker_profile_each(home, note_name, &names, &ignored);
    const char *close = nearest(name, (const char *const *)names.items, names.n);
    if (close)
        err_set(e, ERR_NOTFOUND, "no such profile '%s', did you mean '%s'?", name, close);
    else if (names.n)
        err_set(e, ERR_NOTFOUND, "no such profile '%s'; tradewind profile ls lists them", name);
    else
        err_set(e, ERR_NOTFOUND, "no such profile '%s'; tradewind profile %s -- COMMAND makes it",
                name, name);
    for (size_t i = 0; i < names.n; i++)
        free(names.items[i]);
    free(names.items);
    return -1;
}

/* ---- from a file ---- */

static int bad_file(const char *path, const char *what, struct err *e)
{
    return err_set(e, ERR_IO,
                   "%s: %s; it was changed by hand or damaged: remove it, and profile again", path,
                   what);
}

static int read_sizes(const json_t *list, struct profile_sizes *out)
{
    size_t n = json_array_size(list);

    if (n == 0 || n > PROFILE_SIZES_MAX)
        return -1;
    for (size_t i = 0; i < n; i++) {
        double value = json_number_value(json_array_get(list, i));
        if (!(value > 0))
            return -1;
        profile_sizes_add(out, value);
    }
    return 0;
}

static struct template *read_template(const json_t *list, struct err *e)
{
    size_t n = json_array_size(list);
    AUTO_MEM const char **words = mem_zero(n + 1, sizeof *words);

    for (size_t i = 0; i < n; i++) {
        words[i] = json_string_value(json_array_get(list, i));
        if (!words[i]) {
            err_set(e, ERR_IO, "a word is not text");
            return NULL;
        }
    }
    return template_new(words, n, e);
}

static int read_profile(const json_t *root, struct broker_profile *p, struct err *e)
{
    const json_t *model = json_object_get(root, "model");

    const json_t *imported = json_object_get(root, "imported");
    if (imported && profile_runs_from_json(imported, &p->imported) < 0)
        return err_set(e, ERR_IO, "the imported runs are damaged");
    const json_t *words = json_object_get(root, "template");
    bool has_command = json_array_size(words) > 0 || !p->imported.n;
    p->template = has_command ? read_template(words, e) : template_none();
    if (!p->template)
        return -1;
    if (read_sizes(json_object_get(root, "cpus"), &p->cpus) < 0 ||
        read_sizes(json_object_get(root, "mems_mb"), &p->mems_mb) < 0)
        return err_set(e, ERR_IO, "no sizes of machines");
    if (!model || json_is_null(model))
        return 0;
    p->fit = fit_from_json(model, e);
    return p->fit ? 0 : -1;
}

/* NULL with ERR_NONE: there is no such file. */
static json_t *load_json(const char *path, struct err *e)
{
    struct stat st;
    json_error_t wrong;

    if (stat(path, &st) < 0) {
        if (errno != ENOENT)
            file_error(e, "read", path);
        else
            *e = (struct err){.kind = ERR_NONE};
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES) {
        bad_file(path, "not a file of a profile", e);
        return NULL;
    }
    json_t *root = json_load_file(path, 0, &wrong);
    if (!root)
        bad_file(path, "not JSON", e);
    return root;
}

struct broker_profile *broker_profile_load(const char *home, const char *name, struct err *e)
{
    struct err inner;

    if (broker_profile_name_check(name, e) < 0)
        return NULL;
    AUTO_MEM char *path = path_of(home, name);
    AUTO_JSON json_t *root = load_json(path, e);
    if (!root) {
        if (e->kind == ERR_NONE)
            no_such_profile(home, name, e);
        return NULL;
    }
    AUTO(broker_profile) struct broker_profile *p = mem_zero(1, sizeof *p);
    p->name = mem_dup(name);
    if (read_profile(root, p, &inner) < 0) {
        bad_file(path, inner.text, e);
        return NULL;
    }
    return TAKE(p);
}

void broker_profile_free(struct broker_profile *p)
{
    if (!p)
        return;
    free(p->name);
    template_free(p->template);
    profile_sizes_clear(&p->cpus);
    profile_sizes_clear(&p->mems_mb);
    profile_runs_clear(&p->imported);
    fit_free(p->fit);
    free(p);
}

/* ---- to a file ---- */

int broker_profile_lock(const char *home, struct err *e)
{
    AUTO_MEM char *directory = directory_of(home);
    AUTO_MEM char *path = mem_printf("%s/lock", directory);

    if (file_make_own_dirs(directory, e) < 0)
        return -1;
    return file_lock(path, e);
}

static json_t *sizes_json(const struct profile_sizes *sizes)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sizes->n; i++)
        json_array_append_new(list, json_real(sizes->values[i]));
    return list;
}

static int save(const char *home, const struct broker_profile *p, struct err *e)
{
    AUTO_JSON json_t *root = json_object();
    AUTO_MEM char *path = path_of(home, p->name);
    json_t *words = json_array();

    json_object_set_new(root, "name", json_string(p->name));
    json_object_set_new(root, "template", words);
    for (size_t i = 0; i < p->template->n; i++)
        if (json_array_append_new(words, json_string(p->template->written[i])) < 0)
            return err_set(e, ERR_USAGE, "word %zu of the command is not UTF-8 text", i + 1);
    json_object_set_new(root, "cpus", sizes_json(&p->cpus));
    json_object_set_new(root, "mems_mb", sizes_json(&p->mems_mb));
    if (p->imported.n)
        json_object_set_new(root, "imported", profile_runs_json(&p->imported));
    json_object_set_new(root, "model", p->fit ? fit_to_json(p->fit) : json_null());
    char *text = json_dumps(root, JSON_INDENT(2));
    int result = file_replace(path, text, strlen(text), FILE_OWN, e);
    free(text);
    return result;
}

/* Imported runs tell all values that differ between commands, and no others. */
static int check_imported(const struct template *t, const struct profile_runs *runs, struct err *e)
{
    for (size_t i = 0; i < runs->n_columns; i++)
        if (!template_find_arg(t, runs->columns[i]))
            return err_set(e, ERR_USAGE,
                           "column %s is no value of the command; name columns as in "
                           "--%s VALUE, and leave others out",
                           runs->columns[i], runs->columns[i]);
    for (size_t i = 0; i < t->n_args; i++)
        if (t->args[i].listed && profile_runs_column(runs, t->args[i].key) == runs->n_columns)
            return err_set(e, ERR_USAGE, "no column %s, of which the command has a list",
                           t->args[i].key);
    return 0;
}

static void copy_sizes(struct profile_sizes *to, const struct profile_sizes *from)
{
    for (size_t i = 0; i < from->n; i++)
        profile_sizes_add(to, from->values[i]);
}

/* A profile that has only imported runs gets its command. */
static int take_command(struct broker_profile *p,
                        const struct template *template,
                        const struct profile_sizes *cpus,
                        const struct profile_sizes *mems_mb,
                        struct err *e)
{
    if (check_imported(template, &p->imported, e) < 0)
        return err_wrap(e, "profile %s has imported runs", p->name);
    struct template *own = template_union(template, template, e);
    if (!own)
        return -1;
    template_free(p->template);
    p->template = own;
    profile_sizes_clear(&p->cpus);
    profile_sizes_clear(&p->mems_mb);
    copy_sizes(&p->cpus, cpus);
    copy_sizes(&p->mems_mb, mems_mb);
    return 0;
}

static int join(struct broker_profile *p,
                const struct template *template,
                const struct profile_sizes *cpus,
                const struct profile_sizes *mems_mb,
                struct err *e)
{
    if (!p->template->n)
        return take_command(p, template, cpus, mems_mb, e);
    if (!template_same_shape(p->template, template)) {
        AUTO_MEM char *text = template_text(p->template);
        return err_set(e, ERR_USAGE,
                       "profile %s is of another command: %.200s; choose another name, or the same "
                       "command with other values in its lists",
                       p->name, text);
    }
    struct template *both = template_union(p->template, template, e);
    if (!both)
        return err_wrap(e, "with what profile %s has already", p->name);
    template_free(p->template);
    p->template = both;
    copy_sizes(&p->cpus, cpus);
    copy_sizes(&p->mems_mb, mems_mb);
    if (p->cpus.n > PROFILE_SIZES_MAX || p->mems_mb.n > PROFILE_SIZES_MAX)
        return err_set(e, ERR_USAGE, "profile %s: more than %d sizes of CPUs or memory", p->name,
                       PROFILE_SIZES_MAX);
    return 0;
}

int broker_profile_extend(const char *home,
                          const char *name,
                          const struct template *template,
                          const struct profile_sizes *cpus,
                          const struct profile_sizes *mems_mb,
                          struct err *e)
{
    AUTO(broker_profile) struct broker_profile *p = broker_profile_load(home, name, e);

    if (!p && e->kind != ERR_NOTFOUND)
        return -1;
    if (!p) {
        p = mem_zero(1, sizeof *p);
        p->name = mem_dup(name);
        p->template = template_union(template, template, e);
        if (!p->template)
            return -1;
    }
    return join(p, template, cpus, mems_mb, e) < 0 ? -1 : save(home, p, e);
}

/* Of many sizes the ends have to do: they only say what lies within the runs. */
static void note_size(struct profile_sizes *s, double value)
{
    profile_sizes_add(s, value);
    if (s->n > PROFILE_SIZES_MAX) {
        memmove(&s->values[1], &s->values[2], (s->n - 2) * sizeof *s->values);
        s->n--;
    }
}

static struct broker_profile *profile_without_command(const char *name)
{
    struct broker_profile *p = mem_zero(1, sizeof *p);

    p->name = mem_dup(name);
    p->template = template_none();
    return p;
}

int broker_profile_import(const char *home,
                          struct lake *l,
                          const char *name,
                          const struct profile_runs *runs,
                          size_t *n_added_out,
                          struct err *too_few_out,
                          struct err *e)
{
    *too_few_out = (struct err){0};
    if (broker_profile_name_check(name, e) < 0)
        return -1;
    AUTO_FD int lock = broker_profile_lock(home, e);
    AUTO(broker_profile)
    struct broker_profile *p = lock < 0 ? NULL : broker_profile_load(home, name, e);

    if (lock < 0 || (!p && e->kind != ERR_NOTFOUND))
        return -1;
    if (!p)
        p = profile_without_command(name);
    if ((p->template->n && check_imported(p->template, runs, e) < 0) ||
        profile_runs_add(&p->imported, runs, n_added_out, e) < 0)
        return err_wrap(e, "profile %s", name);
    /* With a command, sizes are those that it is to run on. */
    for (size_t i = 0; !p->template->n && i < runs->n; i++) {
        note_size(&p->cpus, runs->items[i].cpus);
        note_size(&p->mems_mb, runs->items[i].memory_mb);
    }
    if (broker_profile_fit(l, p, too_few_out) < 0 && too_few_out->kind != ERR_NOFIT) {
        *e = *too_few_out;
        return -1;
    }
    return save(home, p, e);
}

int broker_profile_keep_fit(const char *home, const struct broker_profile *p, struct err *e)
{
    AUTO_FD int lock = broker_profile_lock(home, e);

    if (lock < 0)
        return -1;
    /* Another process may have added to the profile meanwhile. */
    AUTO(broker_profile) struct broker_profile *now = broker_profile_load(home, p->name, e);
    if (!now)
        return -1;
    struct fit *old = now->fit;
    now->fit = p->fit;
    int result = save(home, now, e);
    now->fit = old;
    return result;
}
