// What the core of the stand-in libraries offers to a framework's plug-in (src/live/torch): device bytes and whether
// they are what a GPU would have there. Device memory is memory of the process: a plug-in reads and writes it.
#pragma once

#include <cstddef>
#include <cstdint>

#define FLOPCAST_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

/// Of these declarations. A plug-in that was compiled with another one does not start.
inline constexpr std::uint32_t kFlopcastPluginVersion = 1;

FLOPCAST_PLUGIN_EXPORT std::uint32_t flopcast_live_version();

/// Whether all of these bytes are valid.
FLOPCAST_PLUGIN_EXPORT bool flopcast_live_valid(const void* at, std::size_t bytes);
FLOPCAST_PLUGIN_EXPORT void flopcast_live_mark_valid(const void* at, std::size_t bytes);
FLOPCAST_PLUGIN_EXPORT void flopcast_live_taint(const void* at, std::size_t bytes);

/// Until the matching end, calls of this thread are recorded and take their time, but move no bytes and taint none: the
/// plug-in makes the values itself. They nest.
FLOPCAST_PLUGIN_EXPORT void flopcast_live_values_begin();
FLOPCAST_PLUGIN_EXPORT void flopcast_live_values_end();
