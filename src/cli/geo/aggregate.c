/* aggregate: the mean of files of tensors, for federated and data-parallel training. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/parallel.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/progress.h"
#include "fed/average.h"
#include "view/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of each file at a time: smaller ones cost calls, and with larger ones the sums leave the
 * processor's caches, sooner where there are copies beside them. Every core should have a few. */
#define PIECE_BYTES_IN_PLACE ((size_t)1 << 20)
#define PIECE_BYTES_COPIED ((size_t)256 << 10)
#define PIECE_BYTES_LEAST ((size_t)128 << 10)
#define PIECES_PER_CORE 4
/* Files together from which on processes look at them where they lie; less is not worth it. Of more
 * files than this the system would not map all. */
#define IN_PLACE_BYTES ((uint64_t)32 << 20)
#define IN_PLACE_FILES 10000
#define LARGE_PAGE ((size_t)2 << 20)
/* The disk is given so much of the output at a time. */
#define WRITE_OUT_BYTES ((uint64_t)4 << 20)

/* ---- inputs ---- */

struct input {
    int fd;
    const char *path;
    struct stat was;
    char *map; /* all of it; NULL = not to be had so */
};

struct inputs {
    struct input *files;
    struct fed_source *sources;
    size_t n;
    uint64_t bytes;
};

static void inputs_clear(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++) {
        if (in->files[i].map)
            munmap(in->files[i].map, (size_t)in->files[i].was.st_size);
        close(in->files[i].fd);
    }
    free(in->files);
    free(in->sources);
}

static int read_input(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct input *f = context;
    ssize_t got = file_pread_all(f->fd, bytes, n, offset);

    if (got < 0)
        return file_error(e, "read", f->path);
    if ((size_t)got < n)
        return err_set(e, ERR_RETRY, "%s was cut while it was read; try again", f->path);
    return 0;
}

static const void *view_input(void *context, uint64_t offset, size_t n)
{
    const struct input *f = context;

    (void)n; /* as much as anybody asks for */
    return f->map ? f->map + offset : NULL;
}

/* Else all that was looked at would count as our memory. Whole large pages, which may be what the
 * system has mapped, and one on either side, as it maps some pages around those that are looked at;
 * what a neighbouring piece needs of them comes back at once. */
static void leave_input(void *context, uint64_t offset, size_t n)
{
    const struct input *f = context;
    size_t begin = (size_t)offset / LARGE_PAGE * LARGE_PAGE;
    size_t end = ((size_t)offset + n + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE + LARGE_PAGE;

    if (begin > 0)
        begin -= LARGE_PAGE;
    if (end > (size_t)f->was.st_size)
        end = (size_t)f->was.st_size;
    madvise(f->map + begin, end - begin, MADV_DONTNEED);
}

/* Where room for maps is limited, the work itself needs it. */
static bool may_map(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

static void map_inputs(struct inputs *in)
{
    for (size_t i = 0; in->n <= IN_PLACE_FILES && i < in->n; i++) {
        struct input *f = &in->files[i];
        void *map = f->was.st_size
                        ? mmap(NULL, (size_t)f->was.st_size, PROT_READ, MAP_SHARED, f->fd, 0)
                        : MAP_FAILED;
        f->map = map == MAP_FAILED ? NULL : map;
    }
}

static int open_input(struct inputs *in, const char *path, struct err *e)
{
    struct input *f = &in->files[in->n];

    *f = (struct input){.path = path};
    /* A pipe without a writer must not keep us waiting. */
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 && errno == ENOENT)
        return err_set(e, ERR_NOTFOUND, "there is no file %s", path);
    if (f->fd < 0 && errno == EMFILE)
        return err_set(e, ERR_IO,
                       "open %s: all inputs are open at once, and this process may open %ld files: "
                       "allow more (ulimit -Hn), or average groups of them, and their means with "
                       "--weights",
                       path, sysconf(_SC_OPEN_MAX));
    if (f->fd < 0)
        return file_error(e, "open", path);
    in->sources[in->n] = (struct fed_source){
        .name = path, .read = read_input, .view = view_input, .leave = leave_input, .context = f};
    in->n++;
    if (fstat(f->fd, &f->was) < 0)
        return file_error(e, "look at", path);
    if (!S_ISREG(f->was.st_mode))
        return err_set(e, ERR_USAGE, "%s is no regular file", path);
    in->sources[in->n - 1].size = (uint64_t)f->was.st_size;
    in->bytes += (uint64_t)f->was.st_size;
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

/* All inputs are open at once; the usual limit is 1,024, and every process may raise it. */
static void allow_open_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_inputs(struct inputs *in, const struct command_args *args, struct err *e)
{
    in->files = mem_zero(args->n_operands, sizeof *in->files);
    in->sources = mem_zero(args->n_operands, sizeof *in->sources);
    allow_open_files();
    for (size_t i = 0; i < args->n_operands; i++)
        if (open_input(in, args->operands[i], e) < 0)
            return -1;
    return 0;
}

static int check_unchanged(const struct inputs *in, struct err *e)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct input *f = &in->files[i];
        struct stat is;
        if (fstat(f->fd, &is) < 0)
            return file_error(e, "look at", f->path);
        if (is.st_size != f->was.st_size || is.st_mtim.tv_sec != f->was.st_mtim.tv_sec ||
            is.st_mtim.tv_nsec != f->was.st_mtim.tv_nsec)
            return err_set(e, ERR_RETRY, "%s changed while it was read; try again", f->path);
    }
    return 0;
}

/* ---- the output ---- */

struct output {
    const char *path;
    struct file_draft draft;
    _Atomic uint64_t written; /* bytes */
};

static void output_clear(struct output *o)
{
    file_draft_clear(&o->draft);
}

/* A disk that is too small says so here. */
static int begin_output(void *context, uint64_t size, struct err *e)
{
    struct output *o = context;

    if (file_draft_open(&o->draft, o->path, 0666, e) < 0)
        return -1;
    if (size && fallocate(o->draft.fd, 0, 0, (off_t)size) < 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
        return file_error(e, "write", o->path);
    return 0;
}

static int write_output(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    struct output *o = context;
    uint64_t before = atomic_fetch_add(&o->written, n);
    bool write_out = before / WRITE_OUT_BYTES < (before + n) / WRITE_OUT_BYTES;

    if (file_pwrite_all(o->draft.fd, bytes, n, offset) < 0)
        return file_error(e, "write", o->path);
    /* The disk writes while we add: less is left to wait for in the end. No more than a hint. */
    if (write_out)
        sync_file_range(o->draft.fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

/* Once it is there it stays, whatever happens to the machine: the inputs may be deleted then. */
static int keep_output(struct output *o, struct err *e)
{
    if (file_draft_keep(&o->draft, e) < 0)
        return -1;
    AUTO_MEM char *path = mem_dup(o->draft.target);
    return file_sync_dir(dirname(path), e);
}

/* ---- what is asked for ---- */

static int choose_format(const struct command_args *args, enum fed_format *out, struct err *e)
{
    enum fed_format other;

    for (size_t i = 0; i < args->n_operands; i++) {
        const char *path = args->operands[i];
        if (!fed_format_from_path(path, &other))
            return err_set(e, ERR_USAGE,
                           "%s: its name ends in none of .safetensors, .npy, .f64, .f32, .f16, "
                           ".bf16",
                           path);
        if (i && other != *out)
            return err_set(e, ERR_USAGE, "%s and %s are of different formats", args->operands[0],
                           path);
        *out = other;
    }
    const char *to = command_value(args, "--out");
    if (!to)
        return err_set(e, ERR_USAGE, "--out says where the mean goes, as in --out mean%s",
                       fed_format_suffix(*out));
    if (fed_format_from_path(to, &other) && other != *out)
        return err_set(e, ERR_USAGE, "--out %s: the mean of %s files is one, too", to,
                       fed_format_suffix(*out));
    return 0;
}

static int read_weights(const struct command_args *args, double **out, struct err *e)
{
    const char *text = command_value(args, "--weights"), *at = text;
    double *weights;
    size_t n = 0;

    if (!text)
        return 0;
    *out = weights = mem_zero(args->n_operands, sizeof *weights);
    for (;; at++) {
        double v;
        if (!number_prefix(at, &at, &v) || v < 0 || (*at && *at != ','))
            return err_set(
                e, ERR_USAGE,
                "--weights %s: numbers from 0 up with commas between them, as in 600,150", text);
        if (n < args->n_operands)
            weights[n] = v;
        n++;
        if (!*at)
            break;
    }
    if (n != args->n_operands)
        return err_set(e, ERR_USAGE, "--weights: %zu for %zu files", n, args->n_operands);
    return 0;
}

static int read_asked(const struct command_args *args,
                      struct fed_average *a,
                      double **weights,
                      struct err *e)
{
    a->n = args->n_operands;
    a->only_finite = command_has(args, "--finite");
    if (choose_format(args, &a->format, e) < 0 || read_weights(args, weights, e) < 0 ||
        command_number(args, "--trim", &a->trim, e) < 0)
        return -1;
    a->weights = *weights;
    if (!(a->trim >= 0 && a->trim < 0.5))
        return err_set(e, ERR_USAGE, "--trim: a share from 0 up and below 0.5, as in 0.1");
    if (a->weights && command_has(args, "--trim"))
        return err_set(e, ERR_USAGE,
                       "--trim and --weights: a trimmed mean has no weights, every file counts "
                       "once");
    return 0;
}

/* ---- what came of it ---- */

static void print_text(const struct fed_average *a, const struct fed_summary *s, const char *out)
{
    char tensors[32], numbers[32], bytes[32], count[32];

    printf("%s: the %smean of %s file%s", out,
           a->weights    ? "weighted "
           : a->trim > 0 ? "trimmed "
                         : "",
           text_count(a->n, count), a->n == 1 ? "" : "s");
    if (a->trim > 0)
        printf(" without the %zu smallest and %zu largest of each number", s->dropped, s->dropped);
    printf("; %s tensor%s, %s number%s, %s\n", text_count(s->tensors, tensors),
           s->tensors == 1 ? "" : "s", text_count((size_t)s->numbers, numbers),
           s->numbers == 1 ? "" : "s", text_bytes(s->bytes, bytes));
    if (s->copied)
        printf("%s of the tensors hold%s integers, the same in all files: copied\n",
               text_count(s->copied, count), s->copied == 1 ? "s" : "");
    if (s->nonfinite)
        printf("%s of the numbers %s NaN or infinite; --finite refuses that\n",
               text_count((size_t)s->nonfinite, count), s->nonfinite == 1 ? "is" : "are");
}

static int print_json(const struct fed_average *a,
                      const struct fed_summary *s,
                      const char *out,
                      struct err *e)
{
    AUTO_JSON json_t *root =
        json_pack("{s:o, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "out", json_text(out), "files",
                  (json_int_t)a->n, "weighted", a->weights != NULL, "dropped_each_end",
                  (json_int_t)s->dropped, "tensors", (json_int_t)s->tensors, "tensors_copied",
                  (json_int_t)s->copied, "numbers", (json_int_t)s->numbers, "numbers_not_finite",
                  (json_int_t)s->nonfinite, "size_bytes", (json_int_t)s->bytes);

    return json_write(stdout, root, e);
}

static size_t piece_bytes(uint64_t file_bytes, bool in_place)
{
    size_t most = in_place ? PIECE_BYTES_IN_PLACE : PIECE_BYTES_COPIED;
    uint64_t share = file_bytes / (PIECES_PER_CORE * parallel_cores()) / 8 * 8;

    return share < PIECE_BYTES_LEAST ? PIECE_BYTES_LEAST : share > most ? most : (size_t)share;
}

static bool tell(void *context, uint64_t done, uint64_t all)
{
    struct progress *line = context;
    char some[32], total[32];

    if (line->terminal)
        progress_show(line, "averaging %s of %s", text_bytes(done, some), text_bytes(all, total));
    return !interrupt_seen();
}

static int run_aggregate(const struct command_args *args, struct err *e)
{
    struct progress line;
    AUTO_MEM double *weights = NULL;
    AUTO_CLEAR(inputs) struct inputs in = {0};
    AUTO_CLEAR(output) struct output out = {.path = command_value(args, "--out")};
    const struct fed_sink sink = {begin_output, write_output, &out};
    struct fed_average a = {.progress = tell, .context = &line};
    struct fed_summary summary;

    if (read_asked(args, &a, &weights, e) < 0 || open_inputs(&in, args, e) < 0)
        return -1;
    a.inputs = in.sources;
    a.forked = in.bytes >= IN_PLACE_BYTES && may_map();
    a.piece_bytes = piece_bytes(in.sources[0].size, a.forked);
    if (a.forked)
        map_inputs(&in);
    progress_init(&line, stderr);
    interrupt_watch();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
    int result = fed_average(&a, &sink, &summary, e);
    progress_clear(&line);
    if (result < 0 || check_unchanged(&in, e) < 0 || keep_output(&out, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return print_json(&a, &summary, out.path, e);
    print_text(&a, &summary, out.path);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--out", .value = "FILE", .help = "Where the mean goes; replaced as a whole."},
    {.name = "--weights",
     .value = "LIST",
     .help = "What each file counts, as its number of samples, with commas between them."},
    {.name = "--trim",
     .value = "SHARE",
     .help = "Of each number, drop this share of the files at either end, smallest and largest."},
    {.name = "--finite", .help = "Refuse NaN and infinite numbers, and say where they are."},
    {.name = "--json", .help = "Print what was averaged as one object."},
    {0},
};

const struct command command_aggregate = {
    .name = "aggregate",
    .operands = "FILE...",
    .summary = "Average files of tensors, number by number",
    .details =
        "Files of safetensors (.safetensors), NumPy arrays (.npy) or plain little-endian numbers "
        "(.f64, .f32, .f16, .bf16), all of one format. Tensors are matched by name; types and "
        "shapes must agree. The result is a file like the first, with its metadata. Integers are "
        "copied when all files agree on them.\n"
        "\n"
        "Sums are made in double precision, in the order of the files, and rounded once: the "
        "result is the same to the bit on any number of cores. A trimmed mean resists a few "
        "wrong files: --trim 0.1 of 20 files drops the 2 smallest and the 2 largest of each "
        "number, and NaN is larger than all.\n"
        "\n"
        "Nothing is written unless all of it is: a file that is damaged, or does not match the "
        "first, is named.",
    .example = "tradewind aggregate --out mean.safetensors --weights 600,150 a.safetensors "
               "b.safetensors",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_aggregate,
};
