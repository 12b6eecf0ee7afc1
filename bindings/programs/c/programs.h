/* The twenty programs in C, and how each is run: ../README.md has the same as a table. */
#ifndef PROGRAMS_H_
#define PROGRAMS_H_

#include <tilert.h>

enum { kMaxTensors = 9, kMaxSizes = 5, kMaxRank = 3 };

typedef struct size {
  const char* name; /* NULL: the end */
  int64_t value;
} size;

typedef struct shape {
  int64_t sizes[kMaxRank]; /* 0: the end */
  int64_t strides[kMaxRank]; /* 0: contiguous */
} shape;

typedef struct program_case {
  const char* name;
  void (*build)(void);    /* between creating the builder and finishing it */
  size bound[kMaxSizes];  /* dims that have their value when compiled */
  size dims[kMaxSizes];   /* dims of the launch */
  shape tensors[kMaxTensors];
  tilert_argument scalar; /* kind 0: none */
} program_case;

extern const program_case kCases[];
extern const int kCaseCount;

/* products.c */
void gemm_bias_gelu(void);
void gemm_int8(void);
void gemm_scaled(void);
void gemm_sparse(void);
void experts(void);
void hand_gemm(void);
/* rows.c */
void scale(void);
void softmax(void);
void rmsnorm(void);
void transposed(void);
void strided_copy(void);
void embed(void);
void ranked(void);
/* elements.c */
void histogram(void);
void branches(void);
void casts(void);
void leaky(void);
void checked(void);
void warp_sums(void);
void unpacked(void);

#endif /* PROGRAMS_H_ */
