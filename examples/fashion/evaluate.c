/* Says how many images of a test set a model gets right, class by class. */
#include "fashion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *data;
    const char *model;
    const char *report;
};

static const char help[] = "usage: evaluate --data FILE --model FILE [--report FILE]\n"
                           "  --data FILE    images that preprocess wrote to test with\n"
                           "  --model FILE   a model that train wrote\n"
                           "  --report FILE  where the table goes, too\n";

static const char *const class_names[CLASSES] = {
    "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
};

/* counts[label][answer] */
struct confusion {
    uint32_t counts[CLASSES][CLASSES];
};

static struct options parse(int argc, char **argv)
{
    struct options o = {0};
    read_options(argc, argv, help,
                 (const struct text_option[]){
                     {"data", &o.data}, {"model", &o.model}, {"report", &o.report}, {NULL, NULL}});
    o.data = required_option("data", o.data);
    o.model = required_option("model", o.model);
    return o;
}

static int best_class(const float scores[CLASSES])
{
    int best = 0;
    for (int answer = 1; answer < CLASSES; answer++)
        if (scores[answer] > scores[best])
            best = answer;
    return best;
}

static void classify(const struct model *model,
                     const struct images *images,
                     struct confusion *result)
{
    float(*pixels)[IMAGE_PIXELS] = allocate(IMAGE_BLOCK, sizeof *pixels);
    float *hidden = allocate((size_t)IMAGE_BLOCK * model->hidden, sizeof *hidden);
    for (uint32_t first = 0; first < images->count; first += IMAGE_BLOCK) {
        uint32_t left = images->count - first;
        uint32_t count = left < IMAGE_BLOCK ? left : IMAGE_BLOCK;
        for (uint32_t i = 0; i < count; i++)
            image_floats(images->pixels + (size_t)(first + i) * IMAGE_PIXELS, pixels[i]);
        model_activate(model, 0, model->hidden, pixels[0], IMAGE_BLOCK, hidden);
        for (uint32_t i = 0; i < count; i++) {
            float scores[CLASSES];
            model_scores(model, hidden + (size_t)i * model->hidden, scores);
            result->counts[images->labels[first + i]][best_class(scores)]++;
        }
    }
    free(pixels);
    free(hidden);
}

static double percent(uint32_t part, uint32_t whole)
{
    return whole ? 100.0 * part / whole : 0;
}

/* Returns how many are right. */
static uint32_t print_table(FILE *to, const struct confusion *result)
{
    uint32_t right = 0;
    fprintf(to, "class      images  right  recall  precision\n");
    for (int label = 0; label < CLASSES; label++) {
        uint32_t images = 0;
        uint32_t answers = 0;
        uint32_t hits = result->counts[label][label];
        for (int other = 0; other < CLASSES; other++) {
            images += result->counts[label][other];
            answers += result->counts[other][label];
        }
        fprintf(to, "%-10s %6u %6u  %4.1f %%     %4.1f %%\n", class_names[label], images, hits,
                percent(hits, images), percent(hits, answers));
        right += hits;
    }
    return right;
}

/* The table as text, to be freed, with the accuracy below it. */
static char *report_text(const struct confusion *result, uint32_t images, double *accuracy_out)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        fail(EXIT_MACHINE, "no memory");
    uint32_t right = print_table(memory, result);
    *accuracy_out = (double)right / images;
    fprintf(memory, "%u of %u right: accuracy %.4f\n", right, images, *accuracy_out);
    if (fclose(memory) != 0)
        fail(EXIT_MACHINE, "no memory");
    return text;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    struct images images;
    struct model model;
    struct confusion result = {0};
    double accuracy;
    images_load(&images, o.data);
    model_load(&model, o.model);
    classify(&model, &images, &result);
    char *text = report_text(&result, images.count, &accuracy);
    int written = o.report ? write_file(o.report, NULL, 0, text, strlen(text)) : 0;
    if (written == 0)
        printf("%s[TRADEWIND_TAG_NUM] accuracy:%.4f\n", text, accuracy);
    free(text);
    model_clear(&model);
    images_clear(&images);
    return written == 0 ? 0 : EXIT_MACHINE;
}
