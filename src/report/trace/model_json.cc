#include "base/text/json_writer.h"
#include "flopcast/report/trace.h"

namespace flopcast {
namespace {

using replaying::kNoIndex;

/// The program behind a recording as one document.
class ModelJson {
 public:
  ModelJson(const TraceSet& set, const replaying::Recording& recording, const TraceModel& model)
      : set_(set), recording_(recording), model_(model) {}

  std::string run() {
    w_.begin_object();
    w_.text("name", set_.label);
    for (const auto& [name, degree] : {std::pair{"dp", model_.dp},
                                       {"pp", model_.pp},
                                       {"tp", model_.tp},
                                       {"cp", model_.cp},
                                       {"ep", model_.ep},
                                       {"microbatches", model_.microbatches},
                                       {"chunks", model_.chunks},
                                       {"layers", model_.layers}}) {
      w_.count(name, degree);
    }
    w_.text("layer_evidence", model_.layer_evidence);
    w_.text("schedule", model_.schedule);
    w_.text("schedule_evidence", model_.schedule_evidence);
    w_.boolean("zero", model_.zero);
    w_.boolean("recompute", model_.recompute);
    w_.boolean("host_rows", model_.has_host);
    w_.boolean("shapes", model_.has_shapes);
    w_.begin_array("groups");
    for (const ModelGroup& g : model_.groups) group(g);
    w_.end_array();
    w_.begin_array("ranks");
    for (const ModelStage& s : model_.stages) stage(s);
    w_.end_array();
    w_.end_object();
    return std::move(w_).take();
  }

 private:
  void group(const ModelGroup& g) {
    w_.begin_object({}, JsonWriter::Layout::kLine);
    w_.text("use", group_use_name(g.use));
    w_.text("name", set_.strings[g.name]);
    w_.begin_array("ranks", JsonWriter::Layout::kLine);
    for (const std::int32_t rank : g.ranks) w_.integer({}, rank);
    w_.end_array();
    w_.count("size", g.size);
    w_.text("evidence", g.evidence);
    w_.end_object();
  }

  void stage(const ModelStage& s) {
    w_.begin_object();
    w_.integer("rank", recording_.ranks[s.rank].rank);
    w_.count("stage", s.stage);
    w_.count("layers", s.layers);
    w_.count("steps", s.steps);
    w_.begin_array("passes", JsonWriter::Layout::kLine);
    for (const std::string& pass : s.order) w_.text({}, pass);
    w_.end_array();
    w_.begin_array("units");
    for (const ModelUnit& u : s.units) unit(u);
    w_.end_array();
    w_.begin_array("buckets");
    for (const ModelBucket& b : s.buckets) bucket(s, b);
    w_.end_array();
    w_.end_object();
  }

  void unit(const ModelUnit& u) {
    w_.begin_object();
    w_.text("name", u.name);
    w_.text("pass", pass_name(u.pass));
    w_.text("part", unit_part_name(u.part));
    w_.count("copies", u.segments.size());
    w_.boolean("recomputes", u.recomputes);
    w_.seconds("host_end_s", u.host_end);
    w_.begin_array("kernels");
    for (const ModelKernel& k : u.kernels) kernel(k);
    w_.end_array();
    w_.end_object();
  }

  void kernel(const ModelKernel& k) {
    w_.begin_object({}, JsonWriter::Layout::kLine);
    w_.text("name", set_.strings[k.name]);
    w_.seconds("gpu_s", k.duration);
    w_.ratio("spread", k.spread);
    w_.seconds("host_s", k.host);
    w_.seconds("launch_s", k.launch);
    w_.count("blocks", k.blocks);
    w_.text("shapes", set_.strings[k.dims]);
    w_.integer("bytes", k.bytes);
    if (k.group != kNoIndex) w_.count("group", k.group);
    if (k.operation != 0) w_.text("operation", set_.strings[k.operation]);
    if (k.recomputed) w_.boolean("recomputed", true);
    w_.begin_array("after", JsonWriter::Layout::kLine);
    for (const ModelEdge& e : k.after) {
      w_.begin_object({}, JsonWriter::Layout::kLine);
      w_.text("kind", edge_kind_name(e.kind));
      w_.count("unit", e.unit);
      w_.count("position", e.position);
      w_.count("back", e.back);
      w_.end_object();
    }
    w_.end_array();
    w_.end_object();
  }

  void bucket(const ModelStage& s, const ModelBucket& b) {
    w_.begin_object({}, JsonWriter::Layout::kLine);
    w_.count("step", b.step);
    w_.integer("bytes", b.bytes);
    if (b.group != kNoIndex) w_.count("group", b.group);
    w_.count("unit", s.segments[b.segment].unit);
    w_.count("position", b.position);
    if (b.first_layer <= b.last_layer) {
      w_.count("first_layer", b.first_layer);
      w_.count("last_layer", b.last_layer);
    }
    w_.end_object();
  }

  const TraceSet& set_;
  const replaying::Recording& recording_;
  const TraceModel& model_;
  JsonWriter w_;
};

}  // namespace

std::string trace_model_json(const TraceSet& set, const replaying::Recording& recording,
                             const TraceModel& model) {
  return ModelJson(set, recording, model).run();
}

}  // namespace flopcast
