#include "broker/learn/tfevents.h"

#include "base/hash.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"

#include <string.h>

/* ---- frames: length, its checksum, bytes, their checksum; all little-endian ---- */

#define HEAD_BYTES 12
#define TAIL_BYTES 4

static uint64_t little(const unsigned char *bytes, size_t n)
{
    uint64_t v = 0;

    for (size_t i = n; i > 0; i--)
        v = v << 8 | bytes[i - 1];
    return v;
}

/* As TensorFlow writes it, so that checksums of checksums are none. */
static bool is_checked(const unsigned char *bytes, size_t n, const unsigned char *sum)
{
    uint32_t crc = hash_crc32c(0, bytes, n);

    return (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8U) == (uint32_t)little(sum, 4);
}

/* ---- protocol buffers ---- */

struct message {
    const unsigned char *at, *end;
};

struct member {
    uint64_t number;
    unsigned type;        /* 0: a whole number, 1: eight bytes, 2: bytes, 5: four bytes */
    uint64_t whole;       /* types 0, 1 and 5: as bits */
    struct message bytes; /* type 2 */
};

static bool take_varint(struct message *m, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        unsigned char byte = *m->at++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool take_fixed(struct message *m, size_t n, uint64_t *out)
{
    if ((size_t)(m->end - m->at) < n)
        return false;
    *out = little(m->at, n);
    m->at += n;
    return true;
}

static bool take_bytes(struct message *m, struct message *out)
{
    uint64_t n;

    if (!take_varint(m, &n) || n > (size_t)(m->end - m->at))
        return false;
    *out = (struct message){m->at, m->at + n};
    m->at += n;
    return true;
}

/* False: at the end, or what follows cannot be read. */
static bool take_member(struct message *m, struct member *out)
{
    uint64_t key;

    *out = (struct member){0};
    if (m->at >= m->end || !take_varint(m, &key))
        return false;
    out->number = key >> 3;
    out->type = key & 7;
    switch (out->type) {
    case 0:
        return take_varint(m, &out->whole);
    case 1:
        return take_fixed(m, 8, &out->whole);
    case 2:
        return take_bytes(m, &out->bytes);
    case 5:
        return take_fixed(m, 4, &out->whole);
    default:
        return false;
    }
}

static double float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float v;

    memcpy(&v, &low, sizeof v);
    return (double)v;
}

static double double_of(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- events: Event{2: step, 5: Summary{1: Value{1: tag, 2: simple_value, 8: tensor}}} ---- */

enum { DT_FLOAT = 1, DT_DOUBLE = 2 };

struct scalar {
    bool found;
    double value;
};

static void see(struct scalar *s, unsigned *seen, double value)
{
    s->value = value;
    s->found = ++*seen == 1; /* more than one number is no scalar */
}

/* Numbers one after another. */
static void see_packed(struct scalar *s, unsigned *seen, struct message m, uint64_t type)
{
    size_t width = type == DT_FLOAT ? 4 : 8;
    uint64_t bits;

    while (*seen < 2 && take_fixed(&m, width, &bits))
        see(s, seen, type == DT_FLOAT ? float_of(bits) : double_of(bits));
}

/* TensorProto{1: dtype, 4: content, 5: float_val, 6: double_val} of one number. */
static struct scalar read_tensor(struct message tensor)
{
    struct message again = tensor;
    struct scalar s = {0};
    struct member f;
    uint64_t type = 0;
    unsigned seen = 0;

    while (take_member(&tensor, &f))
        if (f.number == 1 && f.type == 0)
            type = f.whole;
    if (type != DT_FLOAT && type != DT_DOUBLE)
        return s;
    while (take_member(&again, &f)) {
        bool is_own = f.number == (type == DT_FLOAT ? 5U : 6U);
        if (f.type == 2 && (is_own || f.number == 4))
            see_packed(&s, &seen, f.bytes, type);
        else if (is_own && f.type == (type == DT_FLOAT ? 5U : 1U))
            see(&s, &seen, type == DT_FLOAT ? float_of(f.whole) : double_of(f.whole));
    }
    return s;
}

/* False: not a name of a metric. */
static bool read_name(struct message tag, char out[static LAKE_KEY_MAX + 1])
{
    size_t n = (size_t)(tag.end - tag.at);

    if (!lake_job_metric_name((const char *)tag.at, n))
        return false;
    memcpy(out, tag.at, n);
    out[n] = 0;
    return true;
}

static int read_value(const struct tfevents_visitor *visitor,
                      struct message value,
                      double step,
                      struct err *e)
{
    char name[LAKE_KEY_MAX + 1] = "";
    struct scalar s = {0};
    struct member f;

    while (take_member(&value, &f)) {
        if (f.number == 1 && f.type == 2 && !read_name(f.bytes, name))
            return 0;
        if (f.number == 2 && f.type == 5)
            s = (struct scalar){true, float_of(f.whole)};
        else if (f.number == 8 && f.type == 2)
            s = read_tensor(f.bytes);
    }
    return s.found && name[0] ? visitor->scalar(visitor->context, name, step, s.value, e) : 0;
}

static int read_event(const struct tfevents_visitor *visitor, struct message event, struct err *e)
{
    struct message again = event;
    double step = 0;
    struct member f, value;

    while (take_member(&event, &f))
        if (f.number == 2 && f.type == 0)
            step = (double)(int64_t)f.whole;
    while (take_member(&again, &f)) {
        if (f.number != 5 || f.type != 2)
            continue;
        while (take_member(&f.bytes, &value))
            if (value.number == 1 && value.type == 2 &&
                read_value(visitor, value.bytes, step, e) < 0)
                return -1;
    }
    return 0;
}

int tfevents_take(const struct tfevents_visitor *visitor,
                  const unsigned char *bytes,
                  size_t n,
                  size_t *used_out,
                  uint64_t *skip_out,
                  struct err *e)
{
    *used_out = 0;
    *skip_out = 0;
    while (n - *used_out >= HEAD_BYTES) {
        const unsigned char *at = bytes + *used_out;
        uint64_t size = little(at, 8);
        if (!is_checked(at, 8, at + 8) || size > INT64_MAX - HEAD_BYTES - TAIL_BYTES)
            return err_set(e, ERR_CHANGED, "the length of a record does not fit its checksum");
        if (size > TFEVENTS_RECORD_MAX) {
            *skip_out = size + HEAD_BYTES + TAIL_BYTES;
            return 0;
        }
        size_t whole = (size_t)size + HEAD_BYTES + TAIL_BYTES;
        if (n - *used_out < whole)
            return 0;
        const unsigned char *event = at + HEAD_BYTES;
        if (!is_checked(event, (size_t)size, event + size))
            return err_set(e, ERR_CHANGED, "a record does not fit its checksum");
        if (read_event(visitor, (struct message){event, event + size}, e) < 0)
            return -1;
        *used_out += whole;
    }
    return 0;
}
