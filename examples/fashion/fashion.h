/* What preprocess, train and evaluate share: images, the model, and the files that hold them. */
#ifndef FASHION_H
#define FASHION_H

#include <stddef.h>
#include <stdint.h>

enum {
    IMAGE_SIDE = 28,
    IMAGE_PIXELS = IMAGE_SIDE * IMAGE_SIDE,
    CLASSES = 10,
    MAX_IMAGES = 2000000, /* in one file: 1.6 GB */
    HIDDEN_STEP = 8,      /* hidden units come in multiples of it, so that loops come out even */
    MAX_HIDDEN = 4096,
};

enum exit_code {
    EXIT_MACHINE = 1,   /* no memory, disk full */
    EXIT_BAD_INPUT = 2, /* files and options that cannot be used */
};

/* Prints "PROGRAM: message" to stderr and ends the program. */
_Noreturn void fail(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Zeroed memory that vectors may be loaded from; fails the program when there is none. */
void *allocate(size_t count, size_t size);

/* Options are --NAME TEXT; a table of them ends with an empty entry. */
struct text_option {
    const char *name;
    const char **value; /* what is there already stays if the option is not given */
};

/* Reads the command line. --help prints `help` and ends the program; what is unknown fails it. */
void read_options(int argc, char **argv, const char *help, const struct text_option *options);
/* The value of an option: a number from min to max, or the program fails. */
double number_option(const char *name, const char *text, double min, double max);
uint32_t count_option(const char *name, const char *text, uint32_t min, uint32_t max);
/* The value of an option that must be given, or the program fails. */
const char *required_option(const char *name, const char *value) __attribute__((returns_nonnull));

/* Writes both blocks beside path and moves them there when they are complete. -1 after a message
 * when that does not work: then there is no such file, or the old one. */
int write_file(
    const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes);

/* A small random generator (SplitMix64): the same numbers everywhere for the same seed. */
uint64_t random_next(uint64_t *state);
/* From 0 to bound - 1. */
uint32_t random_below(uint64_t *state, uint32_t bound);

/* Pixels of all images one after the other, row by row; then a label, 0 to 9, for each. One block.
 */
struct images {
    uint32_t count;
    uint32_t checksum; /* of pixels and labels; set by images_load */
    uint8_t *pixels;
    uint8_t *labels;
};

void images_init(struct images *images, uint32_t count);
void images_clear(struct images *images);
/* Reads gzip-ed idx files, as the dataset comes: DIRECTORY/NAME-images-idx3-ubyte.gz and
 * DIRECTORY/NAME-labels-idx1-ubyte.gz. */
void images_read_idx(struct images *images, const char *directory, const char *name);
void images_load(struct images *images, const char *path);
int images_save(const struct images *images, const char *path);

/* What a model was made with; a checkpoint goes on only where all of it agrees. */
struct training {
    uint64_t seed;
    double rate;
    uint32_t data_checksum;
    uint32_t epochs; /* done so far */
};

/* Two layers: hidden = relu(in * image + in_bias), scores = out * hidden + out_bias. */
struct model {
    uint32_t hidden;
    struct training training;
    float *in;       /* [hidden][IMAGE_PIXELS] */
    float *in_bias;  /* [hidden] */
    float *out;      /* [hidden][CLASSES] */
    float *out_bias; /* [CLASSES] */
};

void model_init(struct model *model, uint32_t hidden);
void model_clear(struct model *model);
void model_load(struct model *model, const char *path);
int model_save(const struct model *model, const char *path);

/* Four floats that the compiler keeps in one register of any machine that has such. */
typedef float vec4 __attribute__((vector_size(16), may_alias));

/* Images and hidden units are worked on in blocks of these sizes. */
enum { IMAGE_BLOCK = 4, UNIT_BLOCK = 2 };

/* Pixels as the model takes them, from 0 to 1. */
void image_floats(const uint8_t pixels[IMAGE_PIXELS], float floats[IMAGE_PIXELS]);
/* Activations of the units from begin to end - 1, from pixels[image][pixel] into
 * hidden[image][unit]. Begin and end are multiples of UNIT_BLOCK, images of IMAGE_BLOCK. */
void model_activate(const struct model *model,
                    uint32_t begin,
                    uint32_t end,
                    const float *pixels,
                    uint32_t images,
                    float *hidden);
/* Scores of the classes, not yet probabilities, from the activations of all hidden units. */
void model_scores(const struct model *model, const float *hidden, float scores[CLASSES]);

#endif
