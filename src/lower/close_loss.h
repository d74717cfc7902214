// Numbers of the whole step that every device must know: the loss, norms, requests of the hosts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/draft.h"

namespace troika {

/// A number f64[1] on some devices.
using Sums = std::map<DeviceId, BufferId>;

/// What each device has of a sum that is spread over values of one number: of each term one piece.
Sums local_sums(Draft& draft, const std::string& fragment, const std::string& name,
                const std::vector<Value*>& values);

/// Several such sums added up over all devices of the machine in one message: on every device, each
/// of them. A device that has none adds nothing.
std::map<DeviceId, std::vector<BufferId>> add_up_everywhere(Draft& draft,
                                                            const std::string& fragment,
                                                            const std::vector<Sums>& sums);

/// One sum, added up over devices.
Sums sum_everywhere(Draft& draft, const std::string& fragment, const std::string& name,
                    const std::vector<Value*>& values);

/// After the last forward: the loss over all micro-batches and devices, and the guards where they
/// look at the loss alone. With several devices the message also carries what the hosts ask for:
/// each writes "step.requests" before the step and reads their sum after it.
void close_loss(Draft& draft);

/// One guard per device; `square_sums` is empty where it looks at the loss alone.
void add_guards(Draft& draft, const Sums& square_sums);

}  // namespace troika
