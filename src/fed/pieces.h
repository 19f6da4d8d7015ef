/* pieces: the content of matching files, cut into pieces that are averaged one by one. Neighbours
 * of one type that are neighbours in every file are cut together, so that many small tensors cost
 * no more than a large one. */
#ifndef FED_PIECES_H
#define FED_PIECES_H

#include "fed/tensor_file.h"

struct fed_pieces {
    struct arena *arena;
    const struct fed_file *first;
    /* Tensors of first, as they lie in it; sorted when there are pieces. */
    const struct fed_tensor **tensors;
    size_t n_inputs;
    uint64_t **at; /* at[input][i]: where first->tensors[i] is in that input */
    struct fed_run *runs;
    size_t n_runs;
    size_t n; /* pieces */
};

struct fed_piece {
    enum fed_dtype dtype;
    size_t count;    /* numbers */
    uint64_t offset; /* in first, and in the result */
    const struct fed_run *run;
};

/* Room for the places of n_inputs inputs; `first` is borrowed. ERR_USAGE when that is too much. */
struct fed_pieces *fed_pieces_new(const struct fed_file *first, size_t n_inputs, struct err *e);
void fed_pieces_free(struct fed_pieces *p);
AUTO_DEFINE(fed_pieces)

/* Once `at` is filled: pieces of at most max_bytes (a multiple of 8) in each input. */
int fed_pieces_cut(struct fed_pieces *p, size_t max_bytes, struct err *e);

struct fed_piece fed_piece_get(const struct fed_pieces *p, size_t i);
/* Where the piece begins in an input. */
uint64_t fed_piece_at(const struct fed_pieces *p, const struct fed_piece *piece, size_t input);
/* The tensor that holds number i of the piece; *within_out is its index there. */
const struct fed_tensor *fed_piece_tensor(const struct fed_pieces *p,
                                          const struct fed_piece *piece,
                                          size_t i,
                                          uint64_t *within_out);

#endif
