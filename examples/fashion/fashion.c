#include "fashion.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

void fail(enum exit_code code, const char *format, ...)
{
    va_list args;
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit((int)code);
}

_Static_assert(_Alignof(max_align_t) >= sizeof(vec4), "allocate() gives room for vectors");

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        fail(EXIT_MACHINE, "no memory for %zu bytes; --limit of preprocess makes smaller files",
             count * size);
    return memory;
}

void read_options(int argc, char **argv, const char *help, const struct text_option *options)
{
    enum { MAX_OPTIONS = 16, HELP = MAX_OPTIONS };
    struct option known[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, HELP}};
    for (int i = 0; i < MAX_OPTIONS && options[i].name; i++)
        known[i + 1] = (struct option){options[i].name, required_argument, NULL, i};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == '?')
            exit(EXIT_BAD_INPUT); /* getopt_long has said why */
        if (option == HELP) {
            fputs(help, stdout);
            exit(0);
        }
        *options[option].value = optarg;
    }
    if (optind < argc)
        fail(EXIT_BAD_INPUT, "%s: unexpected; --help lists the options", argv[optind]);
}

double number_option(const char *name, const char *text, double min, double max)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= min && value <= max))
        fail(EXIT_BAD_INPUT, "--%s %s: must be a number from %g to %g", name, text, min, max);
    return value;
}

uint32_t count_option(const char *name, const char *text, uint32_t min, uint32_t max)
{
    double value = number_option(name, text, (double)min, (double)max);
    if (value != floor(value))
        fail(EXIT_BAD_INPUT, "--%s %s: must be a whole number", name, text);
    return (uint32_t)value;
}

const char *required_option(const char *name, const char *value)
{
    if (!value || !*value)
        fail(EXIT_BAD_INPUT, "--%s is missing; --help lists the options", name);
    return value;
}

static int write_all(
    const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return -1;
    int good = fwrite(head, 1, head_bytes, file) == head_bytes &&
               fwrite(body, 1, body_bytes, file) == body_bytes && fflush(file) == 0 &&
               fsync(fileno(file)) == 0;
    int why = errno;
    if (fclose(file) != 0)
        return -1;
    errno = why;
    return good ? 0 : -1;
}

int write_file(
    const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
    char part[4096];
    int length = snprintf(part, sizeof part, "%s.part", path);
    if (length < 0 || (size_t)length >= sizeof part)
        errno = ENAMETOOLONG;
    else if (write_all(part, head, head_bytes, body, body_bytes) == 0 && rename(part, path) == 0)
        return 0;
    fprintf(stderr, "%s: cannot write %s: %s\n", program_invocation_short_name, path,
            strerror(errno));
    unlink(part);
    return -1;
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}

/* Every file: this header, in the byte order of the machine, then the payload. */
struct header {
    char kind[8];
    uint32_t count;    /* images, or hidden units */
    uint32_t checksum; /* CRC-32 of header and payload, with 0 in this place */
    uint64_t payload_bytes;
    struct training training; /* zero for images */
};

static const char images_kind[8] = "fmimage";
static const char model_kind[8] = "fmmodel";

static uint32_t checksum_of(struct header header, const void *payload)
{
    header.checksum = 0;
    uLong head = crc32_z(0, (const Bytef *)&header, sizeof header);
    return (uint32_t)crc32_z(head, payload, header.payload_bytes);
}

static int save(const char *path, const char kind[8], struct header *header, const void *payload)
{
    memcpy(header->kind, kind, sizeof header->kind);
    header->checksum = checksum_of(*header, payload);
    return write_file(path, header, sizeof *header, payload, header->payload_bytes);
}

/* The header, once the file is as long as it says. */
static void load_header(FILE *file, const char *path, const char kind[8], struct header *header)
{
    struct stat status;
    if (fread(header, sizeof *header, 1, file) != 1 ||
        memcmp(header->kind, kind, sizeof header->kind) != 0)
        fail(EXIT_BAD_INPUT, "%s: is no file of %s made by %s on this kind of machine", path,
             kind == model_kind ? "a model" : "images",
             kind == model_kind ? "train" : "preprocess");
    if (fstat(fileno(file), &status) != 0)
        fail(EXIT_MACHINE, "%s: %s", path, strerror(errno));
    uint64_t payload_bytes = (uint64_t)status.st_size - sizeof *header;
    if (payload_bytes != header->payload_bytes)
        fail(EXIT_BAD_INPUT,
             "%s: holds %" PRIu64 " bytes where its header says %" PRIu64 ": cut or damaged", path,
             payload_bytes, header->payload_bytes);
}

static FILE *open_to_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(EXIT_BAD_INPUT, "%s: %s", path, strerror(errno));
    return file;
}

static void load_payload(FILE *file, const char *path, const struct header *header, void *payload)
{
    if (fread(payload, 1, header->payload_bytes, file) != header->payload_bytes)
        fail(EXIT_BAD_INPUT, "%s: cannot be read to its end", path);
    if (checksum_of(*header, payload) != header->checksum)
        fail(EXIT_BAD_INPUT, "%s: is damaged: its checksum does not agree", path);
    fclose(file);
}

static size_t images_bytes(uint32_t count)
{
    return (size_t)count * (IMAGE_PIXELS + 1);
}

void images_init(struct images *images, uint32_t count)
{
    images->count = count;
    images->checksum = 0;
    images->pixels = allocate(images_bytes(count), 1);
    images->labels = images->pixels + (size_t)count * IMAGE_PIXELS;
}

void images_clear(struct images *images)
{
    free(images->pixels);
    *images = (struct images){0};
}

static void check_labels(const struct images *images, const char *path)
{
    for (uint32_t i = 0; i < images->count; i++)
        if (images->labels[i] >= CLASSES)
            fail(EXIT_BAD_INPUT, "%s: image %u has label %u; there are 0 to %d", path, i,
                 images->labels[i], CLASSES - 1);
}

static void check_image_count(uint32_t count, const char *path)
{
    if (count == 0 || count > MAX_IMAGES)
        fail(EXIT_BAD_INPUT, "%s: holds %u images; there must be 1 to %d", path, count, MAX_IMAGES);
}

void images_load(struct images *images, const char *path)
{
    struct header header;
    FILE *file = open_to_read(path);
    load_header(file, path, images_kind, &header);
    check_image_count(header.count, path);
    if (header.payload_bytes != images_bytes(header.count))
        fail(EXIT_BAD_INPUT, "%s: its header is damaged", path);
    images_init(images, header.count);
    load_payload(file, path, &header, images->pixels);
    images->checksum = header.checksum;
    check_labels(images, path);
}

int images_save(const struct images *images, const char *path)
{
    struct header header = {
        .count = images->count,
        .payload_bytes = images_bytes(images->count),
    };
    return save(path, images_kind, &header, images->pixels);
}

/* An idx file: magic (0, 0, type of the values, dimensions), the dimensions, the values. */
struct idx {
    char path[4096];
    gzFile file;
};

static void idx_read(struct idx *idx, void *bytes, size_t size)
{
    int wanted = (int)size; /* MAX_IMAGES keeps it below 2^31 */
    if (gzread(idx->file, bytes, (unsigned)wanted) == wanted)
        return;
    int code;
    const char *text = gzerror(idx->file, &code);
    fail(EXIT_BAD_INPUT, "%s: cut or damaged: %s", idx->path,
         code == Z_OK || code == Z_STREAM_END ? "it ends too early" : text);
}

static uint32_t idx_number(struct idx *idx)
{
    uint8_t bytes[4];
    idx_read(idx, bytes, sizeof bytes);
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void idx_open(struct idx *idx, const char *directory, const char *name, uint32_t magic)
{
    int length = snprintf(idx->path, sizeof idx->path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof idx->path)
        fail(EXIT_BAD_INPUT, "%s: the path is too long", directory);
    idx->file = gzopen(idx->path, "rb");
    if (!idx->file)
        fail(EXIT_BAD_INPUT, "%s: %s", idx->path, strerror(errno));
    uint32_t found = idx_number(idx);
    if (found != magic)
        fail(EXIT_BAD_INPUT, "%s: begins with 0x%08x where an idx file of this kind has 0x%08x",
             idx->path, found, magic);
}

/* gzip's checksum stands behind the last byte: only who reads on has checked it. */
static void idx_close(struct idx *idx)
{
    char more;
    int got = gzread(idx->file, &more, 1);
    if (got > 0)
        fail(EXIT_BAD_INPUT, "%s: holds more than its header says", idx->path);
    if (got < 0 || gzclose_r(idx->file) != Z_OK)
        fail(EXIT_BAD_INPUT, "%s: cut or damaged: the gzip checksum does not agree", idx->path);
}

void images_read_idx(struct images *images, const char *directory, const char *name)
{
    struct idx idx;
    char file_name[64];
    snprintf(file_name, sizeof file_name, "%s-images-idx3-ubyte.gz", name);
    idx_open(&idx, directory, file_name, 0x00000803);
    uint32_t count = idx_number(&idx);
    check_image_count(count, idx.path);
    uint32_t rows = idx_number(&idx);
    uint32_t columns = idx_number(&idx);
    if (rows != IMAGE_SIDE || columns != IMAGE_SIDE)
        fail(EXIT_BAD_INPUT, "%s: images of %u x %u pixels; wanted %d x %d", idx.path, rows,
             columns, IMAGE_SIDE, IMAGE_SIDE);
    images_init(images, count);
    idx_read(&idx, images->pixels, (size_t)count * IMAGE_PIXELS);
    idx_close(&idx);

    snprintf(file_name, sizeof file_name, "%s-labels-idx1-ubyte.gz", name);
    idx_open(&idx, directory, file_name, 0x00000801);
    uint32_t labels = idx_number(&idx);
    if (labels != count)
        fail(EXIT_BAD_INPUT, "%s: %u labels for %u images", idx.path, labels, count);
    idx_read(&idx, images->labels, count);
    idx_close(&idx);
    check_labels(images, idx.path);
}

static size_t model_floats(uint32_t hidden)
{
    return (size_t)hidden * (IMAGE_PIXELS + 1 + CLASSES) + CLASSES;
}

void model_init(struct model *model, uint32_t hidden)
{
    model->hidden = hidden;
    model->training = (struct training){0};
    model->in = allocate(model_floats(hidden), sizeof(float));
    model->in_bias = model->in + (size_t)hidden * IMAGE_PIXELS;
    model->out = model->in_bias + hidden;
    model->out_bias = model->out + (size_t)hidden * CLASSES;
}

void model_clear(struct model *model)
{
    free(model->in);
    *model = (struct model){0};
}

void model_load(struct model *model, const char *path)
{
    struct header header;
    FILE *file = open_to_read(path);
    load_header(file, path, model_kind, &header);
    if (header.count == 0 || header.count > MAX_HIDDEN || header.count % HIDDEN_STEP != 0 ||
        header.payload_bytes != model_floats(header.count) * sizeof(float))
        fail(EXIT_BAD_INPUT, "%s: its header is damaged", path);
    model_init(model, header.count);
    model->training = header.training;
    load_payload(file, path, &header, model->in);
}

int model_save(const struct model *model, const char *path)
{
    struct header header = {
        .count = model->hidden,
        .payload_bytes = model_floats(model->hidden) * sizeof(float),
        .training = model->training,
    };
    return save(path, model_kind, &header, model->in);
}

void image_floats(const uint8_t pixels[IMAGE_PIXELS], float floats[IMAGE_PIXELS])
{
    for (int i = 0; i < IMAGE_PIXELS; i++)
        floats[i] = (float)pixels[i] * (1.0F / 255);
}

/* All products of a block of units' weights with a block of images, summed in registers. */
static void dot_block(const float *weights,
                      const float *pixels,
                      float sums[UNIT_BLOCK][IMAGE_BLOCK])
{
    enum { LANES = sizeof(vec4) / sizeof(float), VECTORS = IMAGE_PIXELS / LANES };
    const vec4 *unit = (const vec4 *)weights;
    const vec4 *image = (const vec4 *)pixels;
    vec4 sum[UNIT_BLOCK][IMAGE_BLOCK] = {0};
    for (int v = 0; v < VECTORS; v++)
        for (int u = 0; u < UNIT_BLOCK; u++)
            for (int i = 0; i < IMAGE_BLOCK; i++)
                sum[u][i] += unit[u * VECTORS + v] * image[i * VECTORS + v];
    for (int u = 0; u < UNIT_BLOCK; u++)
        for (int i = 0; i < IMAGE_BLOCK; i++)
            sums[u][i] = (sum[u][i][0] + sum[u][i][1]) + (sum[u][i][2] + sum[u][i][3]);
}

void model_activate(const struct model *model,
                    uint32_t begin,
                    uint32_t end,
                    const float *pixels,
                    uint32_t images,
                    float *hidden)
{
    for (uint32_t unit = begin; unit < end; unit += UNIT_BLOCK) {
        const float *weights = model->in + (size_t)unit * IMAGE_PIXELS;
        for (uint32_t image = 0; image < images; image += IMAGE_BLOCK) {
            float sums[UNIT_BLOCK][IMAGE_BLOCK];
            dot_block(weights, pixels + (size_t)image * IMAGE_PIXELS, sums);
            for (uint32_t u = 0; u < UNIT_BLOCK; u++)
                for (uint32_t i = 0; i < IMAGE_BLOCK; i++)
                    hidden[(size_t)(image + i) * model->hidden + unit + u] =
                        fmaxf(sums[u][i] + model->in_bias[unit + u], 0);
        }
    }
}

void model_scores(const struct model *model, const float *hidden, float scores[CLASSES])
{
    memcpy(scores, model->out_bias, CLASSES * sizeof *scores);
    for (uint32_t unit = 0; unit < model->hidden; unit++)
        for (uint32_t answer = 0; answer < CLASSES; answer++)
            scores[answer] += hidden[unit] * model->out[unit * CLASSES + answer];
}
