// Modules made of modules, and the names of their parts.
#include <fmt/format.h>
#include <troika/error.h>
#include <troika/nn.h>

#include <map>

#include "api/node.h"
#include "graph/layers.h"

namespace troika::nn {
namespace {

using internal::Node;
using internal::Place;

Module make(Node node) { return Module(std::make_shared<const Node>(std::move(node))); }

void require_part(const Module& module) {
  if (module.node().zoo)
    throw Error(
        ErrorKind::usage,
        fmt::format("nn::zoo(\"{}\") is a whole network and cannot be a part of another one",
                    module.node().zoo->name));
}

TensorId apply_in_order(const std::vector<Module>& modules, const Place& at, TensorId x) {
  // Names are positions within their kind ("conv2"), so adding a layer of another kind does not
  // rename the parameters of a checkpoint.
  std::map<std::string, int> counts;
  for (const Module& module : modules) {
    const Node& node = module.node();
    std::string name =
        node.name.empty() ? node.kind + std::to_string(++counts[node.kind]) : node.name;
    x = node.apply(at.inside(name), x);
  }
  return x;
}

/// A body without a name uses that of the residual, so that a wrapping sequence does not appear in
/// the names of parameters.
TensorId apply_body(const Module& body, const Place& at, TensorId x) {
  bool transparent = body.node().is_sequence && body.node().name.empty();
  return transparent ? body.node().apply(at, x) : apply_in_order({body}, at, x);
}

TensorId apply_residual(const ResidualOptions& options, const Place& at, TensorId x) {
  TensorId y = apply_body(options.body, at, x);
  if (options.shortcut) {
    const Node& node = options.shortcut->node();
    x = node.apply(at.inside(node.name.empty() ? "shortcut" : node.name), x);
  }
  GraphBuilder& b = at.builder;
  if (b.shape(x) != b.shape(y))
    throw Error(ErrorKind::usage,
                fmt::format("'{}' cannot add its body's result {} to {}; give it a shortcut to the "
                            "body's shape, such as a conv2d with kernel 1",
                            at.name, to_string(b.shape(y)), to_string(b.shape(x))));
  return layers::add(b, at.name + ".add", y, x);
}

}  // namespace

Module Module::named(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos)
    throw Error(ErrorKind::usage,
                fmt::format("a module cannot be called '{}'; give it a name without a dot", name));
  Node node = *node_;
  node.name = name;
  return make(std::move(node));
}

Module sequential(std::vector<Module> modules) {
  if (modules.empty()) throw Error(ErrorKind::usage, "nn::sequential needs at least one module");
  for (const Module& module : modules) require_part(module);
  return make({.kind = "sequential",
               .apply = [modules = std::move(modules)](
                            const Place& at, TensorId x) { return apply_in_order(modules, at, x); },
               .is_sequence = true});
}

Module residual(const ResidualOptions& options) {
  require_part(options.body);
  if (options.shortcut) require_part(*options.shortcut);
  return make({.kind = "residual", .apply = [options](const Place& at, TensorId x) {
                 return apply_residual(options, at, x);
               }});
}

Module zoo(const std::string& name, std::vector<ZooOption> options) {
  zoo::ModelRequest request{.name = name};
  for (ZooOption& option : options)
    request.options.push_back({std::move(option.name), std::move(option.value)});
  return make({.kind = "zoo", .zoo = std::move(request)});
}

}  // namespace troika::nn
