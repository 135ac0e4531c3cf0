// The plug-in of the framework that a program uses.
#pragma once

namespace flopcast::live {

/// Loads the plug-in that FLOPCAST_LIVE_TORCH names once PyTorch is there. Called where PyTorch first asks for GPUs: all its
/// operators are registered by then, and none has run.
void load_plugin();

}  // namespace flopcast::live
