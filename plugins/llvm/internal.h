// What the plugin's sources share: owned buffers and the two halves of the table. No LLVM header is needed to read it.
#pragma once

#include <string>
#include <string_view>

#include "plugin_abi.h"

namespace tilert::llvm_plugin {

// Copies text into an owned buffer, with a NUL behind it; an empty buffer where memory is short.
tilert_llvm_buffer make_buffer(std::string_view text);

// Fills *error and returns the code, for `return fail(...)`.
int32_t fail(tilert_llvm_buffer* error, int32_t code, std::string_view text);

// Is `name` a row of helpers.def?
bool is_helper(std::string_view name);

void initialize_llvm();  // target.cpp; once per process, before anything else of LLVM

// target.cpp
int32_t host_target(tilert_llvm_buffer* triple, tilert_llvm_buffer* cpu, tilert_llvm_buffer* features,
                    tilert_llvm_buffer* error);
int32_t host_runs(const char* triple, const char* cpu, const char* features, tilert_llvm_buffer* error);

// compile.cpp
int32_t compile(const tilert_llvm_request* request, tilert_llvm_buffer* output, tilert_llvm_buffer* error);

// load.cpp
int32_t load(const uint8_t* bytes, size_t size, tilert_llvm_module** module, tilert_llvm_buffer* error);
void* entry(tilert_llvm_module* module, const char* name);
void release_module(tilert_llvm_module* module);

// The undefined symbols of an object that helpers.def does not list, comma separated; empty where all is well.
std::string unlisted_imports(std::string_view object);

}  // namespace tilert::llvm_plugin
