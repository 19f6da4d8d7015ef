#include "lake/put/put.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/shell.h"
#include "lake/core/path.h"
#include "lake/meta/meta.h"
#include "lake/put/internal.h"
#include "lake/put/upload.h"

#include <stdlib.h>
#include <string.h>

/* How often content that gc removed meanwhile is stored again. */
#define ROUNDS 5

/* A list that long takes 15 MB and more: the database must do with less. */
#define MANY_FILES 100000

#define SHOWN_SOURCES 4
#define PUT_TEXT_MAX 65536

struct put {
    struct lake *l;
    const struct lake_put_options *o;
    struct source_list *list;
    struct lake_put_summary *summary;
    const struct commit_also *also; /* NULL = nothing */
    const char *owner;              /* of what is put */
    char room[SOURCE_PATH_MAX];
};

/* ---- progress ---- */

int put_tell(struct put_progress *p, uint64_t more_files, uint64_t more_bytes, struct err *e)
{
    pthread_mutex_lock(&p->lock);
    p->files_done += more_files;
    p->bytes_done += more_bytes;
    if (!p->stopped && p->to.tell)
        p->stopped =
            !p->to.tell(p->to.context, p->files_done, p->bytes_done, p->all_files, p->all_bytes);
    bool stopped = p->stopped;
    pthread_mutex_unlock(&p->lock);
    return stopped ? err_set(e, ERR_RETRY, "interrupted") : 0;
}

/* ---- the command line, by which an interrupted put is found again ---- */

static void add_source(struct buf *b, const char *source)
{
    AUTO_MEM char *real = realpath(source, NULL);
    size_t n = strlen(source);
    /* "x/." and "x" are not the same. */
    bool inside = n && source[n - 1] == '.' && (n == 1 || source[n - 2] == '/');
    AUTO_MEM char *text = mem_printf("%s%s", real ? real : source, real && inside ? "/." : "");
    AUTO_MEM char *shown = source_printable(text);

    shell_put_word(b, shown);
}

static char *put_text(const struct lake_put_options *o)
{
    AUTO_CLEAR(buf) struct buf b;
    uint64_t hash = 0;

    buf_init(&b, PUT_TEXT_MAX);
    shell_put_word(&b, "put");
    for (size_t i = 0; i < o->n_sources; i++) {
        if (i < SHOWN_SOURCES)
            add_source(&b, o->sources[i]);
        hash = hash * 31 + hash_text(o->sources[i]);
    }
    if (o->n_sources > SHOWN_SOURCES)
        buf_printf(&b, " ... (%zu sources, %016llx)", o->n_sources, (unsigned long long)hash);
    AUTO_MEM char *destination = lake_path_escape(o->destination);
    shell_put_word(&b, destination);
    if (o->set) {
        shell_put_word(&b, "--set");
        shell_put_word(&b, o->set);
    }
    for (size_t i = 0; i < o->n_tags; i++) {
        shell_put_word(&b, "--tag");
        shell_put_word(&b, o->tags[i]);
    }
    if (o->force)
        shell_put_word(&b, "--force");
    return mem_dup(buf_str(&b));
}

/* ---- what needs doing ---- */

static bool all_unchanged(const struct put *p)
{
    if (p->o->force || p->o->set)
        return false;
    for (size_t i = 0; i < p->list->n_files; i++) {
        const struct source_file *f = &p->list->files[i];
        if (!f->object || !f->same)
            return false;
    }
    return true;
}

static void count_unchanged(struct put *p)
{
    for (size_t i = 0; i < p->list->n_files; i++)
        p->list->files[i].unchanged = true;
    p->summary->files = p->summary->unchanged = p->list->n_files;
    p->summary->bytes = p->list->bytes;
}

static int visit_all(struct put *p, lake_visit_put *visit, void *context, struct err *e)
{
    for (size_t i = 0; visit && i < p->list->n_files; i++) {
        const struct source_file *f = &p->list->files[i];
        const struct lake_put_file file = {
            .path = source_path(p->list, i, SOURCE_LAKE, p->room),
            .number = f->number,
            .size = f->stamp.size,
            .digest = f->digest,
            .unchanged = f->unchanged,
        };
        if (visit(context, &file, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the commit ---- */

static void get_file(void *context, size_t i, struct commit_file *out)
{
    struct put *p = context;
    const struct source_file *f = &p->list->files[i];

    *out = (struct commit_file){
        .path = source_path(p->list, i, SOURCE_LAKE, p->room),
        .object = f->object,
        .size = f->stamp.size,
        .executable = f->executable,
        .vacant = f->vacant,
        .done = {f->version, f->number, f->unchanged},
    };
}

static void file_done(void *context, size_t i, const struct version_done *done)
{
    struct put *p = context;
    struct source_file *f = &p->list->files[i];

    f->version = done->version;
    f->number = done->number;
    f->unchanged = done->unchanged;
}

static size_t nth_by_path(void *context, size_t n)
{
    struct put *p = context;

    return source_nth(p->list, n);
}

/* Content found in the lake is not held until now: gc may have removed it. Forgets the
 * objects that are gone. */
static int check_present(struct put *p, struct upload *u, size_t *gone_out, struct err *e)
{
    *gone_out = 0;
    for (size_t i = 0; i < p->list->n_files; i++) {
        struct source_file *f = &p->list->files[i];
        if (!f->object)
            continue;
        int there = commit_present(p->l, f->object, e);
        if (there < 0)
            return -1;
        if (there)
            continue;
        f->object = 0;
        ++*gone_out;
    }
    if (*gone_out)
        upload_forget_gone(u);
    return 0;
}

/* The set version that may be what is put; 0 = none. */
static int find_unless(const struct put *p, int64_t *out, struct err *e)
{
    *out = p->also ? p->also->unless : 0;
    if (!p->also || !p->also->unless_latest)
        return 0;
    return db_get_int(p->l->db, e, out,
                      "SELECT v.id FROM fileset s JOIN set_version v ON v.id = s.latest_version"
                      " WHERE s.project = $1 AND s.name = $2 AND v.removed = 0",
                      DB_INT(p->l->project), DB_TEXT(p->o->set)) < 0
               ? -1
               : 0;
}

static int make_versions(struct put *p, const struct commit_list *list, struct err *e)
{
    int64_t set_version;

    if (find_unless(p, &set_version, e) < 0)
        return -1;
    int same = set_version ? commit_same(p->l, list, set_version, e) : 0;
    if (same < 0 ||
        (same == 0 && commit_versions(p->l, list, p->o, p->summary, &set_version, e) < 0))
        return -1;
    if (same)
        p->summary->files = p->summary->unchanged = list->n;
    return p->also ? p->also->run(p->also->context, set_version, !same, e) : 0;
}

/* 1: committed; 0: some content must be stored again; -1 */
static int commit_once(struct put *p, struct upload *u, struct err *e)
{
    const struct commit_list list = {
        .owner = p->owner,
        .n = p->list->n_files,
        .get = get_file,
        .done = file_done,
        .by_path = nth_by_path,
        .context = p,
    };
    int64_t session = u->session.id;
    size_t gone;

    if (session && session_row_renew(p->l, session, e) < 0)
        return -1;
    if (check_present(p, u, &gone, e) < 0)
        return -1;
    if (gone)
        return 0;
    if (upload_record(u, false, e) < 0 || known_vacant(p->l, p->list, e) < 0 ||
        make_versions(p, &list, e) < 0)
        return -1;
    return session && session_row_remove(p->l, session, e) < 0 ? -1 : 1;
}

static int commit(struct put *p, struct upload *u, struct err *e)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (upload_flush(u, e) < 0 || db_begin(p->l->db, e) < 0)
            return -1;
        int done = commit_once(p, u, e);
        if (done > 0 && db_commit(p->l->db, e) == 0)
            return 0;
        db_rollback(p->l->db);
        upload_unrecord(u);
        if (done != 0 || upload_all(u, e) < 0)
            return -1;
    }
    return err_set(e, ERR_RETRY, "gc keeps removing the content; try again");
}

/* ---- all ---- */

static int add_words(struct err *e, const char *words)
{
    size_t n = strlen(e->text);

    snprintf(e->text + n, sizeof e->text - n, "%s", words);
    return -1;
}

/* There is no session to go on with; other errors say what must change first. */
static int leave_nothing(const struct put *p, struct err *e)
{
    return (e->kind == ERR_RETRY || e->kind == ERR_CHANGED) && !p->also
               ? add_words(e, "; nothing was stored: the same put starts from the beginning")
               : -1;
}

/* What was stored is worth keeping unless trying again cannot help. */
static int leave(struct put *p, struct upload *u, bool hopeless, struct err *e)
{
    struct err ignored = {0};

    if (!u->session.id)
        return leave_nothing(p, e);
    hopeless = hopeless || p->o->sources_pass;
    if (!hopeless)
        (void)upload_save(u, &ignored);
    upload_drop_spares(u);
    if (hopeless || (!u->session.resumed && u->next_seq == 0)) {
        if (db_begin(p->l->db, &ignored) == 0)
            (void)db_end(p->l->db, session_row_remove(p->l, u->session.id, &ignored), &ignored);
        return leave_nothing(p, e);
    }
    if (p->also)
        return -1;
    AUTO_MEM char *words = mem_printf(
        "; session %lld: %s, or `tradewind session abort %lld`", (long long)u->session.id,
        p->o->again ? p->o->again : "run the same put again", (long long)u->session.id);
    return add_words(e, words);
}

static int store_and_commit(struct put *p, struct upload *u, struct err *e)
{
    if (upload_resume(u, e) < 0 || upload_all(u, e) < 0)
        return leave(p, u, false, e);
    p->summary->session = u->session.id;
    p->summary->resumed = u->session.resumed;
    p->summary->new_bytes = u->new_bytes;
    if (!u->session.id && all_unchanged(p)) {
        /* Only the cache of stamps gains by it, so failing is no harm. */
        struct err ignored;
        if (u->batch.n_arrivals && db_begin(p->l->db, &ignored) == 0)
            (void)db_end(p->l->db, upload_record(u, false, &ignored), &ignored);
        count_unchanged(p);
        return 0;
    }
    if (commit(p, u, e) < 0)
        return leave(p, u, e->kind == ERR_USAGE || e->kind == ERR_DENIED, e);
    upload_drop_spares(u);
    p->summary->new_bytes = u->new_bytes;
    return 0;
}

/* No version is made of content whose blob was deleted; with force, of none that cannot be
 * read. It is stored again. */
static int forget_damaged(struct put *p, struct upload *u, struct err *e)
{
    for (size_t i = 0; i < p->list->n_files; i++) {
        struct source_file *f = &p->list->files[i];
        if (!f->object || (f->same && !p->o->force))
            continue;
        int good = p->o->force ? object_readable(p->l, f->object, e) : upload_check(u, f, e);
        if (good < 0)
            return -1;
        if (p->o->force && !good)
            f->object = 0;
    }
    return 0;
}

static int put_files(struct put *p, struct err *e)
{
    AUTO_MEM char *put = p->also ? mem_dup(p->also->name) : put_text(p->o);
    AUTO_MEM char *request = session_request_text(p->o);
    AUTO_CLEAR(upload) struct upload u;

    upload_init(&u, p->l, p->list);
    u.put = (struct session_put){p->owner, put, request};
    u.progress.to = p->o->progress;
    u.verify = p->o->force;
    u.keep = p->also;
    if (forget_damaged(p, &u, e) < 0)
        return -1;
    return store_and_commit(p, &u, e);
}

int put_check_options(const struct lake_put_options *o, struct err *e)
{
    if (o->set && lake_path_check_set(o->set, e) < 0)
        return -1;
    for (size_t i = 0; i < o->n_tags; i++)
        if (lake_tag_check(o->tags[i], e) < 0)
            return -1;
    return 0;
}

static bool stdin_goes_on(void *context, uint64_t bytes)
{
    const struct lake_progress *progress = context;

    return !progress->tell || progress->tell(progress->context, 0, bytes, 0, 0);
}

static int put_all(struct put *p, lake_visit_put *visit, void *context, struct err *e)
{
    const struct lake_put_options *o = p->o;
    struct lake_progress progress = o->progress;
    const struct source_watch watch = {stdin_goes_on, &progress};

    *p->summary = (struct lake_put_summary){0};
    if (put_check_options(o, e) < 0)
        return -1;
    AUTO(source_list)
    struct source_list *list = source_scan(o->sources, o->n_sources, o->destination, &watch, e);
    if (!list)
        return -1;
    p->list = list;
    p->summary->skipped = list->skipped;
    if (!list->n_files && o->set && !p->also)
        return err_set(e, ERR_USAGE, "there are no files to make a version of @%s of", o->set);
    if (!list->n_files)
        return 0;
    if (list->n_files >= MANY_FILES)
        db_spare_memory(p->l->db);
    if (known_look(p->l, list, e) < 0)
        return -1;
    if (all_unchanged(p))
        count_unchanged(p);
    else if (put_files(p, e) < 0)
        return -1;
    return visit_all(p, visit, context, e);
}

int lake_put(struct lake *l,
             const struct lake_put_options *options,
             lake_visit_put *visit,
             void *context,
             struct lake_put_summary *summary,
             struct err *e)
{
    struct put p = {.l = l, .o = options, .summary = summary, .owner = l->user};
    struct err unwanted;

    return put_all(&p, visit, context, e ? e : &unwanted);
}

int put_also(struct lake *l,
             const struct lake_put_options *options,
             const struct commit_also *also,
             struct lake_put_summary *summary,
             struct err *e)
{
    struct put p = {.l = l, .o = options, .summary = summary, .also = also, .owner = also->owner};

    return put_all(&p, NULL, NULL, e);
}
