// What the core of the stand-in libraries offers to a framework's plug-in (src/live/standin/torch): device bytes and whether
// they are what a GPU would have there. Device memory is memory of the process: a plug-in reads and writes it.
#pragma once

#include <cstddef>
#include <cstdint>

#define FLOPCAST_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

/// Of these declarations. A plug-in that was compiled with another one does not start.
inline constexpr std::uint32_t kFlopcastPluginVersion = 5;

FLOPCAST_PLUGIN_EXPORT std::uint32_t flopcast_live_version();

/// What a run wants of values.
struct FlopcastValues {
  /// Operators and kernels are executed whose tensors all have at most so many elements.
  std::int64_t elements = 16384;
  /// Operators on integers and booleans alone up to here.
  std::int64_t integers = std::int64_t{1} << 22;
  /// Exponent of the law by which tainted scores choose; 0: all are chosen as often.
  double skew = 0;
  /// The first read of a tainted value ends the run.
  bool strict = false;
  /// What a tainted floating-point number is read as.
  double tainted = 0;
  /// But zero is read by code that looks for numbers that are not finite, and where several are read at once.
  bool spares_programs = true;
};
/// They stay as they are.
FLOPCAST_PLUGIN_EXPORT const FlopcastValues* flopcast_live_values();

/// Whether all of these bytes are valid.
FLOPCAST_PLUGIN_EXPORT bool flopcast_live_valid(const void* at, std::size_t bytes);
FLOPCAST_PLUGIN_EXPORT void flopcast_live_mark_valid(const void* at, std::size_t bytes);
FLOPCAST_PLUGIN_EXPORT void flopcast_live_taint(const void* at, std::size_t bytes);

/// This thread is in an operator of the plug-in until the matching end; they nest. Kernels that it launches taint nothing: the
/// plug-in says itself what they wrote. @param name stays as it is until then
FLOPCAST_PLUGIN_EXPORT void flopcast_live_operator_begin(const char* name);
FLOPCAST_PLUGIN_EXPORT void flopcast_live_operator_end();

/// While it is on, calls of this thread are recorded and take their time, but move no bytes and taint none, and what is read
/// back is zero: the plug-in makes the values itself. It nests: as many times off as on.
FLOPCAST_PLUGIN_EXPORT void flopcast_live_launches_only(bool on);

/// From here to the matching end this thread works for the plug-in alone, which takes the program no host time. They nest.
FLOPCAST_PLUGIN_EXPORT void flopcast_live_own_work(bool begins);

/// How often this thread was told something that a GPU would have told otherwise: calls that are not supported, and zeroes
/// read back while launches_only is on. PyTorch's own kernel may stumble over those.
FLOPCAST_PLUGIN_EXPORT std::uint64_t flopcast_live_shortfalls();

/// Whether any stream captures a graph.
FLOPCAST_PLUGIN_EXPORT bool flopcast_live_capturing();
/// Whether the last work that this thread gave to a stream, in the operator that it is in, was captured.
FLOPCAST_PLUGIN_EXPORT bool flopcast_live_captured();
/// Where it was: run(data) is called each time that the graph is launched, behind that work, and drop(data) when no graph has
/// it any more.
FLOPCAST_PLUGIN_EXPORT void flopcast_live_when_launched(void (*run)(void*), void* data,
                                                        void (*drop)(void*));

/// Where values end: the first work of this process that is not computed though all that it reads is valid. Wanted until
/// one was told. @param why in a few words
FLOPCAST_PLUGIN_EXPORT bool flopcast_live_origin_wanted();
FLOPCAST_PLUGIN_EXPORT void flopcast_live_not_computed(const char* what, const char* why);

/// This thread reads so many floating-point numbers of so many bytes each back, until it is told of none: each that is tainted
/// has these bits.
FLOPCAST_PLUGIN_EXPORT void flopcast_live_reads_numbers(std::uint64_t bits, std::size_t width,
                                                        std::size_t count);
/// What such a number should be read as, here where the thread is: NaN or another number, as the run wants it.
FLOPCAST_PLUGIN_EXPORT double flopcast_live_tainted_number();

/// A tensor got assumed values in place of tainted ones. Counted for the run's report.
FLOPCAST_PLUGIN_EXPORT void flopcast_live_assumed();
