#include "serving/schedule/requests.h"

namespace flopcast::serving {

Slot RequestTable::add() {
  if (free_.empty()) {
    states_.emplace_back();
    prefixes_.emplace_back();
    return static_cast<Slot>(states_.size() - 1);
  }
  const Slot slot = free_.back();
  free_.pop_back();
  states_[slot] = RequestState{};
  prefixes_[slot].clear();
  return slot;
}

void RequestTable::remove(Slot slot) {
  states_[slot].phase = RequestState::Phase::kFree;
  free_.push_back(slot);
}

void SlotQueue::grow() {
  std::vector<Slot> wider(ring_.size() * 2);
  for (std::size_t i = 0; i < size_; ++i) wider[i] = (*this)[i];
  ring_.swap(wider);
  head_ = 0;
}

void SlotQueue::push_back(Slot slot) {
  if (size_ == ring_.size()) grow();
  ring_[(head_ + size_++) & (ring_.size() - 1)] = slot;
}

void SlotQueue::push_front(Slot slot) {
  if (size_ == ring_.size()) grow();
  head_ = (head_ - 1) & (ring_.size() - 1);
  ring_[head_] = slot;
  ++size_;
}

void SlotQueue::erase(Slot slot) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const Slot here = (*this)[i];
    if (here != slot) ring_[(head_ + kept++) & (ring_.size() - 1)] = here;
  }
  size_ = kept;
}

void RunningList::push_back(RequestTable& table, Slot slot) {
  RequestState& state = table[slot];
  state.before = back_;
  state.after = kNoSlot;
  (back_ == kNoSlot ? front_ : table[back_].after) = slot;
  back_ = slot;
  ++size_;
}

void RunningList::erase(RequestTable& table, Slot slot) {
  const RequestState& state = table[slot];
  (state.before == kNoSlot ? front_ : table[state.before].after) = state.after;
  (state.after == kNoSlot ? back_ : table[state.after].before) = state.before;
  --size_;
}

}  // namespace flopcast::serving
