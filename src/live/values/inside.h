// What a plug-in has said of this thread.
#pragma once

namespace flopcast::live {

/// Whether copies and fills move bytes and change what is valid; not while a plug-in makes the values.
bool values_move();
/// This thread is told something that a GPU would have told otherwise.
void fall_short();
/// The innermost operator of a plug-in; null outside.
const char* operator_inside();

}  // namespace flopcast::live
