#include "cli/job/job_parts.h"

int job_desk_open(struct job_desk *out, struct err *e)
{
    *out = (struct job_desk){.door = operate_door_new(true)};
    out->app = operate_app(out->door);
    out->home = app_home(out->app, e);
    out->lake = out->home ? app_lake(out->app, e) : NULL;
    if (out->lake)
        return 0;
    job_desk_clear(out);
    return -1;
}

void job_desk_clear(struct job_desk *d)
{
    operate_door_free(d->door);
    *d = (struct job_desk){0};
}

int job_read_cpus(const struct command_args *args, double *out, struct err *e)
{
    *out = 1;
    if (command_number(args, "--cpus", out, e) < 0)
        return -1;
    if (app_job_check_cpus(*out, e) < 0)
        return err_wrap(e, "--cpus %s", command_value(args, "--cpus"));
    return 0;
}

int job_read_memory(const struct command_args *args, uint64_t *out, struct err *e)
{
    const char *text = command_value(args, "--memory");

    if (app_job_read_memory(text ? text : "1GB", out, e) < 0)
        return err_wrap(e, "--memory");
    return 0;
}
