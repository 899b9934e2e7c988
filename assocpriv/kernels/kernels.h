/* Arrays that Python passes, and words: what the kernels share. They allocate nothing, and run without the
 * interpreter's lock. The caller has checked all ids and shapes; the arrays' types and contiguity are checked in
 * module.c.
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

/* WIDE(name) { … } is a kernel that is compiled for processors with wide vectors, too, and chosen when it runs. */
#define ARGUMENTS const Array *arrays, const i64 *numbers
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#define VECTOR_WIDTH ""
#else
#define VECTOR_WIDTH ",prefer-vector-width=512"
#endif
#define TARGET_256 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define FEATURES_512 "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt"
#define TARGET_512 __attribute__((target(FEATURES_512 VECTOR_WIDTH)))
#define WIDE(name) \
    INLINE i64 name##_loops(ARGUMENTS); \
    TARGET_256 static i64 name##_256(ARGUMENTS) { return name##_loops(arrays, numbers); } \
    TARGET_512 static i64 name##_512(ARGUMENTS) { return name##_loops(arrays, numbers); } \
    i64 name(ARGUMENTS) \
    { \
        if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl")) \
            return name##_512(arrays, numbers); \
        return __builtin_cpu_supports("avx2") ? name##_256(arrays, numbers) : name##_loops(arrays, numbers); \
    } \
    INLINE i64 name##_loops(ARGUMENTS)
#else
#define WIDE(name) i64 name(ARGUMENTS)
#endif

INLINE i64 least(i64 a, i64 b) { return a < b ? a : b; }
INLINE i64 most(i64 a, i64 b) { return a > b ? a : b; }

#endif
