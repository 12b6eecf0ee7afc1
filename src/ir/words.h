// The words that .tir uses for enumerated things, in the order of their enums; the printer writes them, the parser
// reads them, messages borrow them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/program.h"

namespace tilert::ir {

inline constexpr std::string_view kVarKindWords[] = {"dim", "scalar", "block", "loop", "let", "thread", "blocks"};
inline constexpr std::string_view kScopeWords[] = {"global", "shared", "fragment", "var", "local", "barrier", "registers"};
inline constexpr std::string_view kDirectionWords[] = {"none", "in", "out", "inout"};
inline constexpr std::string_view kPreferWords[] = {"any", "tma", "async", "sync"};
inline constexpr std::string_view kEvictionWords[] = {"normal", "first", "last"};
inline constexpr std::string_view kSplitWords[] = {"automatic", "rows", "columns", "square"};
inline constexpr std::string_view kForWords[] = {"serial", "unrolled", "pipelined"};
inline constexpr std::string_view kLayoutWords[] = {"automatic", "row_major", "padded", "swizzle_32", "swizzle_64", "swizzle_128", "custom"};
inline constexpr std::string_view kReduceWords[] = {"sum",    "prod",   "max",     "min",    "max_nan", "min_nan",
                                                    "absmax", "abssum", "bit_and", "bit_or", "bit_xor"};

inline constexpr std::string_view kAtomicWords[] = {"add", "max", "min", "bit_and", "bit_or", "bit_xor", "exchange", "cas", "load", "store"};
inline constexpr std::string_view kOrderWords[] = {"relaxed", "acquire", "release", "acq_rel"};
inline constexpr std::string_view kMemoryScopeWords[] = {"device", "block", "system"};
inline constexpr std::string_view kJumpWords[] = {"break", "continue", "return"};

inline constexpr std::string_view kThreadOpWords[] = {"shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "all",  "any",
                                                      "ballot",  "sync",       "fence",        "copy",        "commit", "wait"};
inline constexpr std::string_view kAsyncOpWords[] = {"arrive", "expect", "wait", "load", "store", "commit", "written", "read", "close", "multiplied"};
inline constexpr std::string_view kPassingWords[] = {"value", "read", "write", "update"};

inline std::span<const std::string_view> words(ThreadOpKind) { return kThreadOpWords; }
inline std::span<const std::string_view> words(AsyncOpKind) { return kAsyncOpWords; }
inline std::span<const std::string_view> words(Passing) { return kPassingWords; }
inline std::span<const std::string_view> words(AtomicOp) { return kAtomicWords; }
inline std::span<const std::string_view> words(MemoryOrder) { return kOrderWords; }
inline std::span<const std::string_view> words(MemoryScope) { return kMemoryScopeWords; }
inline std::span<const std::string_view> words(JumpKind) { return kJumpWords; }
inline std::span<const std::string_view> words(VarKind) { return kVarKindWords; }
inline std::span<const std::string_view> words(Scope) { return kScopeWords; }
inline std::span<const std::string_view> words(Direction) { return kDirectionWords; }
inline std::span<const std::string_view> words(CopyPrefer) { return kPreferWords; }
inline std::span<const std::string_view> words(Eviction) { return kEvictionWords; }
inline std::span<const std::string_view> words(WarpSplit) { return kSplitWords; }
inline std::span<const std::string_view> words(TileLayout) { return kLayoutWords; }
inline std::span<const std::string_view> words(ForKind) { return kForWords; }
inline std::span<const std::string_view> words(ReduceOp) { return kReduceWords; }

// Languages of text that a program brings.
inline bool is_source_language(std::string_view text) { return text == "cuda" || text == "hip" || text == "llvm"; }

template <class E>
std::string_view word(E value) {
  const auto list = words(value);
  const auto number = static_cast<size_t>(value);
  return number < list.size() ? list[number] : "?";
}

template <class E>
std::optional<E> from_word(std::string_view text) {
  const auto list = words(E{});
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace tilert::ir
