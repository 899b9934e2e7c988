/* Arrays that Python passes, and words: what the kernels share. They allocate nothing, and run without the interpreter's
 * lock. The caller has checked all ids and shapes; the arrays' types and contiguity are checked in module.c.
 */

#ifndef ASSOCPRIV_KERNELS_H
#define ASSOCPRIV_KERNELS_H

#include <stdint.h>

typedef uint64_t u64;
typedef int64_t i64;

typedef struct {
    void *data;
    i64 shape[3];
} Array;

/* A kernel's arguments are arrays, in the order of its letters in module.c, and the whole numbers after them. */
typedef i64 Kernel(const Array *arrays, const i64 *numbers);

Kernel transpose_reports, expand_items, count_items, fill_rows, count_supersets, count_pairs, tally_codes;
Kernel mixture_probabilities, truncate_normals, parse_numbers, unrank_reports;
Kernel randomize_transactions, randomize_sets, randomize_records;

/* Loops over words are compiled for processors with wide vectors, too, and the loader chooses. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && defined(__GLIBC__) \
    && !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("default", "popcnt", "avx2", "arch=icelake-server")))
#else
#define WIDE
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define RESTRICT __restrict__
INLINE i64 popcount(u64 word) { return __builtin_popcountll(word); }
#else
#define INLINE static __forceinline
#define RESTRICT __restrict
INLINE i64 popcount(u64 word)
{
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    return (i64)(((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}
#endif

INLINE i64 least(i64 a, i64 b) { return a < b ? a : b; }
INLINE i64 most(i64 a, i64 b) { return a > b ? a : b; }

#endif
