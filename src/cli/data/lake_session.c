#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "cli/core/lake_progress.h"
#include "cli/data/lake_put_parts.h"
#include "cli/data/lake_session_parts.h"
#include "lake/core/path.h"
#include "lake/put/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

static int session_id(const char *text, int64_t *out, struct err *e)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno || end == text || *end || *out <= 0)
        return err_set(e, ERR_USAGE,
                       "\"%s\" is no session number; `tradewind session status` lists them", text);
    return 0;
}

/* ---- status ---- */

static const struct command_option status_options[] = {
    {.name = "--urls", .help = "Make an upload URL for every file that has not arrived (S3)."},
    {.name = "--json",
     .help = "Print an array of sessions, or of one session an object with its files."},
    {0},
};

static int run_status(const struct command_args *args, struct err *e)
{
    const struct lake_session_show show = {.json = command_has(args, "--json"),
                                           .urls = command_has(args, "--urls")};
    int64_t id = 0;

    if (!args->n_operands && show.urls)
        return err_set(e, ERR_USAGE, "--urls needs the number of a session");
    if (args->n_operands && session_id(args->operands[0], &id, e) < 0)
        return -1;
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l)
        return -1;
    return id ? lake_session_show(l, id, &show, e) : lake_session_show_all(l, &show, e);
}

const struct command command_session_status = {
    .name = "session status",
    .operands = "[ID]",
    .summary = "Show pending upload sessions, or one session with its files",
    .details =
        "Upload URLs are made anew each time they are asked for and last an hour, or until "
        "the session expires. Anyone who has one can send the file with an HTTP PUT that has "
        "the header shown below it.",
    .example = "tradewind session status 7 --urls",
    .options = status_options,
    .max_operands = 1,
    .run = run_status,
};

/* ---- begin ---- */

static const struct command_option begin_options[] = {
    {.name = "--size", .value = "BYTES", .help = "The length the file must have (one path)."},
    {.name = "--sha256", .value = "HEX", .help = "The digest the file must have (one path)."},
    {.name = "--from",
     .value = "FILE",
     .help = "Read an array of {path, size_bytes, sha256} in JSON instead; \"-\" is standard "
             "input."},
    {.name = "--set", .value = "NAME", .help = "Also make a version of this set of the files."},
    {.name = "--tag",
     .value = "KEY=VALUE",
     .help = "Put this on every new version, and on the set version.",
     .repeatable = true},
    {.name = "--force", .help = "Make a new version even of unchanged content."},
    {.name = "--expires",
     .value = "DURATION",
     .help = "How long after the last sign of life it ends by itself (default 1d)."},
    {.name = "--urls", .help = "Make an upload URL for every file (S3)."},
    {.name = "--json", .help = "Print the session as one object."},
    {0},
};

static int one_target(const struct command_args *args,
                      struct lake_target *t,
                      struct sha256_digest *digest,
                      struct err *e)
{
    const char *hex = command_value(args, "--sha256");
    double size = -1;

    if (command_number(args, "--size", &size, e) < 0)
        return -1;
    if (command_has(args, "--size")) {
        if (size < 0 || size > 9e15 || size != (double)(uint64_t)size)
            return err_set(e, ERR_USAGE, "--size: \"%s\" is no number of bytes",
                           command_value(args, "--size"));
        t->size_known = true;
        t->size = (uint64_t)size;
    }
    if (hex && sha256_parse(hex, digest, e) < 0)
        return err_wrap(e, "--sha256");
    t->digest = hex ? digest : NULL;
    return 0;
}

static int targets_of(const struct command_args *args,
                      struct lake_session_targets *out,
                      struct err *e)
{
    const char *from = command_value(args, "--from");
    bool exact = command_has(args, "--size") || command_has(args, "--sha256");

    if (from && (args->n_operands || exact))
        return err_set(e, ERR_USAGE, "--from stands alone: no paths, --size or --sha256 beside it");
    if (exact && args->n_operands != 1)
        return err_set(e, ERR_USAGE, "--size and --sha256 are for one path; --from takes many");
    if (from)
        return lake_session_read_targets(from, out, e);
    if (!args->n_operands)
        return err_set(e, ERR_USAGE, "name the paths, or a list of them with --from");
    out->targets = mem_zero(args->n_operands, sizeof *out->targets);
    out->digests = mem_zero(1, sizeof *out->digests);
    out->n = args->n_operands;
    out->paths = mem_zero(out->n, sizeof *out->paths);
    for (size_t i = 0; i < out->n; i++)
        out->targets[i].path = out->paths[i] = lake_path_unescape(args->operands[i]);
    return exact ? one_target(args, &out->targets[0], &out->digests[0], e) : 0;
}

static int run_begin(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(lake_session_targets) struct lake_session_targets targets = {0};
    AUTO_MEM const char **tags = mem_zero(args->n_given + 1, sizeof *tags);
    const struct lake_put_options like = {
        .set = lake_put_set(args),
        .tags = tags,
        .n_tags = lake_put_values(args, "--tag", tags),
        .force = command_has(args, "--force"),
    };
    const struct lake_session_show show = {.json = command_has(args, "--json"),
                                           .urls = command_has(args, "--urls")};
    double expires_s = 0;
    int64_t id;

    if (command_duration(args, "--expires", 1, &expires_s, e) < 0 ||
        targets_of(args, &targets, e) < 0)
        return -1;
    AUTO(lake) struct lake *l = lake_open_here(e);
    if (!l || lake_session_begin(l, targets.targets, targets.n, &like, expires_s, &id, e) < 0)
        return -1;
    if (lake_session_show(l, id, &show, e) == 0)
        return 0;
    /* Nobody has seen its number. */
    (void)lake_session_abort(l, id, NULL);
    return -1;
}

const struct command command_session_begin = {
    .name = "session begin",
    .operands = "[/PATH...]",
    .summary = "Begin an upload whose files arrive one by one, from anywhere",
    .details =
        "Names the paths that will be put. The files arrive by `tradewind session put`, or on "
        "S3 by upload URLs (session status --urls), in any order and from any machine. "
        "`session finish` then numbers all versions at once, or none: only when every file "
        "is there, with the length and digest announced. The session outlives whoever takes "
        "part; left alone it expires.",
    .example = "tradewind session begin /data/a.bin /data/b.bin --set Upload",
    .options = begin_options,
    .max_operands = SIZE_MAX,
    .run = run_begin,
};

/* ---- put, finish, abort ---- */

static const struct command_option json_option[] = {
    {.name = "--json", .help = "Print the session as one object."},
    {0},
};

/* The lake, and the number of the session that the first operand names. */
static struct lake *open_for_session(const struct command_args *args, int64_t *id, struct err *e)
{
    return session_id(args->operands[0], id, e) < 0 ? NULL : lake_open_here(e);
}

static int run_session_put(const struct command_args *args, struct err *e)
{
    struct lake_progress_line line;
    const struct lake_session_show show = {.json = true};
    int64_t id;
    AUTO(lake) struct lake *l = open_for_session(args, &id, e);

    if (!l)
        return -1;
    AUTO_MEM char *path = lake_path_unescape(args->operands[2]);
    struct lake_progress progress = lake_progress_begin(&line, "storing");
    int result = lake_session_put(l, id, path, args->operands[1], &progress, e);
    lake_progress_end(&line);
    if (result < 0)
        return -1;
    if (command_has(args, "--json"))
        return lake_session_show(l, id, &show, e);
    printf("%s has arrived\n", args->operands[2]);
    return 0;
}

const struct command command_session_put = {
    .name = "session put",
    .operands = "ID FILE|- /PATH",
    .summary = "Store a local file as one of a session's files",
    .details = "Again replaces what arrived before. Content of another length or digest than "
               "announced is refused.",
    .example = "tradewind session put 7 a.bin /data/a.bin",
    .options = json_option,
    .min_operands = 3,
    .max_operands = 3,
    .run = run_session_put,
};

static int copy_set(void *context, const struct lake_session *s, struct err *e)
{
    char **set = context;

    (void)e;
    *set = s->set ? mem_dup(s->set) : NULL;
    return 0;
}

static int run_finish(const struct command_args *args, struct err *e)
{
    struct lake_put_summary summary;
    struct lake_put_show show = {.json = command_has(args, "--json"),
                                 .look = text_look_for(stdout)};
    const struct lake_session_show session = {.json = true};
    int64_t id;
    AUTO(lake) struct lake *l = open_for_session(args, &id, e);

    if (!l || lake_session_finish(l, id, show.json ? NULL : lake_put_show, &show, &summary, e) < 0)
        return -1;
    if (show.json)
        return lake_session_show(l, id, &session, e);
    AUTO_MEM char *set = NULL;
    if (lake_session_list(l, id, copy_set, &set, e) < 0)
        return -1;
    summary.session = 0; /* what was stored came before */
    return lake_put_end(&show, &summary, set, e);
}

const struct command command_session_finish = {
    .name = "session finish",
    .operands = "ID",
    .summary = "Make versions of a session's files, all at once",
    .details =
        "What arrived by URL is read and checked first. When files are missing or differ from "
        "what was announced, the session stays as it is. Repeating it gives the same answer.",
    .example = "tradewind session finish 7",
    .options = json_option,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_finish,
};

static int run_abort(const struct command_args *args, struct err *e)
{
    const struct lake_session_show show = {.json = true};
    int64_t id;
    AUTO(lake) struct lake *l = open_for_session(args, &id, e);

    if (!l || lake_session_abort(l, id, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return lake_session_show(l, id, &show, e);
    printf("session %" PRId64 " is aborted\n", id);
    return 0;
}

const struct command command_session_abort = {
    .name = "session abort",
    .operands = "ID",
    .summary = "Give a session up and remove what arrived",
    .details = "Also for the session that an interrupted put leaves.",
    .example = "tradewind session abort 7",
    .options = json_option,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_abort,
};
