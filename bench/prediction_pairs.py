"""The cases on which predictions of a step are judged: (model, plan, where it runs).

Drawn once, by a seed that was committed before the simulator was tuned. Tuning looks at `tuning_cases()` only; `held_out_cases()`
are for the final figure.
"""

import random

SEED = 20261118
MODELS = ["mlp", "lenet", "alexnet", "resnet18", "resnet50", "vgg16", "rnnlm", "gpt2-small"]
PLANS = ["data", "tensor", "hybrid", "spatial", "placed"]
CONVOLUTIONAL = ["lenet", "alexnet", "resnet18", "resnet50", "vgg16"]  # what a spatial plan can split
PLACES = ["2 devices", "2 ranks", "2 ranks at 1 Gb/s"]
COUNT = 28  # of which 4 on one device


def all_cases():
    cases = [(model, plan, place) for model in MODELS for plan in PLANS for place in PLACES
             if plan != "spatial" or model in CONVOLUTIONAL]
    draw = random.Random(SEED)
    drawn = draw.sample(cases, COUNT - 4) + [(model, "single", "1 device") for model in draw.sample(MODELS, 4)]
    draw.shuffle(drawn)
    return drawn


def crowded_cases():
    """Four devices on two cores, which take turns."""
    cases = [(model, plan, "4 devices") for model in MODELS for plan in PLANS if plan != "spatial" or model in CONVOLUTIONAL]
    return random.Random(SEED).sample(cases, 10)


def tuning_cases():
    return all_cases()[::2]


def held_out_cases():
    return all_cases()[1::2]
