#include "graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/number_text.h"

namespace troika {
namespace {

// In the order of Init::Kind.
constexpr std::array<std::string_view, 4> kInitNames{"zeros", "ones", "normal", "uniform"};

template <class Ids>
std::string names_of(const Graph& graph, const Ids& ids) {
  std::string text;
  for (auto id : ids) text += (text.empty() ? "" : " ") + graph[id].name;
  return text;
}

std::string parameter_line(const Parameter& parameter) {
  std::string line = fmt::format("parameter {} {} {}", parameter.name, to_string(parameter.spec),
                                 kInitNames[static_cast<std::size_t>(parameter.init.kind)]);
  // The scale is the only number behind the kind, so it can be left out and still be found.
  if (parameter.init.scale != 0) line += fmt::format(" {}", parameter.init.scale);
  if (parameter.state) line += " state";
  if (!parameter.trained) line += " frozen";
  return line + "\n";
}

/// Reads the words and bracketed lists of one line.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  std::string_view word() {
    skip();
    std::size_t end = std::min(rest_.find(' '), rest_.size());
    if (end == 0) throw Error(ErrorKind::file, "the line ends too early");
    return take(end);
  }
  std::vector<std::string_view> list(char open, char close) {
    skip();
    // Names have no spaces and lists do not nest, so the first closing bracket ends the list.
    std::size_t end = rest_.find(close);
    if (rest_.empty() || rest_.front() != open || end == std::string_view::npos)
      throw Error(ErrorKind::file, fmt::format("expected a list in {} {}", open, close));
    Line inner(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return inner.words();
  }
  std::vector<std::string_view> words() {
    std::vector<std::string_view> all;
    while (!done()) all.push_back(word());
    return all;
  }
  bool done() {
    skip();
    return rest_.empty();
  }

 private:
  void skip() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  std::string_view take(std::size_t count) {
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
};

/// Reads line by line; a line may refer to names of earlier lines only.
class GraphReader {
 public:
  void read(std::string_view text) {
    Line line(text);
    std::string_view kind = line.word();
    if (kind == "graph")
      graph.name = line.word();
    else if (kind == "input")
      read_input(line);
    else if (kind == "parameter")
      read_parameter(line);
    else if (kind == "operator")
      read_operator(line);
    else if (kind == "output")
      read_output(line);
    else if (kind == "loss")
      read_loss(line);
    else
      throw Error(ErrorKind::file, fmt::format("'{}' does not begin a line of a graph", kind));
    if (!line.done()) throw Error(ErrorKind::file, "the line has too many words");
  }
  Graph graph;

 private:
  TensorId tensor(std::string_view name) const {
    TensorId id = find_tensor(graph, name);
    if (!id.valid()) throw Error(ErrorKind::file, fmt::format("no tensor is called '{}'", name));
    return id;
  }

  void read_input(Line& line) {
    graph.inputs.push_back(TensorId(graph.tensors.size()));
    std::string name(line.word());
    graph.tensors.push_back({name, parse_tensor_spec(line.word()), {}});
  }

  void read_parameter(Line& line) {
    Parameter parameter{.name = std::string(line.word())};
    parameter.spec = parse_tensor_spec(line.word());
    auto init = std::ranges::find(kInitNames, line.word());
    if (init == kInitNames.end())
      throw Error(ErrorKind::file,
                  "the initial values of a parameter must be zeros, ones, normal or uniform");
    parameter.init.kind = static_cast<Init::Kind>(init - kInitNames.begin());
    for (std::string_view word : line.words()) {
      if (word == "state")
        parameter.state = true;
      else if (word == "frozen")
        parameter.trained = false;
      else if (auto scale = parse_number<double>(word))
        parameter.init.scale = *scale;
      else
        throw Error(ErrorKind::file,
                    fmt::format("'{}' is not a number, 'state' or 'frozen'", word));
    }
    graph.parameters.push_back(parameter);
  }

  void read_operator(Line& line) {
    Operator op{.name = std::string(line.word())};
    op.op = parse_op(line.word());
    for (std::string_view name : line.list('(', ')')) op.inputs.push_back(tensor(name));
    for (std::string_view name : line.list('[', ']')) {
      auto found = std::ranges::find(graph.parameters, name, &Parameter::name);
      if (found == graph.parameters.end())
        throw Error(ErrorKind::file, fmt::format("no parameter is called '{}'", name));
      op.parameters.push_back(
          ParameterId(static_cast<std::size_t>(found - graph.parameters.begin())));
    }
    if (line.word() != "->") throw Error(ErrorKind::file, "expected -> and the outputs");
    // The text gives no shapes of outputs: the signature computes them.
    Signature s = signature(graph, op);
    take_merged(s, op);
    std::vector<std::string_view> names = line.words();
    std::vector<int> outputs = s.slots_of(Role::output);
    if (names.size() != outputs.size())
      throw Error(ErrorKind::file, fmt::format("'{}' has {} outputs", op.name, outputs.size()));
    for (std::size_t at = 0; at < names.size(); ++at) {
      op.outputs.push_back(TensorId(graph.tensors.size()));
      graph.tensors.push_back({std::string(names[at]),
                               s.slots[static_cast<std::size_t>(outputs[at])].spec,
                               OperatorId(graph.operators.size())});
    }
    graph.operators.push_back(op);
  }

  /// The signature also says which dimensions of a parameter are one in files.
  void take_merged(const Signature& s, const Operator& op) {
    std::size_t at = 0;
    for (const Slot& slot : s.slots) {
      if (slot.role != Role::weight && slot.role != Role::state) continue;
      if (at < op.parameters.size())
        graph.parameters[op.parameters[at].index()].merged = slot.merged;
      ++at;
    }
  }

  void read_output(Line& line) {
    std::string name(line.word());
    graph.outputs.push_back({name, tensor(line.word())});
  }

  void read_loss(Line& line) {
    TensorId loss_sum = tensor(line.word());
    graph.loss = Loss{loss_sum, tensor(line.word())};
  }
};

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text = "graph " + graph.name + "\n";
  // Inputs and parameters come first and operators in topological order, so that the reader finds
  // every name in an earlier line.
  for (TensorId input : graph.inputs)
    text += "input " + graph[input].name + " " + to_string(graph[input].spec) + "\n";
  for (const Parameter& parameter : graph.parameters) text += parameter_line(parameter);
  for (const Operator& op : graph.operators)
    text += fmt::format("operator {} {} ({}) [{}] -> {}\n", op.name, to_text(op.op),
                        names_of(graph, op.inputs), names_of(graph, op.parameters),
                        names_of(graph, op.outputs));
  for (const NamedTensor& output : graph.outputs)
    text += "output " + output.name + " " + graph[output.tensor].name + "\n";
  if (graph.loss)
    text += "loss " + graph[graph.loss->loss_sum].name + " " + graph[graph.loss->weight_sum].name +
            "\n";
  return text;
}

Graph parse_graph(std::string_view text) {
  GraphReader reader;
  for (int number = 1; !text.empty(); ++number) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    // The last line may lack its line feed.
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    try {
      reader.read(line);
    } catch (const Error& error) {
      // An operator refuses its inputs with Error(usage); in a text that is a mistake of the file.
      throw Error(ErrorKind::file, fmt::format("line {}: {}", number, error.what()));
    }
  }
  verify(reader.graph);
  return reader.graph;
}

}  // namespace troika
