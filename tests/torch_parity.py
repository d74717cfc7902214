#!/usr/bin/env python3
"""Computes again with PyTorch what torch_parity_test.cpp wrote down, and says where it differs.

usage: torch_parity.py FOLDER      of safetensors files, each one operator or one step of a model

Prints a line per difference and at last how many files were compared. Exits with 1 where something
differs, and with 77 where PyTorch or safetensors is not installed.
"""

import json
import re
import sys
from pathlib import Path

try:
    import torch
    import torch.nn.functional as F
    from safetensors import safe_open
except ImportError as error:
    print(f"{sys.executable} cannot compare: {error}; install torch and safetensors, or name an"
          " interpreter that has them in TROIKA_PYTHON")
    sys.exit(77)

sys.dont_write_bytecode = True  # no caches in the source folder
from torch_models import MODELS
from torch_operators import CONSTANTS, OPERATORS

SCALARS = ["learning_rate", "update_step", "key_low", "key_high"]
CONTROLS = ["loss", "gradient_scale", "ok", "weight_sum", "gradient_norm"]


def read_file(path):
    """The metadata, and the tensors in the widest type of their kind."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        metadata = file.metadata()
    wide = {n: t.double() if t.is_floating_point() else t.long() for n, t in tensors.items()}
    return metadata, wide


def part(tensors, prefix):
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


class Row:
    """One operator: attributes, what it was given and what it made of it."""

    def __init__(self, text, position, tensors):
        self.position = json.loads(position)  # where a tile lies, in the order of tile_position
        self.operator, fields = re.fullmatch(r"(\w+)\{(.*)\}", text).groups()
        pairs = re.findall(r"(\w+)=(\[[^]]*\]|[^,]+)", fields)
        self.attributes = {name: self.value(field) for name, field in pairs}
        self.gradients = part(tensors, "given.grad.")
        self.given = {name: t for name, t in part(tensors, "given.").items() if "." not in name}
        self.made = part(tensors, "made.")

    @staticmethod
    def value(field):
        try:
            return json.loads(field)
        except json.JSONDecodeError:
            return field  # the name of a choice

    def get(self, attribute, default):
        return self.attributes.get(attribute, default)

    def __getitem__(self, slot):
        return self.given[slot]

    def __contains__(self, slot):
        return slot in self.given

    def numbered(self, prefix):
        return [self.given[f"{prefix}{at}"] for at in range(len(self.given))]

    def scalar(self, name):
        return self.given["scalars"][SCALARS.index(name)].item()

    def control(self, name):
        return self.given["control"][CONTROLS.index(name)].item()


def expected_of_row(row):
    """What PyTorch makes of a row, by the names under which ours is stored."""
    moved = [name.removeprefix("grad.") for name in row.made if name.startswith("grad.")]
    moved = [name for name in moved if name in row]
    if moved:
        floating = {name for name, t in row.given.items() if t.is_floating_point()}
        moved = sorted(floating - CONSTANTS.get(row.operator, set()))
    for name in moved:
        row[name].requires_grad_()
    if row.operator not in OPERATORS:
        raise LookupError(f"{row.operator} is not known to torch_operators.py")
    outputs = OPERATORS[row.operator](row)
    if moved:
        starts = {name: row.gradients[name] for name in outputs if name in row.gradients}
        starts = starts or {"loss_sum": torch.ones(1, dtype=torch.float64)}
        gradients = torch.autograd.grad([outputs[name] for name in starts],
                                        [row[name] for name in moved], list(starts.values()))
        outputs |= {"grad." + name: gradient for name, gradient in zip(moved, gradients)}
    return outputs


def movements(row, made):
    """What an update rule changes, as the change: small beside the weight, it must not hide."""
    return {name: t - row[name] if name in row else t for name, t in made.items()}


def expected_of_model(metadata, tensors):
    """Logits of the model as it predicts, then loss, gradients and states of one training step."""
    leaves = {name: t.clone() for name, t in part(tensors, "parameter.").items()}
    inputs = part(tensors, "input.")
    options = {n: value for n, value in metadata.items() if n not in ("model", "tolerance")}
    trained = part(part(tensors, "made."), "gradient.")
    for name in trained:
        leaves[name].requires_grad_()
    module, state = MODELS[metadata["model"]](leaves, **options)
    known = {name for name in module.state_dict() if not name.endswith(".num_batches_tracked")}
    assert known == state.keys(), f"other parameters: {sorted(known ^ state.keys())}"

    call = torch.func.functional_call
    made = {"logits": call(module.eval(), state, inputs["input"]).detach()}
    logits = call(module.train(), state, inputs["input"])
    losses = F.cross_entropy(logits.flatten(0, -2), inputs["target"].flatten(), reduction="none")
    weight = inputs["weight"].flatten()
    loss = (losses * weight).sum() / weight.sum()
    gradients = torch.autograd.grad(loss, [leaves[name] for name in trained])
    made |= {"gradient." + name: gradient for name, gradient in zip(trained, gradients)}
    made |= {"state." + name: t for name, t in leaves.items() if name not in trained}
    return made | {"loss": loss.detach().view(1)}


def differences(made, expected, tolerance):
    """Distances are relative to a tensor's largest element."""
    for name in sorted(made.keys() ^ expected.keys()):
        yield f"{name} is there on one side only"
    for name in sorted(made.keys() & expected.keys()):
        ours, theirs = made[name], expected[name].detach()
        if ours.shape != theirs.shape:
            yield f"{name} is {list(ours.shape)} instead of {list(theirs.shape)}"
            continue
        distance = ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-6)).item()
        if not distance <= tolerance:
            yield f"{name} differs by {distance:.2e} of its largest element"


def compare(path):
    metadata, tensors = read_file(path)
    if "operator" in metadata:
        row = Row(metadata["operator"], metadata["position"], tensors)
        made, expected = movements(row, row.made), movements(row, expected_of_row(row))
    else:
        made, expected = part(tensors, "made."), expected_of_model(metadata, tensors)
    return list(differences(made, expected, float(metadata["tolerance"])))


def main():
    torch.set_num_threads(1)
    compared, agree = 0, True
    for path in sorted(Path(sys.argv[1]).glob("*.safetensors")):
        try:
            lines = compare(path)
            compared += 1
        except Exception as error:  # the other files are still worth a look
            lines = [f"{type(error).__name__}: {error}"]
        for line in lines:
            print(f"{path.stem}: {line}")
        agree = agree and not lines
    print(f"compared {compared}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
