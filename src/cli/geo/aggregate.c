/* aggregate: the command that averages files of tensors. */
#include "app/geo/geo.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/text.h"

#include <signal.h>
#include <stdint.h>

static void print_aggregated(struct operate_text *t, const void *record)
{
    const struct app_aggregated *a = record;
    char tensors[32], numbers[32], bytes[32], count[32];

    fprintf(t->out, "%s: the %smean of %s file%s", a->out,
            a->weighted  ? "weighted "
            : a->trimmed ? "trimmed "
                         : "",
            text_count((size_t)a->files, count), a->files == 1 ? "" : "s");
    if (a->trimmed)
        fprintf(t->out, " without the %zu smallest and %zu largest of each number",
                (size_t)a->dropped, (size_t)a->dropped);
    fprintf(t->out, "; %s tensor%s, %s number%s, %s\n", text_count((size_t)a->tensors, tensors),
            a->tensors == 1 ? "" : "s", text_count((size_t)a->numbers, numbers),
            a->numbers == 1 ? "" : "s", text_bytes(a->bytes, bytes));
    if (a->copied)
        fprintf(t->out, "%s of the tensors hold%s integers, the same in all files: copied\n",
                text_count((size_t)a->copied, count), a->copied == 1 ? "s" : "");
    if (a->nonfinite)
        fprintf(t->out, "%s of the numbers %s NaN or infinite; --finite refuses that\n",
                text_count((size_t)a->nonfinite, count), a->nonfinite == 1 ? "is" : "are");
}

static const struct command_text text = {.head = print_aggregated};

/* A limit on file sizes is an error like a full disk. */
static int run(const struct command_args *args, struct err *e)
{
    signal(SIGXFSZ, SIG_IGN);
    return operate_run(args, e);
}

const struct command command_aggregate = {
    .name = "aggregate",
    .operands = "FILE...",
    .summary = "Average files of tensors, number by number",
    .details =
        "Averages files of safetensors (.safetensors), NumPy arrays (.npy) or plain little-endian "
        "numbers (.f64, .f32, .f16, .bf16), all of one format. Tensors are matched by name; types "
        "and shapes must agree. The result is a file like the first, with its metadata. Integers "
        "are copied when all files agree on them.\n"
        "\n"
        "Sums are made in double precision, in the order of the files, and rounded once: the "
        "result is the same to the bit on any number of cores. A trimmed mean resists a few "
        "wrong files: --trim 0.1 of 20 files drops the 2 smallest and the 2 largest of each "
        "number, and NaN is larger than all.\n"
        "\n"
        "Nothing is written unless all of it is. An error names the file that is damaged or does "
        "not match the first.",
    .example = "tradewind aggregate --out mean.safetensors --weights 600,150 a.safetensors "
               "b.safetensors",
    .operation = &aggregate_operation,
    .text = &text,
    .is_long = true,
    .run = run,
};
