/* aggregate: the mean of files of tensors, for federated and data-parallel training. `tradewind
 * aggregate` calls it. */
#include "app/geo/geo.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/parallel.h"
#include "fed/average.h"
#include "view/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
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
/* Bytes of all files from which on processes read them in place; less is not worth the forks. The
 * system does not map more files than this. */
#define IN_PLACE_BYTES ((uint64_t)32 << 20)
#define IN_PLACE_FILES 10000
#define LARGE_PAGE ((size_t)2 << 20)
/* Bytes of the output that are written out at a time. */
#define WRITE_OUT_BYTES ((uint64_t)4 << 20)

/* ---- inputs ---- */

struct input {
    int fd;
    const char *path;
    struct stat was;
    char *map; /* the whole file; NULL = not mapped */
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

    (void)n; /* the whole file is mapped */
    return f->map ? f->map + offset : NULL;
}

/* Pages that were read would otherwise count as memory of this process. Whole large pages, which
 * the system may have mapped, and one on either side, as it maps pages around those that are read;
 * pages that a neighbouring piece needs come back at once. */
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

/* A limited address space is needed for the work itself. */
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
    /* Opening a pipe without a writer must not wait. */
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 && errno == ENOENT)
        return err_set(e, ERR_NOTFOUND, "there is no file %s", path);
    if (f->fd < 0 && errno == EMFILE)
        return err_set(e, ERR_IO,
                       "open %s: all inputs are open at once, and this process may open %ld files: "
                       "allow more (ulimit -Hn), or average groups of them, and then their means "
                       "with weights",
                       path, sysconf(_SC_OPEN_MAX));
    if (f->fd < 0)
        return file_error(e, "open", path);
    in->sources[in->n] = (struct fed_source){
        .name = path, .read = read_input, .view = view_input, .leave = leave_input, .context = f};
    in->n++;
    if (fstat(f->fd, &f->was) < 0)
        return file_error(e, "look at", path);
    if (!S_ISREG(f->was.st_mode))
        return err_set(e, ERR_USAGE, "%s is not a regular file", path);
    in->sources[in->n - 1].size = (uint64_t)f->was.st_size;
    in->bytes += (uint64_t)f->was.st_size;
    posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

/* All inputs are open at once. The usual limit is 1,024, and every process may raise it. */
static void allow_open_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_inputs(struct inputs *in, const struct field_list *files, struct err *e)
{
    in->files = mem_zero(files->n, sizeof *in->files);
    in->sources = mem_zero(files->n, sizeof *in->sources);
    allow_open_files();
    for (size_t i = 0; i < files->n; i++)
        if (open_input(in, files->items[i], e) < 0)
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

/* Fails at once when the disk is too small. */
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
    /* A hint: the disk writes during the sums, and less is left for the end. */
    if (write_out)
        sync_file_range(o->draft.fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

/* Durable afterwards, so that the inputs may be deleted. */
static int keep_output(struct output *o, struct err *e)
{
    if (file_draft_keep(&o->draft, e) < 0)
        return -1;
    AUTO_MEM char *path = mem_dup(o->draft.target);
    return file_sync_dir(dirname(path), e);
}

/* ---- the request ---- */

struct request {
    struct field_list files;
    const char *out, *weights;
    double trim; /* NAN = none */
    bool finite;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"files", FIELD(LIST, struct request, files), .required = true, .operand = true,
     .is_local = true, .help = "Files to average, all of one format."},
    {"out", FIELD(TEXT, struct request, out), .value = "FILE", .is_local = true,
     .help = "File for the mean; replaced as a whole."},
    {"weights", FIELD(TEXT, struct request, weights), .value = "LIST",
     .help = "Weight of each file, as its number of samples, with commas between them."},
    {"trim", FIELD(REAL, struct request, trim), .value = "SHARE",
     .help = "Of each number, drop this share of the files at either end, smallest and largest."},
    {"finite", FIELD(BOOL, struct request, finite),
     .help = "Refuse NaN and infinite numbers, and name them."},
};
/* clang-format on */

static int choose_format(const struct request *q,
                         const struct answer *answer,
                         enum fed_format *out,
                         struct err *e)
{
    char option[64];
    enum fed_format other;

    for (size_t i = 0; i < q->files.n; i++) {
        const char *path = q->files.items[i];
        if (!fed_format_from_path(path, &other))
            return err_set(e, ERR_USAGE,
                           "%s: its name ends in none of .safetensors, .npy, .f64, .f32, .f16, "
                           ".bf16",
                           path);
        if (i && other != *out)
            return err_set(e, ERR_USAGE, "%s and %s are of different formats", q->files.items[0],
                           path);
        *out = other;
    }
    if (!q->out)
        return err_set(e, ERR_USAGE, "%s names the file for the mean, as in mean%s",
                       answer_spell(answer, "out", option), fed_format_suffix(*out));
    if (fed_format_from_path(q->out, &other) && other != *out)
        return err_set(e, ERR_USAGE, "%s %s: the mean of %s files is one, too",
                       answer_spell(answer, "out", option), q->out, fed_format_suffix(*out));
    return 0;
}

static int read_weights(const struct request *q,
                        const struct answer *answer,
                        double **out,
                        struct err *e)
{
    char option[64];
    const char *at = q->weights;
    double *weights;
    size_t n = 0;

    if (!at)
        return 0;
    *out = weights = mem_zero(q->files.n, sizeof *weights);
    for (;; at++) {
        double v;
        if (!number_prefix(at, &at, &v) || v < 0 || (*at && *at != ','))
            return err_set(e, ERR_USAGE,
                           "%s %s: numbers from 0 up with commas between them, as in 600,150",
                           answer_spell(answer, "weights", option), q->weights);
        if (n < q->files.n)
            weights[n] = v;
        n++;
        if (!*at)
            break;
    }
    if (n != q->files.n)
        return err_set(e, ERR_USAGE, "%s: %zu for %zu files",
                       answer_spell(answer, "weights", option), n, q->files.n);
    return 0;
}

static int read_request(const struct request *q,
                        const struct answer *answer,
                        struct fed_average *a,
                        double **weights,
                        struct err *e)
{
    char trim[64], other[64];

    a->n = q->files.n;
    a->only_finite = q->finite;
    if (choose_format(q, answer, &a->format, e) < 0 || read_weights(q, answer, weights, e) < 0)
        return -1;
    a->weights = *weights;
    a->trim = isnan(q->trim) ? 0 : q->trim;
    if (!(a->trim >= 0 && a->trim < 0.5))
        return err_set(e, ERR_USAGE, "%s: a share from 0 up and below 0.5, as in 0.1",
                       answer_spell(answer, "trim", trim));
    if (a->weights && !isnan(q->trim))
        return err_set(e, ERR_USAGE,
                       "%s and %s: a trimmed mean has no weights, every file counts once",
                       answer_spell(answer, "trim", trim), answer_spell(answer, "weights", other));
    return 0;
}

/* ---- the operation ---- */

/* clang-format off */
#define AGGREGATED(TYPE, member) FIELD(TYPE, struct app_aggregated, member)
static const struct field aggregated_fields[] = {
    {"out", AGGREGATED(TEXT, out), .help = "File with the mean."},
    {"files", AGGREGATED(COUNT, files), .help = "Number of files."},
    {"weighted", AGGREGATED(BOOL, weighted), .help = "Whether files had weights."},
    {"dropped_each_end", AGGREGATED(COUNT, dropped),
     .help = "Files dropped at either end, of each number."},
    {"tensors", AGGREGATED(COUNT, tensors), .help = "Number of tensors."},
    {"tensors_copied", AGGREGATED(COUNT, copied),
     .help = "Tensors of integers, the same in all files."},
    {"numbers", AGGREGATED(COUNT, numbers), .help = "Numbers averaged."},
    {"numbers_not_finite", AGGREGATED(COUNT, nonfinite), .help = "NaN and infinite numbers."},
    {"size_bytes", AGGREGATED(BYTES, bytes), .unit = "bytes", .help = "Size of the mean."},
    {"trimmed", AGGREGATED(BOOL, trimmed), .help = "Whether the mean is trimmed."},
};
/* clang-format on */

static size_t piece_bytes(uint64_t file_bytes, bool in_place)
{
    size_t most = in_place ? PIECE_BYTES_IN_PLACE : PIECE_BYTES_COPIED;
    uint64_t share = file_bytes / (PIECES_PER_CORE * parallel_cores()) / 8 * 8;

    return share < PIECE_BYTES_LEAST ? PIECE_BYTES_LEAST : share > most ? most : (size_t)share;
}

static bool tell(void *context, uint64_t done, uint64_t all)
{
    const struct app *app = context;
    char some[32], total[32];

    app_status(app, "averaging %s of %s", text_bytes(done, some), text_bytes(all, total));
    return !app_cancelled(app);
}

static int run(struct app *app, const void *request, struct answer *answer, struct err *e)
{
    const struct request *q = request;
    AUTO_MEM double *weights = NULL;
    AUTO_CLEAR(inputs) struct inputs in = {0};
    AUTO_CLEAR(output) struct output out = {.path = q->out};
    const struct fed_sink sink = {begin_output, write_output, &out};
    struct fed_average a = {.progress = tell, .context = app};
    struct fed_summary s;

    if (read_request(q, answer, &a, &weights, e) < 0 || open_inputs(&in, &q->files, e) < 0)
        return -1;
    a.inputs = in.sources;
    a.forked = in.bytes >= IN_PLACE_BYTES && may_map();
    a.piece_bytes = piece_bytes(in.sources[0].size, a.forked);
    if (a.forked)
        map_inputs(&in);
    if (fed_average(&a, &sink, &s, e) < 0 || check_unchanged(&in, e) < 0 ||
        keep_output(&out, e) < 0)
        return -1;
    const struct app_aggregated done = {.out = q->out,
                                        .files = a.n,
                                        .weighted = a.weights != NULL,
                                        .dropped = s.dropped,
                                        .tensors = s.tensors,
                                        .copied = s.copied,
                                        .numbers = s.numbers,
                                        .nonfinite = s.nonfinite,
                                        .bytes = s.bytes,
                                        .trimmed = a.trim > 0};
    return answer_head(answer, &done, e);
}

const struct operation aggregate_operation = {
    .name = "aggregate",
    .summary = "Average files of tensors, number by number.",
    .role = APP_VIEWER,
    .effect = OPERATION_WRITES,
    REQUEST(struct request, request_fields),
    .answer = RECORD_AT("aggregated", struct app_aggregated, aggregated_fields),
    .run = run,
};
