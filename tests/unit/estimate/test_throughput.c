#include "base/buf.h"
#include "base/err.h"
#include "estimate/throughput.h"
#include "tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Loads a table with this text as the user's. */
static struct throughputs *load_text(const char *text, struct err *e)
{
    char path[] = "/tmp/tradewind-throughput-XXXXXX";
    int fd = mkstemp(path);
    size_t len = strlen(text);

    if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
        printf("Bail out! cannot write %s\n", path);
        exit(EXIT_FAILURE);
    }
    close(fd);
    struct throughputs *t = throughputs_load(path, e);
    unlink(path);
    return t;
}

/* Of the source's digits the table keeps ten. */
static bool close_to(double got, double want)
{
    return isnan(want) ? isnan(got) : fabs(got - want) <= 1e-9 * fabs(want);
}

static void builtin_figures(void)
{
    static const struct {
        const char *model, *accelerator;
        double per_s;
    } cases[] = {
        {"ResNet-50 (batch size 128)", "V100", 2.84598121177},
        {"ResNet-50 (batch size 128)", "K80", 0.296445507119},
        {"ResNet-50 (batch size 16)", "P100", 8.10834826142},
        {"resnet50 (Batch Size 16)", "p100", 8.10834826142},
        {"RESNET_50(batchsize16)", "P100", 8.10834826142},
        {"ResNet-50", "V100", 2.84598121177}, /* the largest batch size */
        {"LM", "K80", 7.84655623632},
        {"A3C", "P100", 4.75466906732}, /* no batch size in the table */
        {"CycleGAN", "V100", 4.9184947394},
        {"ResNet-50 (batch size 128)", "H100", (double)NAN},
        {"ResNet-50 (batch size 100)", "V100", (double)NAN},
        {"A3C (batch size 4)", "V100", (double)NAN},
        {"ResNet-51", "V100", (double)NAN},
        {"", "V100", (double)NAN},
        {"ResNet-50", "", (double)NAN},
    };
    struct err e = {0};
    AUTO(throughputs) struct throughputs *t = throughputs_load(NULL, &e);

    CHECK(t, "the built-in table loads: %s", e.text);
    for (size_t i = 0; t && i < sizeof cases / sizeof *cases; i++)
        CHECK(close_to(throughputs_get(t, cases[i].model, cases[i].accelerator), cases[i].per_s),
              "'%s' on '%s' is %g", cases[i].model, cases[i].accelerator, cases[i].per_s);
}

static void builtin_names(void)
{
    static const struct {
        const char *model;
        bool found, guessed, unknown;
        const char *name;
        double batch_size;
    } cases[] = {
        {"resnet 50", true, true, false, "ResNet-50", 128},
        {"ResNet-50 (batch size 32)", true, false, false, "ResNet-50", 32},
        {"a3c", true, false, false, "A3C", 0},
        {"Transformer", true, true, false, "Transformer", 256},
        {"ResNet-50 (batch size 33)", false, false, true, "ResNet-50", 33},
        {"ResNet-50 (batch size 128) ", true, false, false, "ResNet-50", 128},
        {"ResNet-50 (batch size 0)", false, false, false, NULL, 0},
        {"ResNet-50 (batch size 128", false, false, false, NULL, 0},
        {"GPT-2", false, false, false, NULL, 0},
        {"-", false, false, false, NULL, 0},
    };
    struct err e = {0};
    AUTO(throughputs) struct throughputs *t = throughputs_load(NULL, &e);
    struct throughput_model m;

    for (size_t i = 0; t && i < sizeof cases / sizeof *cases; i++) {
        bool found = throughputs_find(t, cases[i].model, &m);
        CHECK(found == cases[i].found && m.batch_guessed == cases[i].guessed &&
                  m.batch_unknown == cases[i].unknown &&
                  (cases[i].name ? m.name && strcmp(m.name, cases[i].name) == 0 : !m.name) &&
                  close_to(m.batch_size, cases[i].batch_size),
              "what '%s' stands for", cases[i].model);
    }

    char long_name[1000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    CHECK(t && !throughputs_find(t, long_name, &m), "a very long name is no model");

    size_t n = 0;
    const char *const *models = t ? throughputs_models(t, &n) : NULL;
    CHECK(n == 7 && strcmp(models[0], "A3C") == 0 && strcmp(models[6], "Transformer") == 0,
          "each of the seven models is listed once");
}

static void user_table(void)
{
    static const char text[] = "# mine\n"
                               "model,batch_size,V100,A100\n"
                               "ResNet-50,64,6,20\n"
                               "ResNet-50,256,,5\n"
                               "ResNet-50 (batch size 512),,0,2\n"
                               "Mine,,1.5,0\n";
    static const struct {
        const char *name, *model, *accelerator;
        double per_s;
    } cases[] = {
        {"a user's figure beats the built-in one", "ResNet-50 (batch size 64)", "V100", 6},
        {"a new accelerator", "ResNet-50 (batch size 64)", "A100", 20},
        {"the built-in figure stays where the user has none", "ResNet-50 (batch size 64)", "K80",
         0.773264366961},
        {"other batch sizes stay built in", "ResNet-50 (batch size 128)", "V100", 2.84598121177},
        {"an empty figure is not covered", "ResNet-50 (batch size 256)", "V100", (double)NAN},
        {"a batch size in the model's name", "ResNet-50 (batch size 512)", "A100", 2},
        {"0 stays 0", "ResNet-50 (batch size 512)", "V100", 0},
        {"no batch size: the user's row that covers most", "ResNet-50", "V100", 6},
        {"a model of the user's", "mine", "V100", 1.5},
        {"a model the user does not list", "LM (batch size 80)", "V100", 43.9036107274},
    };
    struct err e = {0};
    AUTO(throughputs) struct throughputs *t = load_text(text, &e);
    struct throughput_model m;

    CHECK(t, "a user's table loads: %s", e.text);
    for (size_t i = 0; t && i < sizeof cases / sizeof *cases; i++)
        CHECK(close_to(throughputs_get(t, cases[i].model, cases[i].accelerator), cases[i].per_s),
              "%s", cases[i].name);
    CHECK(t && throughputs_find(t, "ResNet-50", &m) && m.batch_guessed && m.batch_size < 65,
          "the choice among the user's rows is a guess");
    CHECK(t && throughputs_find(t, "Mine", &m) && !m.batch_guessed && strcmp(m.name, "Mine") == 0,
          "a single row is no guess");
}

static void one_user_row_is_no_guess(void)
{
    struct err e = {0};
    AUTO(throughputs)
    struct throughputs *t = load_text("model,batch_size,A100\nresnet-50,96,9\n", &e);
    struct throughput_model m;

    CHECK(t && throughputs_find(t, "ResNet-50", &m) && !m.batch_guessed &&
              close_to(m.batch_size, 96),
          "the user's only row is meant, whatever the built-in table has");
}

static void bad_tables(void)
{
    static const struct {
        const char *name, *text, *place, *says;
    } cases[] = {
        {"empty file", "", ":1:", "header"},
        {"no accelerator", "model,batch_size\n", ":1:", "header"},
        {"wrong header", "name,batch,V100\nx,1,2\n", ":1:", "header"},
        {"nameless accelerator", "model,batch_size,V100,\n", ":1:", "column 4"},
        {"accelerator twice", "model,batch_size,V100,v100\n", ":1:", "'v100' is listed twice"},
        {"short row", "model,batch_size,V100\nx,1\n", ":2:", "2 fields"},
        {"long row", "model,batch_size,V100\nx,1,2,3\n", ":2:", "4 fields"},
        {"no model", "model,batch_size,V100\n,1,2\n", ":2:", "name"},
        {"batch size no number", "model,batch_size,V100\n\nx,many,2\n", ":3:", "'many'"},
        {"batch size 0", "model,batch_size,V100\nx,0,2\n", ":2:", "'0'"},
        {"two batch sizes", "model,batch_size,V100\nx (batch size 8),16,2\n", ":2:", "says 16"},
        {"figure no number", "model,batch_size,V100\nx,1,fast\n", ":2:", "'fast'"},
        {"negative figure", "model,batch_size,V100\nx,1,-2\n", ":2:", "'-2'"},
        {"infinite figure", "model,batch_size,V100\nx,1,inf\n", ":2:", "'inf'"},
        {"row twice", "model,batch_size,V100\nRes-Net,1,2\ny,1,2\nresnet,1,3\n", ":4:", "line 2"},
        {"unclosed quote", "model,batch_size,V100\n\"x,1,2\n", ":2:", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        AUTO(throughputs) struct throughputs *t = load_text(cases[i].text, &e);
        CHECK(!t && e.kind == ERR_USAGE && strstr(e.text, cases[i].place) &&
                  strstr(e.text, cases[i].says),
              "%s: %s", cases[i].name, e.text);
    }
    struct err e = {0};
    AUTO(throughputs) struct throughputs *t = throughputs_load("/nowhere/table.csv", &e);
    CHECK(!t && e.kind != ERR_NONE && strstr(e.text, "/nowhere/table.csv"), "no such file: %s",
          e.text);
}

static void too_many_rows(void)
{
    AUTO_CLEAR(buf) struct buf text;
    struct err e = {0};

    buf_init(&text, 1 << 20);
    buf_puts(&text, "model,batch_size,V100\n");
    for (int i = 0; i <= 20000; i++)
        buf_printf(&text, "m%d,1,2\n", i);
    AUTO(throughputs) struct throughputs *t = load_text(buf_str(&text), &e);
    CHECK(!t && e.kind == ERR_USAGE && strstr(e.text, ":20002: the table is too large"),
          "20,001 rows: %s", e.text);
}

int main(void)
{
    builtin_figures();
    builtin_names();
    user_table();
    one_user_row_is_no_guess();
    bad_tables();
    too_many_rows();
    return TAP_DONE();
}
