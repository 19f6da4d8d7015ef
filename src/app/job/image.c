/* Checks before anything starts that this machine can run containers and make mounts. submit.c and
 * the operations of runs call it. */
#include "app/job/image.h"

#include "base/buf.h"
#include "broker/core/program.h"
#include "spec/image.h"

#include <string.h>

#define OUTPUT_MAX 65536

const char *app_job_image_read(const char *text, const char *spelled, struct err *e)
{
    const char *name = strncmp(text, "docker:", 7) == 0 ? text + 7 : text;

    if (spec_is_image(name))
        return name;
    err_set(e, ERR_USAGE, "%s %.60s: is not the name of a container image", spelled, text);
    return NULL;
}

/* 1: it ended well; 0: there is none; -1 and e; 2: it failed, run says how. */
static int ask(const char *const *argv, struct program_run *run, struct err *e)
{
    AUTO_CLEAR(buf) struct buf out;

    buf_init(&out, OUTPUT_MAX);
    *run = (struct program_run){.argv = argv, .out = &out};
    int ran = program_run(run, e);
    run->out = NULL;
    return ran <= 0 ? ran : run->status == 0 ? 1 : 2;
}

int app_job_check_image(const char *image, struct err *e)
{
    static const char *const podman[] = {"podman", "--version", NULL};
    static const char *const docker[] = {"docker", "info", "--format", "{{.SecurityOptions}}",
                                         NULL};
    struct program_run run;

    int found = ask(podman, &run, e);
    if (found < 0 || found == 1)
        return found < 0 ? -1 : 0;
    found = ask(docker, &run, e);
    if (found < 0 || found == 1)
        return found < 0 ? -1 : 0;
    if (found == 0)
        return err_set(e, ERR_NOFIT,
                       "image %.100s: it needs podman or docker, and neither is installed on this "
                       "machine: install podman",
                       image);
    return err_set(e, ERR_NOFIT,
                   "image %.100s: podman is not installed on this machine, and docker fails: %s",
                   image, run.complaint);
}

int app_job_check_mounts(struct err *e)
{
    static const char *const bwrap[] = {"bwrap", "--dev-bind", "/", "/", "true", NULL};
    struct program_run run;

    int found = ask(bwrap, &run, e);
    if (found < 0 || found == 1)
        return found < 0 ? -1 : 0;
    if (found == 0)
        return err_set(e, ERR_NOFIT,
                       "file_mounts need bubblewrap, which is not installed on this machine: "
                       "install the package bubblewrap (bwrap)");
    return err_set(e, ERR_NOFIT,
                   "file_mounts need bubblewrap, and it cannot make mounts on this machine: %s",
                   run.complaint);
}
