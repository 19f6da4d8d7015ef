"""Splits scikit-learn's handwritten digits into a training set and a test set."""

import argparse

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import digits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test-share", type=float, default=0.25)
    parser.add_argument("--data", required=True, help="directory for train.npz and test.npz")
    args = parser.parse_args()

    images, labels = load_digits(return_X_y=True)
    split = train_test_split(
        images, labels, test_size=args.test_share, stratify=labels, random_state=0
    )
    train_images, test_images, train_labels, test_labels = split
    digits.save(args.data, "train", train_images, train_labels)
    digits.save(args.data, "test", test_images, test_labels)
    print(f"{len(train_labels)} digits to train on, {len(test_labels)} to test with")


if __name__ == "__main__":
    main()
