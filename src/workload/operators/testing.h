// What the tests of operators share.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/workload/operators.h"

namespace flopcast::test {

inline Model model_named(const std::string& name) { return *load_model(name); }

inline double matrix_flops(const OperatorList& list, bool with_recompute) {
  double sum = 0;
  for (const Operator& op : list.operators) {
    const double forward = total_work(op.forward).matrix.value;
    sum += (with_recompute && op.recomputed ? 2 : 1) * forward;
    sum += total_work(op.backward_input).matrix.value;
    sum += total_work(op.backward_weight).matrix.value;
  }
  return sum;
}

inline const Operator& find(const OperatorList& list, std::string_view name) {
  for (const Operator& op : list.operators) {
    if (op.name == name) return op;
  }
  ADD_FAILURE() << "no operator " << name;
  return list.operators.front();
}

inline bool has(const OperatorList& list, std::string_view name) {
  for (const Operator& op : list.operators) {
    if (op.name == name) return true;
  }
  return false;
}

template <typename T>
const T& kernel_of(const OperatorStep& step) {
  return std::get<T>(std::get<Kernel>(step.what));
}

/// Bytes sent by operation and group, forward and backward.
inline std::map<std::string, double> sent(const OperatorList& list, bool forward) {
  std::map<std::string, double> bytes;
  const auto add = [&](const std::vector<OperatorStep>& steps) {
    for (const OperatorStep& step : steps) {
      const Transfer* transfer = std::get_if<Transfer>(&step.what);
      if (transfer == nullptr) continue;
      bytes[std::string(name(transfer->op)) + " " + std::string(name(transfer->group))] +=
          transfer->size.value * step.count;
    }
  };
  for (const Operator& op : list.operators) {
    if (forward) {
      add(op.forward);
    } else {
      add(op.backward_input);
      add(op.backward_weight);
    }
  }
  return bytes;
}
using Sent = std::map<std::string, double>;

}  // namespace flopcast::test
