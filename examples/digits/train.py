"""Trains a network of one hidden layer, one epoch at a time, and goes on from its checkpoint."""

import argparse
import os

import joblib
import numpy
from sklearn.neural_network import MLPClassifier

import digits


def checkpoint_path():
    directory = os.environ.get("TRADEWIND_CHECKPOINT")
    return os.path.join(directory, "training.joblib") if directory else None


def resume(args):
    """The model and how many epochs it has seen."""
    path = checkpoint_path()
    if path and os.path.exists(path):
        return joblib.load(path)
    model = MLPClassifier(
        hidden_layer_sizes=(args.hidden,), learning_rate_init=args.lr, random_state=args.seed
    )
    return model, 0


def save_checkpoint(model, epoch):
    path = checkpoint_path()
    if path:
        joblib.dump((model, epoch), path + ".new")
        os.replace(path + ".new", path)  # never half a checkpoint


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", required=True)
    args = parser.parse_args()

    images, labels = digits.load(args.data, "train")
    classes = numpy.unique(labels)
    model, seen = resume(args)
    for epoch in range(seen + 1, args.epochs + 1):
        model.partial_fit(images, labels, classes)
        digits.metric("loss", epoch, model.loss_)
        save_checkpoint(model, epoch)
    joblib.dump(model, args.model)


if __name__ == "__main__":
    main()
