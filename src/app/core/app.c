#include "app/core/app.h"

#include "app/core/lake_open.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/runs.h"
#include "broker/daemon/client.h"
#include "broker/machine/machines.h"
#include "spec/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTICE_BYTES 1024
#define DATE_LENGTH 10 /* 2026-11-18 */

struct app {
    char *asked_home, *project, *user, *program; /* NULL = not said */
    enum app_role role;
    bool is_insecure; /* by the request */
    const char *(*variable)(const char *name);
    struct app_listener listener;
    struct config *config;
    char *home;
    struct lake *lake;
    struct runs *runs;
    struct machines *machines;
    struct broker_client *broker;
    struct {
        char *request;
        void *thing;
        void (*release)(void *thing);
    } left; /* thing NULL = nothing */
};

const char *app_role_text(enum app_role role)
{
    static const char *const texts[] = {[APP_VIEWER] = "viewer",
                                        [APP_MEMBER] = "member",
                                        [APP_ADMIN] = "admin",
                                        [APP_PLATFORM_ADMIN] = "platform_admin"};

    return texts[role];
}

static char *copy(const char *text)
{
    return text ? mem_dup(text) : NULL;
}

struct app *app_new(const struct app_options *options)
{
    struct app *app = mem_zero(1, sizeof *app);

    app->asked_home = copy(options->home);
    app->project = copy(options->project);
    app->user = copy(options->user);
    app->program = copy(options->program);
    app->role = options->role;
    app->variable = options->variable;
    app->listener = options->listener;
    return app;
}

static void forget_left(struct app *app)
{
    if (app->left.thing)
        app->left.release(app->left.thing);
    free(app->left.request);
    app->left.thing = app->left.request = NULL;
}

void app_leave(struct app *app, const char *request, void *thing, void (*release)(void *thing))
{
    forget_left(app);
    app->left.request = mem_dup(request);
    app->left.thing = thing;
    app->left.release = release;
}

void *app_take(struct app *app, const char *request)
{
    bool is_same = app->left.thing && strcmp(app->left.request, request) == 0;
    void *thing = is_same ? app->left.thing : NULL;

    if (is_same)
        app->left.thing = NULL;
    forget_left(app);
    return thing;
}

void app_free(struct app *app)
{
    if (!app)
        return;
    forget_left(app);
    broker_client_free(app->broker);
    machines_free(app->machines);
    runs_free(app->runs);
    lake_free(app->lake);
    config_free(app->config);
    free(app->home);
    free(app->program);
    free(app->user);
    free(app->project);
    free(app->asked_home);
    free(app);
}

enum app_role app_role(const struct app *app)
{
    return app->role;
}

/* ---- the home ---- */

const struct config *app_config(struct app *app, struct err *e)
{
    if (!app->config)
        app->config = config_load(app->asked_home, e);
    return app->config;
}

/* The broker's control socket and state files are lines of text that name the home. */
static bool has_control_character(const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || *path == 127)
            return true;
    return false;
}

const char *app_home(struct app *app, struct err *e)
{
    const struct config *c = app->home ? NULL : app_config(app, e);

    if (c && has_control_character(c->home))
        err_set(e, ERR_USAGE,
                "TRADEWIND_HOME \"%.100s\": the name has a control character: choose another "
                "directory",
                c->home);
    else if (c)
        app->home = app_absolute_path(c->home, e);
    return app->home;
}

const char *app_user(const struct app *app)
{
    return app->user;
}

const char *app_variable(const struct app *app, const char *name)
{
    return app->variable ? app->variable(name) : NULL;
}

void app_allow_insecure(struct app *app)
{
    app->is_insecure = true;
}

bool app_is_insecure(struct app *app)
{
    const struct config *c = app_config(app, NULL);
    const char *said = app_variable(app, "TRADEWIND_INSECURE");

    return app->is_insecure || (c && c->insecure) || (said && !strcmp(said, "1"));
}

const char *app_variable_or(const struct app *app, const char *name, const char *otherwise)
{
    const char *text = app_variable(app, name);

    return text && *text ? text : otherwise;
}

int app_today(const struct app *app, char out[static 32], struct err *e)
{
    const char *told = app_variable(app, "TRADEWIND_TODAY");

    if (!told || !*told)
        time_iso(time_epoch_ms(), out);
    else if (strlen(told) != DATE_LENGTH || !time_from_date(told))
        return err_set(e, ERR_USAGE, "TRADEWIND_TODAY: \"%.40s\" is no date such as 2026-11-18",
                       told);
    else
        snprintf(out, 32, "%s", told);
    out[DATE_LENGTH] = 0;
    return 0;
}

struct lake *app_lake(struct app *app, struct err *e)
{
    const struct config *c = app->lake ? NULL : app_config(app, e);

    if (c)
        app->lake = app_lake_as(c, app->project, app->user, app->role >= APP_ADMIN, e);
    return app->lake;
}

struct runs *app_runs(struct app *app, struct err *e)
{
    const char *home = app->runs ? NULL : app_home(app, e);

    if (home && file_make_dirs(home, 0700, e) == 0)
        app->runs = runs_open(home, e);
    return app->runs;
}

struct machines *app_machines(struct app *app, struct err *e)
{
    const char *home = app->machines ? NULL : app_home(app, e);

    if (home && file_make_dirs(home, 0700, e) == 0)
        app->machines = machines_open(home, e);
    return app->machines;
}

struct broker_client *app_broker(struct app *app, struct err *e)
{
    const char *home = app->broker ? NULL : app_home(app, e);

    if (home)
        app->broker = broker_client_open(home, app->program ? app->program : BROKER_CLIENT_SELF, e);
    return app->broker;
}

const char *app_program(const struct app *app)
{
    return app->program;
}

int app_wake_broker(struct app *app, struct err *e)
{
    struct broker_client *c = app_broker(app, e);

    return c ? broker_client_wake(c, e) : -1;
}

/* ---- the front end ---- */

static void tell(void (*hear)(void *context, const char *text),
                 void *context,
                 const char *fmt,
                 va_list args) __attribute__((format(printf, 3, 0)));
static void tell(void (*hear)(void *context, const char *text),
                 void *context,
                 const char *fmt,
                 va_list args)
{
    char text[NOTICE_BYTES];

    if (!hear)
        return;
    vsnprintf(text, sizeof text, fmt, args);
    hear(context, text);
}

void app_notice(const struct app *app, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tell(app->listener.notice, app->listener.context, fmt, args);
    va_end(args);
}

void app_status(const struct app *app, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tell(app->listener.status, app->listener.context, fmt, args);
    va_end(args);
}

bool app_cancelled(const struct app *app)
{
    return app->listener.cancelled && app->listener.cancelled(app->listener.context);
}

int app_check_cancelled(const struct app *app, struct err *e)
{
    return app_cancelled(app) ? err_set(e, ERR_RETRY, "interrupted") : 0;
}

static bool pass_progress(
    void *context, uint64_t files, uint64_t bytes, uint64_t all_files, uint64_t all_bytes)
{
    const struct app_progress *p = context;
    const struct app_listener *l = &p->app->listener;

    if (l->progress)
        l->progress(l->context, p->verb, files, bytes, all_files, all_bytes);
    return !app_cancelled(p->app);
}

struct lake_progress app_lake_progress(struct app_progress *verb_context)
{
    return (struct lake_progress){pass_progress, verb_context};
}
