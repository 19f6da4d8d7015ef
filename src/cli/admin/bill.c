/* bill: the command that sums up what a month cost. */
#include "app/admin/admin.h"
#include "base/money.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/writer.h"

#include <stdio.h>

#define ANSWER_BYTES ((size_t)256 << 20)

/* ---- text ---- */

struct bill_state {
    struct admin_bill bill;
};

static void take_head(struct operate_text *t, const void *record)
{
    struct bill_state *s = t->state;

    s->bill = *(const struct admin_bill *)record;
    s->bill.month = NULL; /* the operation's */
    fprintf(t->out, "Bill of %s by %s\n\n", ((const struct admin_bill *)record)->month, s->bill.by);
}

static void print_end(struct operate_text *t)
{
    const struct admin_bill *b = &((const struct bill_state *)t->state)->bill;
    char measured[32], modelled[32], sum[32];

    if (t->n_items == 0) {
        fputs("No job or machine of this month has a cost.\n", t->out);
        return;
    }
    fprintf(t->out, "\n%lld job%s%s: %s\n", (long long)b->jobs, b->jobs == 1 ? "" : "s",
            b->machines ? " and machines without a job" : "", money_text(b->microusd, sum));
    fprintf(t->out, "measured %s: time on hosts and machines at their own prices\n",
            money_text(b->measured_microusd, measured));
    fprintf(t->out,
            "modelled %s: run time on this machine at unit prices or at the price of the planned "
            "machine; no invoice is sent for it\n",
            money_text(b->modelled_microusd, modelled));
}

/* ---- FOCUS ---- */

static int put_item(void *context, const void *record, struct err *e)
{
    return writer_item(context, record, e);
}

/* CSV whether or not --csv is given; a month without charges has a header too. */
static int run_focus(const struct command_args *args, struct err *e)
{
    const struct operation *op = &bill_focus_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    if (command_has(args, "--by"))
        return err_set(e, ERR_USAGE, "--focus lists every charge: leave --by out");
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    if (command_has(args, "--json"))
        return operate_call(args, terminal, op, request, NULL, e);
    AUTO(arena) struct arena *arena = arena_new(ANSWER_BYTES);
    AUTO_CLEAR(writer) struct writer w = {0};
    struct answer answer = {.arena = arena, .item = put_item, .context = &w};
    writer_init(&w, WRITER_CSV, NULL, op->item, NULL, false, stdout);
    if (operation_call(operate_app(terminal), op, request, FIELD_AS_OPTION, &answer, e) < 0 ||
        writer_end(&w, e) < 0)
        return -1;
    for (size_t i = 0; w.n_items == 0 && i < op->item->n_fields; i++)
        printf("%s%s", op->item->fields[i].name, i + 1 < op->item->n_fields ? "," : "\n");
    return 0;
}

/* ---- the command ---- */

static int run_bill(const struct command_args *args, struct err *e)
{
    return command_has(args, "--focus")
               ? run_focus(args, e)
               : operate_with(args, &bill_get_operation, args->command->text, e);
}

static const struct command_option options[] = {
    {.name = "--focus",
     .help = "Write every charge as CSV with the columns of FOCUS 1.2, the FinOps Open Cost and "
             "Usage Specification."},
    {0},
};

const struct command command_bill = {
    .name = "bill",
    .summary = "Sum up what the jobs and machines of a month cost",
    .details =
        "A job counts in the month (of UTC) in which it ended, with the cost of its record; one "
        "that still runs counts in the current month, with its cost so far. Simulated machines "
        "cost nothing. Measured is the time on hosts and machines at their own prices, modelled "
        "the run time on this machine at unit prices or at the price of the planned machine.",
    .example = "tradewind bill --month 2026-11 --by user",
    .options = options,
    .operation = &bill_get_operation,
    .text = &(const struct command_text){.head = take_head,
                                         .end = print_end,
                                         .state_size = sizeof(struct bill_state)},
    .run = run_bill,
};
