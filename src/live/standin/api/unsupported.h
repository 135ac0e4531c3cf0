// What a function answers that the stand-in libraries have only so that programs load.
#pragma once

/// Says once in this process that `name` is not supported, as a line of the file that the environment
/// variable FLOPCAST_LIVE_LOG names (nowhere without it), and returns `answer`. Safe in any thread and
/// after fork; errno stays as it is. The generated functions call it (src/live/standin/api/generate.py).
extern "C" int flopcast_unsupported(const char* name, int answer);
