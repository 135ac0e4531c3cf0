#include "live/standin/torch/replay.h"

#include <memory>

#include "live/standin/torch/execute.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// The same memory, owned by nobody.
at::Tensor address_of(const at::Tensor& tensor) {
  if (!of_gpu(tensor) || tensor.numel() == 0) return tensor;
  at::Tensor same = at::for_blob(const_cast<void*>(tensor.const_data_ptr()), tensor.sizes())
                        .strides(tensor.strides())
                        .options(at::TensorOptions().dtype(tensor.dtype()).device(tensor.device()))
                        .target_device(tensor.device())
                        .make_tensor();
  same._set_conj(tensor.is_conj());
  same._set_neg(tensor.is_neg());
  return same;
}

c10::IValue address_of(const c10::IValue& value) {
  if (value.isTensor()) return address_of(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const c10::IValue& item : value.toListRef()) list.push_back(address_of(item.toTensor()));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& item : value.toListRef()) {
      list.push_back(item.isTensor() ? std::optional(address_of(item.toTensor())) : std::nullopt);
    }
    return list;
  }
  return value;
}

Values addresses_of(const Values& values) {
  Values all;
  for (const c10::IValue& value : values) all.push_back(address_of(value));
  return all;
}

struct Kept {
  Kept(const Call& made, const Values& made_outputs, bool is_small)
      : handle(made.handle),
        call{made.what, handle, made.keys, addresses_of(made.arguments), made.device, made.plain},
        outputs(addresses_of(made_outputs)),
        small(is_small) {}
  c10::OperatorHandle handle;  ///< which the call refers to
  Call call;
  Values outputs;
  bool small;
};

void run(void* of) {
  auto& kept = *static_cast<Kept*>(of);
  Values outputs = kept.outputs;
  replay(kept.call, outputs, kept.small);
}

void drop(void* of) { delete static_cast<Kept*>(of); }

}  // namespace

void keep_for_replays(const Call& call, const Values& outputs, bool small) {
  // What was captured has not run: all memory is still what it was, also where its outputs will lie. What lies there may
  // be read by work that was captured before.
  flopcast_live_when_launched(run, new Kept(call, outputs, small), drop);
}

}  // namespace flopcast::plugin
