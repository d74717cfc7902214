"""Every operator of Troika as PyTorch computes it.

Each function takes a row (torch_parity.Row) and returns its outputs by slot name. Attributes that
a row leaves out have the operator's default, stated here once more.
"""

import torch
import torch.nn.functional as F


def linear(row):
    return {"y": F.linear(row["x"], row["weight"])}


def bias(row):
    shape = [1] * row["x"].dim()
    shape[row.get("dim", -1)] = -1
    return {"y": row["x"] + row["bias"].view(shape)}


def position(row):
    return {"y": row["x"] + row["weight"]}


def binary(row):
    function = {"add": torch.add, "multiply": torch.mul}[row.get("kind", "add")]
    return {"y": function(row["a"], row["b"])}


def activation(row):
    function = {
        "relu": F.relu,
        "leaky_relu": lambda x: F.leaky_relu(x, row.get("slope", 0.01)),
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
    }[row.get("kind", "relu")]
    return {"y": function(row["x"])}


def padded(row, value=0.0, sign=1):
    """x with the rows and columns of pad and pad_end around it; negative ones are cut off."""
    (top, left), (bottom, right) = row.get("pad", [0, 0]), row.get("pad_end", [0, 0])
    return lambda x: F.pad(x, [sign * n for n in (left, right, top, bottom)], value=value)


def conv2d(row):
    return {"y": F.conv2d(padded(row)(row["x"]), row["weight"], stride=row.get("stride", [1, 1]),
                          dilation=row.get("dilation", [1, 1]), groups=row.get("groups", 1))}


def conv_transpose2d(row):
    whole = F.conv_transpose2d(row["x"], row["weight"], stride=row.get("stride", [1, 1]))
    return {"y": padded(row, sign=-1)(whole)}


def pool2d(row):
    window, stride = row.get("window", [1, 1]), row.get("stride", [1, 1])
    if row.get("kind", "max") == "max":
        return {"y": F.max_pool2d(padded(row, value=-torch.inf)(row["x"]), window, stride)}
    average = F.avg_pool2d(padded(row)(row["x"]), window, stride)
    if row.get("include_padding", False):
        return {"y": average}
    seen = F.avg_pool2d(padded(row)(torch.ones_like(row["x"])), window, stride)
    return {"y": average / seen}


def global_pool(row):
    x = row["x"]
    if row.get("kind", "average") == "max":
        return {"y": F.adaptive_max_pool2d(x, 1).flatten(1)}
    return {"y": F.adaptive_avg_pool2d(x, 1).flatten(1)}


def batch_norm(row):
    x, gamma, beta, epsilon = row["x"], row["gamma"], row["beta"], row.get("epsilon", 1e-5)
    if not row.get("training", True):
        return {"y": F.batch_norm(x, row["running_mean"], row["running_var"], gamma, beta,
                                  training=False, eps=epsilon)}
    mean, var, parts = torch.zeros_like(gamma), torch.zeros_like(gamma), []
    for shard in x.chunk(row.get("shards", 1)):
        shard_mean, shard_var = torch.zeros_like(gamma), torch.zeros_like(gamma)
        parts.append(F.batch_norm(shard, shard_mean, shard_var, gamma, beta, training=True,
                                  momentum=1.0, eps=epsilon))
        mean, var = mean + shard_mean.detach(), var + shard_var.detach()
    # Forward leaves the sums over shards where an update rule looks for gradients.
    return {"y": torch.cat(parts), "grad.running_mean": mean, "grad.running_var": var}


def layer_norm(row):
    x = row["x"]
    return {"y": F.layer_norm(x, x.shape[-1:], row["gamma"], row["beta"], row.get("epsilon", 1e-5))}


def local_response_norm(row):
    return {"y": F.local_response_norm(row["x"], row.get("size", 5), row.get("alpha", 1e-4),
                                       row.get("beta", 0.75), row.get("k", 1.0))}


def matmul(row):
    a, b = row["a"], row["b"]
    a = a.mT if row.get("transpose_a", False) else a
    b = b.mT if row.get("transpose_b", False) else b
    return {"c": torch.matmul(a, b)}


def reshape(row):
    x = row["x"]
    shape = [x.shape[at] if n == 0 else n for at, n in enumerate(row.get("shape", []))]
    return {"y": x.reshape(shape)}


def transpose(row):
    return {"y": row["x"].permute(row.get("permutation", []))}


def concat(row):
    return {"y": torch.cat(row.numbered("x"), dim=row.get("dim", 0))}


def slice_tensor(row):
    begin, end = row.get("begin", 0), row.get("end", 0)
    return {"y": row["x"].narrow(row.get("dim", 0), begin, end - begin)}


def split_tensor(row):
    parts = row["x"].split(row.get("sizes", []), dim=row.get("dim", 0))
    return {f"y{at}": part for at, part in enumerate(parts)}


def mean(row):
    return {"y": row["x"].mean(row.get("dim", -1))}


def softmax(row):
    return {"y": F.softmax(row["x"], -1)}


def embedding(row):
    first, rows = row.position[0], row["weight"].shape[0]
    here = (row["tokens"] >= first) & (row["tokens"] < first + rows)
    y = F.embedding((row["tokens"] - first).clamp(0, rows - 1), row["weight"])
    return {"y": y * here.unsqueeze(-1)}


def dropout(row):
    """Which elements are kept is our own choice and taken from y; that they are scaled, and that
    the gradient goes through the same ones, is compared."""
    rate, kept = row.get("rate", 0.5), row.made["y"] != 0
    spread = (rate * (1 - rate) / kept.numel()) ** 0.5
    assert abs(kept.double().mean().item() - (1 - rate)) < 4 * spread, "keeps too many or too few"
    return {"y": row["x"] * kept / (1 - rate)}


def attention(row):
    heads = row.get("heads", 1)
    if row.get("packed", False):
        first = row.get("first_query", 0) + (row.position[0] if row.position else 0)
        q, k, v = row["qkv"].unflatten(-1, (heads, 3, -1)).permute(3, 0, 2, 1, 4)
        queries = row.get("queries", 0) or q.shape[2]
        q = q[:, :, first:first + queries]
    else:
        first = row.get("first_query", 0)
        q, k, v = (row[name].unflatten(-1, (heads, -1)).transpose(1, 2) for name in "qkv")
    seen = torch.ones(q.shape[0], 1, q.shape[2], k.shape[2], dtype=torch.bool)
    if row.get("causal", False):
        seen = seen.tril(first)
    if row.get("has_mask", False):
        seen = seen & (row["mask"] != 0)[:, None, None, :]
    # A query that sees nothing gives zeros; let it see all, so that no NaN arises on the way.
    sees = seen.any(-1, keepdim=True)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen | ~sees) * sees
    return {"y": y.transpose(1, 2).flatten(2)}


def gate_projection(row):
    weight = row["w_ih"]
    return {"p": F.linear(row["x"], weight.flatten(0, 1)).unflatten(-1, weight.shape[:2])}


def recurrent(row):
    kind, hidden = row.get("kind", "lstm"), row.get("hidden", 0)
    first, units = row.position[1], row.get("units", 0) or hidden
    # The other units of a tile see zeros: what they make of them, no unit of the tile reads.
    among_all = (first, hidden - first - units)
    bias = F.pad(row["bias"], among_all)
    w_hh = F.pad(row["w_hh"], (0, 0, *among_all)).flatten(0, 1)
    if row.get("projected", False):
        x = F.pad(row["p"], among_all).flatten(2)
        w_ih = torch.eye(x.shape[2], dtype=x.dtype)
    else:
        x, w_ih = row["x"], row["w_ih"].flatten(0, 1)
    second = torch.zeros(len(w_hh), dtype=bias.dtype)
    if kind == "gru":  # r, z, n of the input, then n of the hidden state
        bias, second = bias[:3], torch.cat([second[:2 * hidden], bias[3]])
    weights = [w_ih, w_hh, bias.flatten(), second]
    start = torch.zeros(x.shape[0], hidden, dtype=x.dtype)
    h0, c0 = start, start
    if row.get("has_state", False):
        h0, c0 = row["h0"], F.pad(row["c0"], among_all) if "c0" in row else start
    steps = [sample(row, kind, weights, (x[at], h0[at], c0[at]), at) for at in range(len(x))]
    return {name: torch.stack([step[name] for step in steps])[..., first:first + units]
            for name in steps[0]}


def sample(row, kind, weights, given, at):
    """One sample of its own length, so that no padding takes part."""
    x, h, c = (part.unsqueeze(0) for part in given)
    length = x.shape[1]
    if row.get("has_lengths", False):
        length = min(max(int(row["lengths"][at]) - row.position[0], 0), length)
    turn = (lambda y: y.flip(1)) if row.get("reverse", False) else (lambda y: y)
    settings = (weights, True, 1, 0.0, True, False, True)  # biases, layers, …, batch first
    y, (h, c) = h.new_zeros(1, 0, h.shape[1]), (h.unsqueeze(0), c.unsqueeze(0))
    if length > 0 and kind == "lstm":
        y, h, c = torch.lstm(turn(x[:, :length]), (h, c), *settings)
    elif length > 0:
        run = {"gru": torch.gru, "rnn": torch.rnn_tanh}[kind]
        y, h = run(turn(x[:, :length]), h, *settings)
    y = F.pad(turn(y), (0, 0, 0, x.shape[1] - length))
    last = {"h_last": h.flatten()} | ({"c_last": c.flatten()} if kind == "lstm" else {})
    return {"y": y[0]} | last


def weighted(losses, weight):
    return {"loss_sum": (losses * weight).sum().view(1), "weight_sum": weight.sum().view(1)}


def cross_entropy(row):
    x, target = row["x"], row["target"]
    losses = F.cross_entropy(x.flatten(0, -2), target.flatten(), reduction="none")
    return weighted(losses.view(target.shape), row["weight"])


def per_sample(function):
    def loss(row):
        x, target = row["x"], row["target"]
        if target.dim() == 1:
            target = target.view([-1] + [1] * (x.dim() - 1)).expand_as(x)
        losses = function(x, target, reduction="none")
        return weighted(losses.reshape(x.shape[0], -1).mean(1), row["weight"])
    return loss


def mean_error(row):
    penalty = {"squared": F.mse_loss, "absolute": F.l1_loss}[row.get("penalty", "squared")]
    return per_sample(penalty)(row)


def accuracy(row):
    best = row["x"].topk(row.get("top", 1)).indices
    hits = (best == row["target"].unsqueeze(-1)).any(-1)
    return {"correct_sum": (hits * row["weight"]).sum().view(1)}


def stepped(optimizer, states):
    """One step of a torch optimizer whose state is given: by torch's name, our slot."""
    def update(row):
        weight = row["weight"].detach().clone().requires_grad_()
        weight.grad = row.gradients["weight"] * row.control("gradient_scale")
        made = optimizer(row, [weight])
        kept = {torch_name: row[slot].clone() for torch_name, slot in states.items() if slot in row}
        kept["step"] = torch.tensor(row.scalar("update_step") - 1)
        made.state[weight] = kept
        made.step()
        after = {slot: kept[torch_name] for torch_name, slot in states.items() if slot in row}
        return {"weight": weight.detach()} | after
    return update


def rate(row):
    return row.scalar("learning_rate") * row.get("rate_factor", 1.0)


def make_sgd(row, weights):
    return torch.optim.SGD(weights, rate(row), momentum=row.get("momentum", 0.0),
                           nesterov=row.get("nesterov", False),
                           weight_decay=row.get("weight_decay", 0.0))


def make_adam(row, weights):
    kind = torch.optim.AdamW if row.get("decoupled", False) else torch.optim.Adam
    return kind(weights, rate(row), betas=(row.get("beta1", 0.9), row.get("beta2", 0.999)),
                eps=row.get("epsilon", 1e-8), weight_decay=row.get("weight_decay", 0.0))


def lars(row):
    """By the formula of arXiv:1708.03888: torch has no such optimizer."""
    w, g = row["weight"], row.gradients["weight"] * row.control("gradient_scale")
    decay = row.get("weight_decay", 0.0)
    local = row.get("trust", 0.001) * w.norm() / (g.norm() + decay * w.norm())
    v = row.get("momentum", 0.9) * row["momentum"] + rate(row) * local * (g + decay * w)
    return {"weight": w - v, "momentum": v}


def lamb(row):
    """By the formula of arXiv:1904.00962: torch has no such optimizer."""
    w, g = row["weight"], row.gradients["weight"] * row.control("gradient_scale")
    beta1, beta2, t = row.get("beta1", 0.9), row.get("beta2", 0.999), row.scalar("update_step")
    m = torch.lerp(g, row["first_moment"], beta1)
    v = torch.lerp(g * g, row["second_moment"], beta2)
    u = m / (1 - beta1**t) / ((v / (1 - beta2**t)).sqrt() + row.get("epsilon", 1e-6))
    u = u + row.get("weight_decay", 0.0) * w
    weight = w - rate(row) * w.norm() / u.norm() * u
    return {"weight": weight, "first_moment": m, "second_moment": v}


def running_average(row):
    statistic = row.gradients["weight"] / row.get("shards", 1)
    return {"weight": torch.lerp(row["weight"], statistic, row.get("momentum", 0.1))}


def square_sum(row):
    return {"y": row["x"].square().sum().view(1)}


def add_up(row):
    return {"y": torch.stack(row.numbered("x")).sum(0)}


def reorder(row):
    return {"y": row["x"]}


OPERATORS = {
    "linear": linear, "bias": bias, "position": position, "activation": activation,
    "binary": binary, "cross_entropy": cross_entropy, "conv2d": conv2d, "pool2d": pool2d,
    "global_pool": global_pool, "batch_norm": batch_norm, "layer_norm": layer_norm,
    "matmul": matmul, "conv_transpose2d": conv_transpose2d,
    "local_response_norm": local_response_norm, "reshape": reshape, "transpose": transpose,
    "concat": concat, "slice": slice_tensor, "split": split_tensor, "mean": mean,
    "softmax": softmax, "embedding": embedding, "dropout": dropout, "attention": attention,
    "recurrent": recurrent, "gate_projection": gate_projection, "accuracy": accuracy,
    "sigmoid_cross_entropy": per_sample(F.binary_cross_entropy_with_logits),
    "mean_error": mean_error,
    "sgd": stepped(make_sgd, {"momentum_buffer": "momentum"}),
    "adam": stepped(make_adam, {"exp_avg": "first_moment", "exp_avg_sq": "second_moment"}),
    "lars": lars, "lamb": lamb, "running_average": running_average, "square_sum": square_sum,
    "sum": add_up, "reorder": reorder,
}

# Floating inputs that get no gradient.
CONSTANTS = {
    "cross_entropy": {"weight"}, "sigmoid_cross_entropy": {"target", "weight"},
    "mean_error": {"target", "weight"}, "attention": {"mask"}, "dropout": {"scalars"},
}
