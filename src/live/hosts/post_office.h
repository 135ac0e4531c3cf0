// Takes the letters of this machine's processes to other machines, and hangs those of others here. A letter is held where it was
// written, and by each of its copies, until all that it has readers have read it, wherever those are.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "flopcast/base.h"
#include "live/hosts/frame.h"
#include "live/hosts/frames.h"
#include "live/wire/outboxes.h"

namespace flopcast::live {

class PostOffice {
 public:
  /// @param file as processes of this machine share it, which `common` lies in; as long as the office
  PostOffice(int file, Common& common, std::uint32_t machine);

  /// What others have to know: letters that were written here until now, and what was read since it was looked at last. By one
  /// thread. @param readers_too or letters alone: to look at readers takes as long as there are letters that some have not read
  std::vector<FrameWriter> collect(bool readers_too = true);
  /// A letter, or news of one, has come. By any thread. @return what is wrong with it
  std::optional<std::string> take(FrameReader& frame);

 private:
  struct Copy {
    std::uint64_t key = 0;
    LetterPlace place = 0;
    std::uint32_t readers = 0;  ///< that had not read it when it was looked at last
    bool done = false;          ///< nobody will
  };
  void collect_written(std::vector<FrameWriter>& frames);
  void collect_read(std::vector<FrameWriter>& frames);
  std::optional<std::string> hang(FrameReader& frame);
  std::optional<std::string> take_read(FrameReader& frame);
  std::optional<std::string> take_done(FrameReader& frame);
  void drop(std::uint64_t letter);

  std::mutex lock_;
  Common& common_;
  std::uint32_t machine_;
  Outboxes boxes_;
  std::vector<LetterPlace> held_;                          ///< written here, not read by all
  std::map<std::uint64_t, Copy> copies_;                   ///< by letter
  std::unordered_map<std::uint64_t, std::uint64_t> last_;  ///< of a chain's copies, by its key
};

}  // namespace flopcast::live
