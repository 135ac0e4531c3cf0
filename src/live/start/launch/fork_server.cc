// Ranks made out of one process that has loaded what all of them want: serve.py, as the launcher talks to it.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/text/json_writer.h"
#include "live/start/launch/launcher.h"

namespace flopcast::live {
namespace {

Diagnostic server_failed(std::string_view what) {
  return {ErrorCode::kBadInput, "fork server", std::string(what),
          "what it wrote is above; --no-fork-server starts every rank alone"};
}

/// What serve.py reads.
std::string request_text(const ForkedProgram& program, const std::vector<ForkedRank>& ranks,
                         int reports) {
  JsonWriter w;
  w.begin_object();
  w.integer("reports", reports);
  w.text("script", program.script);
  const auto list = [&w](std::string_view key, const std::vector<std::string>& texts) {
    w.begin_array(key);
    for (const std::string& text : texts) w.text({}, text);
    w.end_array();
  };
  list("arguments", program.arguments);
  list("imports", program.imports);
  w.begin_array("ranks");
  for (const ForkedRank& rank : ranks) {
    w.begin_object();
    w.begin_object("environment");
    for (const auto& [name, value] : rank.environment) w.text(name, value);
    w.end_object();
    w.begin_array("output");
    for (const int descriptor : rank.output) w.integer({}, descriptor);
    w.end_array();
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return std::move(w).take();
}

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A file without a name that holds the text, to be read from its beginning.
Descriptor file_of(std::string_view text) {
  Descriptor file(::memfd_create("flopcast", MFD_CLOEXEC));
  if (!file || !write_whole(file.get(), text) || ::lseek(file.get(), 0, SEEK_SET) != 0)
    return Descriptor();
  return file;
}

}  // namespace

std::optional<Diagnostic> Launcher::serve(const Command& server, const ForkedProgram& program,
                                          const std::vector<ForkedRank>& ranks,
                                          const std::function<bool()>& stop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return server_failed("there is no pipe left");
  reports_ = Descriptor(ends[0]);
  ::fcntl(reports_.get(), F_SETFL, O_NONBLOCK);
  Descriptor to_us(ends[1]);
  const Descriptor request = file_of(request_text(program, ranks, to_us.get()));
  if (!request) return server_failed("there is no room for its request");
  Command command = server;
  command.words.push_back(std::to_string(request.get()));
  command.inherited = {request.get(), to_us.get()};
  for (const ForkedRank& rank : ranks) {
    for (const int descriptor : rank.output) {
      if (descriptor >= 0) command.inherited.push_back(descriptor);
    }
  }
  const Result<pid_t> pid = spawn(command);
  if (!pid) return pid.error();
  server_ = *pid;
  to_us = Descriptor();  // the server's alone: it closes when that ends
  first_forked_ = children_.size();
  for (std::size_t i = 0; i < ranks.size(); ++i) children_.push_back({0, false, true});
  const auto all_there = [this] {
    for (std::size_t i = first_forked_; i < children_.size(); ++i) {
      if (children_[i].pid == 0) return false;
    }
    return true;
  };
  while (!all_there() && running() > 0 && !(stop && stop())) {
    pollfd line{reports_.get(), POLLIN, 0};
    ::poll(&line, 1, 100);
    hear_server();
  }
  if (all_there()) return std::nullopt;
  return server_failed(stop && stop() ? "stopped before all ranks were there"
                                      : "ended before all ranks were there");
}

/// Lines "started RANK PID" and "ended RANK STATUS". A server that is gone has taken its ranks along.
void Launcher::hear_server() {
  if (!reports_) return;
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  while ((got = ::read(reports_.get(), bytes.data(), bytes.size())) > 0)
    heard_.append(bytes.data(), static_cast<std::size_t>(got));
  for (std::size_t end = 0; (end = heard_.find('\n')) != std::string::npos;
       heard_.erase(0, end + 1)) {
    const std::string_view line = std::string_view(heard_).substr(0, end);
    const std::size_t first = line.find(' '), second = line.rfind(' ');
    std::size_t rank = 0;
    int value = 0;
    std::from_chars(line.data() + first + 1, line.data() + second, rank);
    std::from_chars(line.data() + second + 1, line.data() + line.size(), value);
    if (first_forked_ + rank >= children_.size()) continue;
    Child& child = children_[first_forked_ + rank];
    if (line.starts_with("started")) {
      child.pid = value;
    } else if (!child.ended) {
      child.ended = true;
      endings_.push_back({first_forked_ + rank, value});
    }
  }
  if (got != 0) return;
  reports_ = Descriptor();
  for (std::size_t i = first_forked_; i < children_.size(); ++i) {
    if (children_[i].ended || !children_[i].forked) continue;
    children_[i].ended = true;
    endings_.push_back({i, 128 + SIGKILL});
  }
}

}  // namespace flopcast::live
