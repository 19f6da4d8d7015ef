#include "cloud/kept.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int launch_locked(struct cloud *c,
                         const struct cloud_request *request,
                         struct cloud_machine *out,
                         struct cloud_trouble *trouble,
                         struct err *e)
{
    struct kept *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);
    const struct rent *known = rents_find(k->rents, request->token);
    struct rent rent;

    if (known && known->asked != rent_fingerprint(request))
        return cloud_fail(trouble, e, CLOUD_CONFLICT, CLOUD_ACCOUNT,
                          "this token was used for another request: machine %s of %s",
                          known->machine.id, known->machine.owner);
    if (known) {
        rent_look(known, now_ms, out);
        return 0;
    }
    rents_forget(k->rents, now_ms);
    rent_begin(&rent, request, now_ms);
    if (k->rent(c, request, &rent, trouble, e) < 0 || rents_put(k->rents, &rent, e) < 0)
        return -1;
    rent_look(&rent, now_ms, out);
    return 0;
}

int kept_launch(struct cloud *c,
                const struct cloud_request *request,
                struct cloud_machine *out,
                struct cloud_trouble *trouble,
                struct err *e)
{
    struct kept *k = c->priv;

    if (rents_lock(k->rents, e) < 0)
        return -1;
    int result = launch_locked(c, request, out, trouble, e);
    rents_unlock(k->rents);
    return result;
}

/* What a cloud shows of a token, NULL when nothing. */
static const struct rent *find_visible(struct cloud *c, const char *token, int64_t now_ms)
{
    const struct kept *k = c->priv;
    const struct rent *rent = rents_find(k->rents, token);

    return rent && rent_is_visible(rent, now_ms) ? rent : NULL;
}

int kept_look(struct cloud *c,
              const char *token,
              struct cloud_machine *out,
              struct cloud_trouble *trouble,
              struct err *e)
{
    struct kept *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);

    if (rents_lock(k->rents, e) < 0)
        return -1;
    const struct rent *rent = find_visible(c, token, now_ms);
    if (rent)
        rent_look(rent, now_ms, out);
    rents_unlock(k->rents);
    if (!rent)
        return cloud_fail(trouble, e, CLOUD_NOT_FOUND, CLOUD_ACCOUNT,
                          "no machine was rented with this token");
    return 0;
}

int kept_terminate(struct cloud *c, const char *token, struct cloud_trouble *trouble, struct err *e)
{
    struct kept *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);
    int result = 0;

    (void)trouble;
    if (rents_lock(k->rents, e) < 0)
        return -1;
    const struct rent *rent = find_visible(c, token, now_ms);
    if (rent && rent_end_ms(rent, now_ms) == RENT_NEVER) {
        struct rent ended = *rent;
        /* Not before it was launched, should the clock have been set back. */
        ended.machine.ended_ms =
            now_ms > rent->machine.launched_ms ? now_ms : rent->machine.launched_ms;
        ended.gone_ms = ended.machine.ended_ms + k->delete_ms;
        result = rents_put(k->rents, &ended, e);
    }
    rents_unlock(k->rents);
    return result;
}

/* Copies of all that may bill, so that visit may call the cloud. */
static struct cloud_machine *copy_open(struct cloud *c, size_t *n_out)
{
    struct kept *k = c->priv;
    int64_t now_ms = cloud_now_ms(c);
    struct cloud_machine *all = NULL;
    const struct rent *rent;
    size_t n = 0, cap = 0, at = 0;

    while ((rent = rents_next(k->rents, &at, now_ms)))
        if (rent_is_visible(rent, now_ms) && strcmp(rent->machine.owner, c->options.owner) == 0) {
            all = mem_room(all, n, &cap, sizeof *all);
            rent_look(rent, now_ms, &all[n++]);
        }
    *n_out = n;
    return all;
}

int kept_list(struct cloud *c,
              int (*visit)(void *context, const struct cloud_machine *m, struct err *e),
              void *context,
              struct cloud_trouble *trouble,
              struct err *e)
{
    struct kept *k = c->priv;
    size_t n;
    int result = 0;

    (void)trouble;
    if (rents_lock(k->rents, e) < 0)
        return -1;
    AUTO_MEM struct cloud_machine *all = copy_open(c, &n);
    rents_unlock(k->rents);
    for (size_t i = 0; i < n && result == 0; i++)
        result = visit(context, &all[i], e);
    return result < 0 ? -1 : 0;
}

void kept_close(struct cloud *c)
{
    struct kept *k = c->priv;

    if (!k)
        return;
    rents_free(k->rents);
    free(k);
}
