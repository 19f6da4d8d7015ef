"""Measures the share of test digits that a trained model recognizes."""

import argparse

import joblib

import digits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--report", required=True)
    args = parser.parse_args()

    images, labels = digits.load(args.data, "test")
    right = (joblib.load(args.model).predict(images) == labels).sum()
    accuracy = right / len(labels)
    digits.metric("accuracy", 0, accuracy)
    print(f"[TRADEWIND_TAG_NUM] accuracy:{accuracy:.4f}")
    with open(args.report, "w", encoding="utf-8") as report:
        report.write(f"{right} of {len(labels)} digits recognized: {accuracy:.4f}\n")


if __name__ == "__main__":
    main()
