// A fuzz target: a function of any bytes, found by its name in the one program of all targets.
//
//   FUZZ_TARGET(data, size) {
//     ... what must be true of these bytes ...
//     return 0;
//   }
//
// One in a file; src/trace/kineto/kineto_fuzz.cc is trace_kineto_kineto_fuzz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace flopcast::test {

/// As LLVMFuzzerTestOneInput: 0, or -1 for an input that says nothing new.
using FuzzFunction = int (*)(const std::uint8_t* data, std::size_t size);

/// What FUZZ_TARGET leaves for the program to find.
struct FuzzTarget {
  FuzzTarget(const char* file, FuzzFunction function);

  const char* source_file;
  FuzzFunction one_input;
  const FuzzTarget* next;  ///< registered before
};

/// A finding where it does not hold.
inline void check(bool condition) {
  if (!condition) std::abort();
}

}  // namespace flopcast::test

// Several files may be compiled as one.
#define FUZZ_TARGET(data, size) FUZZ_TARGET_OF_NUMBER(__COUNTER__, data, size)
#define FUZZ_TARGET_OF_NUMBER(number, data, size) FUZZ_TARGET_NAMED(number, data, size)
#define FUZZ_TARGET_NAMED(number, data, size)                                              \
  static int fuzz_one_input_##number(const std::uint8_t* data, std::size_t size);          \
  static const ::flopcast::test::FuzzTarget fuzz_target_##number{__FILE__,                 \
                                                                 fuzz_one_input_##number}; \
  static int fuzz_one_input_##number(const std::uint8_t* data, std::size_t size)
