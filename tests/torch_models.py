"""Three models of the zoo as PyTorch modules, and our parameters under the modules' names."""

import torch
import torch.nn.functional as F
from torch import nn


class BasicBlock(nn.Module):
    """As in torchvision."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False),
                                            nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Resnet18(nn.Module):
    """As in torchvision, with `channels` instead of 64."""

    def __init__(self, channels, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, channels, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        last = channels
        for stage in range(4):
            out = channels << stage
            blocks = [BasicBlock(last, out, 2 if stage > 0 else 1), BasicBlock(out, out, 1)]
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
            last = out
        self.fc = nn.Linear(last, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def resnet18(parameters):
    channels, classes = len(parameters["conv1.weight"]), len(parameters["fc.bias"])
    return Resnet18(channels, classes), renamed(parameters, {".gamma": ".weight", ".beta": ".bias"})


class Gpt2Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.fc_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.fc_proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, parameters, layers, heads):
        super().__init__()
        (vocabulary, width), length = parameters["wte.weight"].shape, len(parameters["wpe.weight"])
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.h = nn.ModuleList(Gpt2Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def gpt2(parameters, heads):
    layers = sum(name.endswith(".attn.qkv.weight") for name in parameters)
    state = renamed(parameters, {".gamma": ".weight", ".beta": ".bias", ".attn.": ".",
                                 ".mlp.fc": ".fc", ".mlp.proj": ".fc_proj"})
    for name in state:
        if ".qkv." in name:  # ours keeps q, k and v of a head together
            by_head = state[name].unflatten(0, (int(heads), 3, -1))
            state[name] = by_head.transpose(0, 1).flatten(0, 2)
    return Gpt2(parameters, layers, int(heads)), state


class Rnnlm(nn.Module):
    def __init__(self, vocabulary, hidden, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers, batch_first=True)
        self.output = nn.Linear(hidden, vocabulary)

    def forward(self, tokens):
        return self.output(self.lstm(self.embedding(tokens))[0])


def rnnlm(parameters):
    layers = sum(name.endswith(".w_ih") for name in parameters)
    names = {}
    for at in range(layers):
        names |= {f"lstm.{at}.w_ih": f"lstm.weight_ih_l{at}",
                  f"lstm.{at}.w_hh": f"lstm.weight_hh_l{at}",
                  f"lstm.{at}.bias": f"lstm.bias_ih_l{at}"}
    state = {name: value.flatten(0, 1) if name.startswith("lstm.") else value  # gates and units
             for name, value in renamed(parameters, names).items()}
    for at in range(layers):  # torch has two biases, of which one is enough
        state[f"lstm.bias_hh_l{at}"] = torch.zeros_like(state[f"lstm.bias_ih_l{at}"])
    vocabulary, hidden = parameters["embedding.weight"].shape
    return Rnnlm(vocabulary, hidden, layers), state


def renamed(parameters, parts):
    result = {}
    for name, value in parameters.items():
        for ours, torchs in parts.items():
            name = name.replace(ours, torchs)
        result[name] = value
    return result


# By name: the module, and its state made from our parameters so that gradients flow back to them.
# Takes the parameters and what else the file's metadata says of the model.
MODELS = {"resnet18": resnet18, "gpt2": gpt2, "rnnlm": rnnlm}
