/* The border between the core library and its LLVM plugin: one C table, reached through one symbol.
 * The core loads libtilert_llvm.so on demand, calls tilert_plugin_query and speaks through the table alone. No LLVM
 * type, no C++ type and no exception crosses this border. What the calls do lives in the plugin's own sources. */
#ifndef TILERT_LLVM_PLUGIN_ABI_H
#define TILERT_LLVM_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change that an older core or plugin would misread. */
#define TILERT_LLVM_PLUGIN_ABI 1u
#define TILERT_LLVM_PLUGIN_QUERY "tilert_plugin_query"

/* What a call returns. The values are those of tilert_status where both have the word; never reused. */
enum {
  TILERT_LLVM_OK = 0,
  TILERT_LLVM_INVALID_ARGUMENT = 1,
  TILERT_LLVM_UNSUPPORTED = 3,   /* a target that is not linked, an import that is not listed */
  TILERT_LLVM_UNAVAILABLE = 4,   /* the system refuses, say, executable memory */
  TILERT_LLVM_OUT_OF_MEMORY = 8,
  TILERT_LLVM_COMPILE = 10,      /* the IR does not parse, verify or select; the text says where */
  TILERT_LLVM_CORRUPT = 16,      /* the object bytes are not an object of this machine */
  TILERT_LLVM_INTERNAL = 17
};

/* Bytes owned by the plugin: hand them back through release_buffer. A text is followed by a NUL that size does not
 * count. A zeroed buffer is empty and may be released. */
typedef struct tilert_llvm_buffer {
  uint8_t *data;
  size_t size;
} tilert_llvm_buffer;

enum {
  TILERT_LLVM_FLAG_VECTORIZE_LOOPS = 1u, /* run the loop vectorizer: for plain scalar loops */
  TILERT_LLVM_FLAG_ASSEMBLY = 2u         /* the output is assembly text instead of an object */
};

/* One compilation. Strings are NUL-terminated and read only during the call. A NULL or empty triple is the host's;
 * a NULL cpu is the triple's baseline, "native" the host's own cpu and features (then `features` is added). */
typedef struct tilert_llvm_request {
  uint32_t struct_size;   /* sizeof(tilert_llvm_request) */
  uint32_t flags;         /* TILERT_LLVM_FLAG_* */
  const char *ir;         /* LLVM IR text; need not be NUL-terminated */
  size_t ir_size;
  const char *name;       /* of the module, in messages; may be NULL */
  const char *triple;
  const char *cpu;
  const char *features;   /* "+avx2,+fma,-avx512f", may be NULL */
  uint32_t vector_width;  /* prefer-vector-width in bits; 0: the target's own preference */
  uint32_t entry_count;
  const char *const *entries; /* functions that the module must define for callers outside; may be NULL with count 0 */
} tilert_llvm_request;

typedef struct tilert_llvm_module tilert_llvm_module;

/* The table. Every function may be called from any thread at any time; none unwinds, prints or reads the environment.
 * `error` (never NULL) receives an owned text where the result is not TILERT_LLVM_OK, else stays empty. */
typedef struct tilert_llvm_plugin {
  uint32_t size;         /* of this table as the plugin knows it */
  uint32_t abi;          /* TILERT_LLVM_PLUGIN_ABI of the plugin */
  const char *build_id;  /* LLVM version and build of the plugin; provenance, not part of a key */

  /* The running machine: triple, cpu name and feature list, as LLVM spells them. */
  int32_t (*host_target)(tilert_llvm_buffer *triple, tilert_llvm_buffer *cpu, tilert_llvm_buffer *features,
                         tilert_llvm_buffer *error);
  /* Can the running machine execute code made for this triple, cpu and feature list (spelled as in a request)? UNSUPPORTED
   * names the instruction sets that it lacks. */
  int32_t (*host_runs)(const char *triple, const char *cpu, const char *features, tilert_llvm_buffer *error);
  /* IR text to object bytes (or assembly). The module is verified first. The result imports nothing but the helpers of
   * helpers.def. */
  int32_t (*compile)(const tilert_llvm_request *request, tilert_llvm_buffer *output, tilert_llvm_buffer *error);
  /* Object bytes of this machine to callable code; the bytes are copied. */
  int32_t (*load)(const uint8_t *bytes, size_t size, tilert_llvm_module **module, tilert_llvm_buffer *error);
  /* Address of an exported function of the module, NULL where it has none of that name. */
  void *(*entry)(tilert_llvm_module *module, const char *name);
  /* Frees the module's code: no thread may be in it, or enter it later. NULL is a no-op. In a child of fork a module
   * of the parent is only forgotten. */
  void (*release_module)(tilert_llvm_module *module);
  void (*release_buffer)(tilert_llvm_buffer *buffer);
} tilert_llvm_plugin;

/* The plugin's only exported symbol. `abi` is the caller's number; the table comes back whatever it is, and the caller
 * compares: size, abi and build_id keep their places in every version. */
typedef const tilert_llvm_plugin *(*tilert_plugin_query_fn)(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
