/* Decodes Fashion-MNIST, adds shifted and mirrored copies of the training images, and writes one
 * file to train on and one to test with. */
#include "fashion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *input;
    const char *train;
    const char *test;
    uint32_t copies;
    uint32_t limit;
    uint32_t seed;
};

static const char help[] =
    "usage: preprocess --input DIRECTORY --train FILE --test FILE [OPTION...]\n"
    "  --input DIRECTORY  the dataset: {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz\n"
    "  --train FILE       where the images to train on go\n"
    "  --test FILE        where the images to test with go\n"
    "  --copies N         each training image N times: as it is, the others moved (2)\n"
    "  --limit N          only the first N images of each set\n"
    "  --seed N           of the random moves (1)\n";

static struct options parse(int argc, char **argv)
{
    struct options o = {.limit = MAX_IMAGES};
    const char *copies = "2";
    const char *limit = NULL;
    const char *seed = "1";
    read_options(argc, argv, help,
                 (const struct text_option[]){{"input", &o.input},
                                              {"train", &o.train},
                                              {"test", &o.test},
                                              {"copies", &copies},
                                              {"limit", &limit},
                                              {"seed", &seed},
                                              {NULL, NULL}});
    o.input = required_option("input", o.input);
    o.train = required_option("train", o.train);
    o.test = required_option("test", o.test);
    o.copies = count_option("copies", copies, 1, 16);
    o.seed = count_option("seed", seed, 0, UINT32_MAX);
    if (limit)
        o.limit = count_option("limit", limit, 1, MAX_IMAGES);
    return o;
}

/* Only the first images stay. */
static void cut(struct images *images, uint32_t limit)
{
    if (images->count <= limit)
        return;
    struct images first;
    images_init(&first, limit);
    memcpy(first.pixels, images->pixels, (size_t)limit * IMAGE_PIXELS);
    memcpy(first.labels, images->labels, limit);
    images_clear(images);
    *images = first;
}

/* Mirrored or not, and shifted by up to one pixel each way; what comes in at the edge is black. */
static void move(const uint8_t *from, uint8_t *to, uint64_t *random)
{
    int mirrored = (int)random_below(random, 2);
    int right = (int)random_below(random, 3) - 1;
    int down = (int)random_below(random, 3) - 1;
    for (int y = 0; y < IMAGE_SIDE; y++) {
        for (int x = 0; x < IMAGE_SIDE; x++) {
            int from_y = y - down;
            int from_x = (mirrored ? IMAGE_SIDE - 1 - x : x) - right;
            int inside = from_y >= 0 && from_y < IMAGE_SIDE && from_x >= 0 && from_x < IMAGE_SIDE;
            to[y * IMAGE_SIDE + x] = inside ? from[from_y * IMAGE_SIDE + from_x] : 0;
        }
    }
}

static void augment(const struct images *raw, uint32_t copies, uint64_t seed, struct images *all)
{
    if (raw->count > MAX_IMAGES / copies)
        fail(EXIT_BAD_INPUT, "--copies %u: of %u images; %d are allowed", copies, raw->count,
             MAX_IMAGES);
    images_init(all, raw->count * copies);
    size_t raw_bytes = (size_t)raw->count * IMAGE_PIXELS;
    memcpy(all->pixels, raw->pixels, raw_bytes);
    for (size_t at = raw_bytes; at < raw_bytes * copies; at += IMAGE_PIXELS)
        move(raw->pixels + at % raw_bytes, all->pixels + at, &seed);
    for (uint32_t copy = 0; copy < copies; copy++)
        memcpy(all->labels + (size_t)copy * raw->count, raw->labels, raw->count);
}

/* Both or none. */
static int save_both(const struct images *train, const struct images *test, const struct options *o)
{
    if (images_save(test, o->test) < 0)
        return EXIT_MACHINE;
    if (images_save(train, o->train) == 0)
        return 0;
    unlink(o->test);
    return EXIT_MACHINE;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    struct images raw;
    struct images train;
    struct images test;
    images_read_idx(&raw, o.input, "train");
    images_read_idx(&test, o.input, "t10k");
    cut(&raw, o.limit);
    cut(&test, o.limit);
    augment(&raw, o.copies, o.seed, &train);

    int code = save_both(&train, &test, &o);
    if (code == 0)
        printf("%u images became %u to train on; %u to test with\n", raw.count, train.count,
               test.count);
    images_clear(&raw);
    images_clear(&train);
    images_clear(&test);
    return code;
}
