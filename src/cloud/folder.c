/* The functions that the drivers pool and sim share: clouds whose state is a folder of the
 * home. priv of such a cloud begins with a struct cloud_folder. */
#include "base/mem.h"
#include "cloud/driver.h"

#include <stdlib.h>
#include <string.h>

static int launch_locked(struct cloud *c,
                         const struct cloud_request *request,
                         struct cloud_machine *out,
                         struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);
    const struct instance *known = instances_find(k->instances, request->token);
    struct instance instance;

    if (known && known->asked != instance_fingerprint(request))
        return cloud_fail(e, CLOUD_CONFLICT, CLOUD_ACCOUNT,
                          "this token was used for another request: machine %s of %s",
                          known->machine.id, known->machine.owner);
    if (known) {
        instance_look(known, now_ms, out);
        return 0;
    }
    instances_forget(k->instances, now_ms);
    instance_begin(&instance, request, now_ms);
    if (k->provision(c, request, &instance, e) < 0 ||
        instances_put(k->instances, &instance, &e->err) < 0)
        return -1;
    instance_look(&instance, now_ms, out);
    return 0;
}

int cloud_folder_launch(struct cloud *c,
                        const struct cloud_request *request,
                        struct cloud_machine *out,
                        struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;

    if (instances_lock(k->instances, &e->err) < 0)
        return -1;
    int result = launch_locked(c, request, out, e);
    instances_unlock(k->instances);
    return result;
}

/* What a cloud shows of a token, NULL when nothing. */
static const struct instance *find_visible(struct cloud *c, const char *token, int64_t now_ms)
{
    const struct cloud_folder *k = c->priv;
    const struct instance *instance = instances_find(k->instances, token);

    return instance && instance_is_visible(instance, now_ms) ? instance : NULL;
}

int cloud_folder_look(struct cloud *c,
                      const char *token,
                      struct cloud_machine *out,
                      struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);

    if (instances_lock(k->instances, &e->err) < 0)
        return -1;
    const struct instance *instance = find_visible(c, token, now_ms);
    if (instance)
        instance_look(instance, now_ms, out);
    instances_unlock(k->instances);
    if (!instance)
        return cloud_fail(e, CLOUD_NOT_FOUND, CLOUD_ACCOUNT,
                          "no machine was launched with this token");
    return 0;
}

int cloud_folder_terminate(struct cloud *c, const char *token, struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);
    int result = 0;

    if (instances_lock(k->instances, &e->err) < 0)
        return -1;
    const struct instance *instance = find_visible(c, token, now_ms);
    if (instance && instance_end_ms(instance, now_ms) == INSTANCE_NEVER) {
        struct instance ended = *instance;
        /* Not before it was launched, should the clock have been set back. */
        ended.machine.ended_ms =
            now_ms > instance->machine.launched_ms ? now_ms : instance->machine.launched_ms;
        ended.gone_ms = ended.machine.ended_ms + k->delete_ms;
        result = instances_put(k->instances, &ended, &e->err);
    }
    instances_unlock(k->instances);
    return result;
}

/* Copies of all that may bill, so that visit may call the cloud. */
static struct cloud_machine *copy_open(struct cloud *c, size_t *n_out)
{
    struct cloud_folder *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);
    struct cloud_machine *all = NULL;
    const struct instance *instance;
    size_t n = 0, cap = 0, at = 0;

    while ((instance = instances_next(k->instances, &at, now_ms)))
        if (instance_is_visible(instance, now_ms) &&
            strcmp(instance->machine.owner, c->options.owner) == 0) {
            all = mem_room(all, n, &cap, sizeof *all);
            instance_look(instance, now_ms, &all[n++]);
        }
    *n_out = n;
    return all;
}

int cloud_folder_list(struct cloud *c, cloud_visit *visit, void *context, struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;
    size_t n;
    int result = 0;

    if (instances_lock(k->instances, &e->err) < 0)
        return -1;
    AUTO_MEM struct cloud_machine *all = copy_open(c, &n);
    instances_unlock(k->instances);
    for (size_t i = 0; i < n && result == 0; i++)
        result = visit(context, &all[i], &e->err);
    return result < 0 ? -1 : 0;
}

void cloud_folder_close(struct cloud *c)
{
    struct cloud_folder *k = c->priv;

    if (!k)
        return;
    instances_free(k->instances);
    free(k);
}
