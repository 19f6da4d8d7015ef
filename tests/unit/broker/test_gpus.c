#include "broker/core/gpus.h"

#include "base/auto.h"
#include "tap.h"

#include <math.h>
#include <string.h>

/* As nvidia-smi --query-gpu=index,name,memory.total --format=csv,noheader,nounits prints. */
static const char nvidia[] = "0, NVIDIA A100-SXM4-40GB, 40960\n"
                             "1, NVIDIA A100-SXM4-40GB, 40960\n"
                             "2, Tesla T4, 15360\n";
/* As rocm-smi --showproductname --json prints, of two versions. */
static const char rocm_old[] =
    "{\"card1\": {\"Card series\": \"Instinct MI210\", \"Card model\": \"0x0c34\"},"
    " \"card0\": {\"Card series\": \"Instinct MI210\", \"Card model\": \"0x0c34\"}}";
static const char rocm_new[] =
    "\nWARNING: AMD GPU device(s) is/are in a low-power state.\n"
    "{\"card0\": {\"Card Series\": \"AMD Instinct MI300X OAM\", \"Card Model\": \"0x74a1\","
    " \"GFX Version\": \"gfx942\"}, \"system\": {\"Driver version\": \"6.7.0\"}}\n";

static bool is(const struct gpus *g, size_t i, const char *id, const char *name)
{
    return i < g->n && !strcmp(g->list[i].id, id) && !strcmp(g->list[i].name, name);
}

static void test_nvidia(void)
{
    struct gpus g = {.n = 0};

    CHECK(gpus_read_nvidia(nvidia, &g) && g.n == 3, "three GPUs");
    CHECK(is(&g, 0, "nvidia:0", "NVIDIA A100-SXM4-40GB") && is(&g, 2, "nvidia:2", "Tesla T4"),
          "with their names");
    CHECK(fabs(g.list[0].memory_mb - 40960) < 1e-9, "and memory");
    g.n = 0;
    CHECK(gpus_read_nvidia("0, NVIDIA GH200, 480GB, [N/A]\r\n\n", &g) &&
              is(&g, 0, "nvidia:0", "NVIDIA GH200, 480GB") && g.list[0].memory_mb <= 0,
          "a comma in a name, and memory that the driver does not know");
    g.n = 0;
    CHECK(gpus_read_nvidia("", &g) && g.n == 0, "no line is no GPU");
}

static void test_damaged_lists(void)
{
    static const char *const bad[] = {
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "0\n",
        "0, \n",
        "0, , 1\n",
        "-1, A100, 40960\n",
        "99999999999, A100, 40960\n",
        "0, A100, 40960\n0, A100, 40960\n",
        "x, A100, 40960\n",
        "0, A100, 40960\nand more\n",
    };
    char line[512];
    bool all = true;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gpus g = {.n = 0};
        all = all && !gpus_read_nvidia(bad[i], &g) && g.n == 0;
    }
    CHECK(all, "what is no list of GPUs adds none");
    snprintf(line, sizeof line, "0, %0300d, 40960\n", 0);
    struct gpus g = {.n = 0};
    CHECK(!gpus_read_nvidia(line, &g), "nor does a name of 300 bytes");
    CHECK(gpus_read_nvidia("0, A\033[31m\377, 1\n", &g) && is(&g, 0, "nvidia:0", "A?[31m?"),
          "control characters do not reach terminals");
    g.n = 0;
    CHECK(!gpus_read_rocm("ERROR:root:Driver not initialized", &g) &&
              !gpus_read_rocm("{\"card0\"", &g) && !gpus_read_rocm("{\"cardx\": {}}", &g) &&
              !gpus_read_rocm("{\"card0\": 7}", &g) && g.n == 0,
          "the same of rocm-smi");
    char many[200 * 16] = "";
    for (int i = 0; i < 200; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "%d, T4, 1\n", i);
    CHECK(gpus_read_nvidia(many, &g) && g.n == GPUS_LISTED_MAX, "a long list is bounded");
}

static void test_rocm(void)
{
    struct gpus g = {.n = 0};

    CHECK(gpus_read_rocm(rocm_old, &g) && g.n == 2 && is(&g, 0, "amd:0", "Instinct MI210") &&
              is(&g, 1, "amd:1", "Instinct MI210"),
          "cards in the order of their numbers");
    g.n = 0;
    CHECK(gpus_read_nvidia(nvidia, &g) && gpus_read_rocm(rocm_new, &g) && g.n == 4 &&
              is(&g, 3, "amd:0", "AMD Instinct MI300X OAM"),
          "a newer version, beside the GPUs of another vendor");
    g.n = 0;
    CHECK(gpus_read_rocm("{}", &g) && g.n == 0, "no card");
}

static size_t visible(const char *cuda)
{
    struct gpus g = {.n = 0};

    gpus_read_nvidia(nvidia, &g);
    gpus_read_uuids("0, GPU-aaaa1111\n1, GPU-aabb2222\n2, GPU-cccc3333\n", &g);
    gpus_read_rocm(rocm_new, &g);
    gpus_narrow(&g, "nvidia", cuda);
    size_t mask = 0;
    for (size_t i = 0; i < g.n; i++)
        mask |= !strncmp(g.list[i].id, "amd", 3) ? 8U : 1U << (g.list[i].id[7] - '0');
    return mask;
}

static void test_visible(void)
{
    CHECK(visible(NULL) == 15, "without a list all are visible");
    CHECK(visible("2,0") == 13 && visible(" 1 ") == 10, "numbers");
    CHECK(visible("") == 8 && visible("-1") == 8, "an empty list and -1 hide one vendor's");
    CHECK(visible("0,7,1") == 9, "the first that is not there ends the list");
    CHECK(visible("GPU-aabb,GPU-cccc3333") == 14, "UUIDs, also the beginning of one");
    CHECK(visible("GPU-aa") == 8, "unless it is the beginning of two");
}

static void test_wish(void)
{
    struct gpus_wish w;
    struct err e;
    char text[80];

    CHECK(gpus_wish_read("2", &w, &e) == 0 && w.n == 2 && !w.type[0] &&
              !strcmp(gpus_wish_text(&w, text), "2 GPUs"),
          "a number");
    CHECK(gpus_wish_read("A100:2", &w, &e) == 0 && w.n == 2 && !strcmp(w.type, "A100") &&
              !strcmp(gpus_wish_text(&w, text), "A100:2"),
          "a type and a number");
    CHECK(gpus_wish_read("A100-80GB", &w, &e) == 0 && w.n == 1, "a type is one");
    CHECK(gpus_wish_read("0", &w, &e) == 0 && w.n == 0, "none");
    static const char *const bad[] = {"",
                                      ":1",
                                      "A100:",
                                      "A100:0",
                                      "A100:x",
                                      "A100:1:2",
                                      "1025",
                                      "A100:-1",
                                      "1.5",
                                      "4090:1",
                                      "A;rm:1",
                                      "-1",
                                      "99999999999999999999"};
    bool all = true;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        all = all && gpus_wish_read(bad[i], &w, &e) < 0 && e.kind == ERR_USAGE;
    CHECK(all, "anything else is refused");
}

static void test_types(void)
{
    static const struct {
        const char *name, *type;
        double memory_mb;
        bool same;
    } cases[] = {
        {"NVIDIA A100-SXM4-40GB", "A100", 40960, true},
        {"NVIDIA A100-SXM4-40GB", "a100", 40960, true},
        {"NVIDIA A100-SXM4-40GB", "A10", 40960, false},
        {"NVIDIA A100-SXM4-40GB", "A100-80GB", 40960, false},
        {"NVIDIA A100 80GB PCIe", "A100-80GB", 81920, true},
        {"NVIDIA A10G", "A10", 23028, false},
        {"Tesla V100-SXM2-16GB", "V100", 16160, true},
        {"Tesla V100-SXM2-16GB", "V100-32GB", 16160, false},
        {"NVIDIA GeForce RTX 3090", "RTX3090", 24268, true},
        {"NVIDIA RTX A6000", "RTXA6000", 49140, true},
        {"NVIDIA RTX A6000", "A6000", 49140, true},
        {"NVIDIA RTX 6000 Ada Generation", "RTX6000-Ada", 49140, true},
        {"NVIDIA H100 PCIe", "H100-80GB", 81559, true},
        {"NVIDIA L4", "L40S", 23034, false},
        {"NVIDIA L40S", "L4", 46068, false},
        {"AMD Instinct MI300X OAM", "MI300X", 0, true},
        {"AMD Instinct MI300X OAM", "MI300X-192GB", 0, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu g = {.memory_mb = cases[i].memory_mb};
        snprintf(g.name, sizeof g.name, "%s", cases[i].name);
        CHECK(gpus_is_type(&g, cases[i].type) == cases[i].same, "%s as %s", cases[i].name,
              cases[i].type);
    }
}

static void test_vendors(void)
{
    CHECK(gpus_is_amd("MI300X") && gpus_is_amd("mi210") && gpus_is_amd("AMD Radeon Pro W7900"),
          "types of AMD");
    CHECK(!gpus_is_amd("A100") && !gpus_is_amd("") && !gpus_is_amd("M60") && !gpus_is_amd("mi"),
          "and others");
}

static bool fits(const char *text, unsigned nodes)
{
    struct gpus g = {.n = 0};
    struct gpus_wish w;

    gpus_read_nvidia(nvidia, &g);
    return gpus_wish_read(text, &w, NULL) == 0 && gpus_choose(&g, &w, nodes);
}

static void test_choose(void)
{
    CHECK(fits("2", 1) && !fits("3", 1), "two of one type are there, three are not");
    CHECK(fits("1", 3) && !fits("1", 4) && fits("2", 1) && !fits("2", 2), "for several nodes");
    CHECK(fits("T4", 1) && !fits("T4:2", 1) && fits("A100:1", 2) && !fits("H100", 1), "by type");
    CHECK(fits("0", 9), "none are always there");
}

static void test_texts(void)
{
    struct gpu g = {.id = "nvidia:0", .name = "Tesla T4"};
    const struct gpu_text t = gpus_text(&g);
    AUTO_CLEAR(buf) struct buf b;

    CHECK(!strcmp(t.text, "nvidia:0 Tesla T4") && gpus_id_length(t.text) == 8 &&
              !strcmp(gpus_type_of(t.text), "Tesla T4") && !*gpus_type_of("nvidia:0"),
          "id and type of a text");
    CHECK(gpus_has("nvidia:10,nvidia:0", t.text) && !gpus_has("nvidia:10,amd:0", t.text) &&
              !gpus_has("", t.text) && !gpus_has("nvidia:00", t.text),
          "a list has a GPU or not");
    buf_init(&b, 100);
    gpus_put_numbers("nvidia:3,amd:1,nvidia:10", "nvidia", &b);
    CHECK(!strcmp(buf_str(&b), "3,10"), "the numbers of one vendor");
}

int main(void)
{
    test_nvidia();
    test_damaged_lists();
    test_rocm();
    test_visible();
    test_wish();
    test_types();
    test_vendors();
    test_choose();
    test_texts();
    return TAP_DONE();
}
