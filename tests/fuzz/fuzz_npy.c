/* Any bytes as an npy file: the array that is read is the end of the file, as long as its shape
 * says. */
#include "fed/tensor_file.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fed_source source = fed_source_of_memory("a", data, size);
    struct err e = {0};
    AUTO(fed_file) struct fed_file *f = fed_file_read(FED_NPY, &source, &e);
    uint64_t bytes;

    if (!f) {
        assert(e.kind == ERR_USAGE && *e.text);
        return 0;
    }
    assert(f->n == 1 && f->tensors->offset == f->data_offset);
    assert(f->data_offset + f->tensors->bytes == size);
    assert(fed_tensor_size(f->tensors->dtype, f->tensors->dims, f->tensors->rank, &bytes));
    assert(bytes == f->tensors->bytes && fed_dtype_is_float(f->tensors->dtype));
    return 0;
}
