#include "load.h"

/* Needs as text: "0,2" for the stages 0 and 2. */
static const char *needs_text(const struct spec_stage *stage)
{
    static char text[200];
    size_t n = 0;

    text[0] = 0;
    for (size_t i = 0; i < stage->n_needs; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%zu", i ? "," : "", stage->needs[i]);
    return text;
}

static const char *order_text(const struct spec *s)
{
    static char text[200];
    size_t n = 0;

    for (size_t i = 0; i < s->n_stages; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%zu", i ? "," : "", s->topological[i]);
    return text;
}

static void shapes(void)
{
    static const struct {
        const char *name, *text, *needs[4], *order;
    } cases[] = {
        {"a chain by default",
         "{name: a, run: x}\n---\nname: b\n---\nname: c\n",
         {"", "0", "1"},
         "0,1,2"},
        {"parallel drops the chain",
         "execution: parallel\n---\nname: a\n---\nname: b\n---\n{name: c, needs: a}\n",
         {"", "", "0"},
         "0,1,2"},
        {"serial is the chain",
         "execution: serial\n---\nname: a\n---\nname: b\n",
         {"", "0"},
         "0,1"},
        {"needs: [] is none", "{name: a, run: x}\n---\n{name: b, needs: []}\n", {"", ""}, "0,1"},
        {"needs: null is as if absent",
         "{name: a, run: x}\n---\n{name: b, needs: }\n",
         {"", "0"},
         "0,1"},
        {"one name",
         "{name: a, run: x}\n---\nname: b\n---\n{name: c, needs: a}\n",
         {"", "0", "0"},
         "0,1,2"},
        {"ascending, whatever the order written",
         "{name: a, run: x}\n---\nname: b\n---\nname: c\n---\n{name: d, needs: [c, a]}\n",
         {"", "0", "1", "0,2"},
         "0,1,2,3"},
        {"needs may name what comes later",
         "{name: a, needs: [c]}\n---\n{name: b, needs: []}\n---\n{name: c, needs: []}\n",
         {"2", "", ""},
         "1,2,0"},
        {"an input needs its maker",
         "{name: a, outputs: {x: 1}}\n---\n{name: b, needs: [], outputs: {y: 1}}\n---\n"
         "{name: c, needs: [b], inputs: [a.x]}\n",
         {"", "", "0,1"},
         "0,1,2"},
        {"a diamond",
         "{name: a, run: x}\n---\n{name: b, needs: [a]}\n---\n{name: c, needs: [a]}\n---\n"
         "{name: d, needs: [b, c]}\n",
         {"", "0", "0", "1,2"},
         "0,1,2,3"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(spec) struct spec *s = load(cases[i].text);
        bool good = same(order_text(s), cases[i].order);
        for (size_t k = 0; k < s->n_stages; k++)
            good &= same(needs_text(&s->stages[k]), cases[i].needs[k]);
        CHECK(good, "%s", cases[i].name);
    }
}

static void references(void)
{
    AUTO(spec)
    struct spec *s = load("name: a.b\noutputs: {c.d: 1, c: 2}\n---\n"
                          "name: a\noutputs: {b.c: 4, s3://bkt/o: 8}\n---\n"
                          "name: r\ninputs: [a.b.c.d, a.b.c, 'a.s3://bkt/o', other.csv]\n");
    const struct spec_input *in = s->stages[2].inputs;

    CHECK(s->stages[2].n_inputs == 4, "four inputs");
    CHECK(in[0].source == SPEC_FROM_STAGE && in[0].stage == 0 && in[0].output == 0 &&
              in[0].size_gb == 1,
          "dots in the names of stage and output");
    CHECK(in[1].stage == 1 && in[1].output == 0 && in[1].size_gb == 4,
          "the first dot that fits counts");
    CHECK(in[2].source == SPEC_FROM_STAGE && in[2].stage == 1 && in[2].output == 1,
          "an output named by a URI");
    CHECK(in[3].source == SPEC_FROM_LOCAL, "a file with a dot is a file");
    CHECK(!in[0].place.cloud && !in[0].place.region, "a stage's output has no place yet");

    AUTO(spec)
    struct spec *d = load("{name: a, outputs: [x, y]}\n---\n{name: b, outputs: [z]}\n---\n"
                          "{name: c, needs: [b, a]}\n");
    in = d->stages[2].inputs;
    CHECK(d->stages[2].n_inputs == 3 && same(in[0].from, "a.x") && same(in[1].from, "a.y") &&
              same(in[2].from, "b.z"),
          "without inputs: all outputs of the stages needed");
    CHECK(d->stages[1].n_inputs == 2, "those needed directly");
    AUTO(spec) struct spec *w = load("{name: a, run: x}\n---\nname: b\nneeds: [a, a]\n");
    CHECK(w->stages[1].n_needs == 1 && warns(w, 4, "\"a\" is listed twice"), "listed twice: once");
}

static void many(void)
{
    size_t room = 100000, n = 0;
    char *text = malloc(room);

    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(text + n, room - n, "---\n{name: s%d, needs: [s%d]}\n", i,
                              i < 999 ? i + 1 : i);
    const struct refused itself = {text, 2000, "needs itself"};
    check_refused(&itself);
    n = 0;
    for (int i = 0; i < 1001; i++)
        n += (size_t)snprintf(text + n, room - n, "---\n{name: s%d, run: x}\n", i);
    const struct refused count = {text, 0, "more than 1000 stages"};
    check_refused(&count);
    n = 0;
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(text + n, room - n, "---\n{name: s%d, run: x%s}\n", i,
                              i < 999 ? "" : ", needs: []");
    AUTO(spec) struct spec *s = load(text);
    CHECK(s->n_stages == 1000 && s->topological[999] == 999, "1000 stages load");
    n = 0;
    for (int i = 0; i < 150; i++)
        n += (size_t)snprintf(text + n, room - n, "---\nname: s%d\nneeds: [s%d]\n", i,
                              (i + 1) % 150);
    const struct refused cycle = {text, 2, "s0 (line 2) needs s1 (line 5) needs s2"};
    check_refused(&cycle);
    free(text);
}

int main(void)
{
    static const struct refused bad[] = {
        {"name: a\nneeds: [b]\n---\nname: b\nneeds: [a]\n", 1,
         "stages need each other: a (line 1) needs b (line 4) needs a"},
        {"name: z\nneeds: [a]\n---\nname: a\nneeds: [b]\n---\nname: b\nneeds: [a]\n", 4,
         "a (line 4) needs b (line 7) needs a"},
        {"name: a\ninputs: [b.x]\n---\nname: b\noutputs: [x]\n", 1, "need each other"},
        {"name: a\nneeds: a\n", 2, "stage a: needs itself"},
        {"name: a\noutputs: [x]\ninputs: [a.x]\n", 3, "needs itself"},
        {"{name: train, run: x}\n---\nname: eval\nneeds:\n  - trian\n", 5,
         "stage eval: needs: no stage is named \"trian\": did you mean train?"},
        {"name: a\nneeds: nobody-here\n", 2, "no stage is named \"nobody-here\""},
        {"name: a\nneeds: {a: 1}\n", 2, "must be a stage's name or a list of names"},
        {"name: a\nneeds: [[a]]\n", 2, "needs: must be text, not a list"},
        {"{name: a, run: x}\n---\nname: b\n---\nname: a\n", 5,
         "two stages are named \"a\": the first is on line 1"},
        {"run: x\n---\nname: stage-1\n", 3, "two stages are named \"stage-1\""},
        {"name: a\noutputs: {model: 1}\n---\nname: b\ninputs: [a.modle]\n", 5,
         "input \"a.modle\": stage a has no output \"modle\": did you mean a.model?"},
        {"{name: a, run: x}\n---\nname: b\ninputs: [a.csv]\n", 4, "write ./a.csv for a file"},
        {"name: a\noutputs: {x: 1}\n---\nname: b\ninputs: [{from: a.x, place: local}]\n", 5,
         "is where stage a runs"},
    };

    shapes();
    references();
    many();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
