#include "tensors.h"

#include <stdint.h>
#include <string.h>

static void add_length(struct buf *b, uint64_t n, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char byte = (char)(n >> (8 * i) & 0xff);
        buf_add(b, &byte, 1);
    }
}

void make_safetensors(struct buf *b, const char *header, const void *data, size_t n)
{
    buf_init(b, 1 << 20);
    add_length(b, strlen(header), 8);
    buf_puts(b, header);
    buf_add(b, data, n);
}

void make_npy(struct buf *b, unsigned major, const char *header, const void *data, size_t n)
{
    size_t before = major == 1 ? 10 : 12, length = strlen(header) + 1;
    const char version[] = {(char)major, 0};

    buf_init(b, 1 << 20);
    buf_add(b, "\x93NUMPY", 6);
    buf_add(b, version, 2);
    size_t padding = (64 - (before + length) % 64) % 64;
    add_length(b, length + padding, major == 1 ? 2 : 4);
    buf_puts(b, header);
    for (size_t i = 0; i < padding; i++)
        buf_puts(b, " ");
    buf_puts(b, "\n");
    buf_add(b, data, n);
}
