// What a plug-in has said of this thread.
#pragma once

#include <functional>

namespace flopcast::live {

/// Whether copies and fills move bytes and change what is valid; not while a plug-in makes the values.
bool values_move();
/// This thread is told something that a GPU would have told otherwise.
void fall_short();
/// Effects of work: what it does to bytes when it runs.
using Effect = std::function<void()>;
/// This thread has given work to a stream. @param captured the effect of the node that it became; null: it was not captured
void gave_work(Effect* captured);
/// A capture of a graph begins or is over.
void capture_begins();
void capture_ends();
/// The innermost operator of a plug-in; null outside.
const char* operator_inside();

}  // namespace flopcast::live
