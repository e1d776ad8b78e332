"""Train a small neural network on scikit-learn's handwritten digits and log everything with stock MLflow."""

from __future__ import annotations

import logging
import os
import pickle
import random
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mlflow
import numpy as np
from ruamel.yaml import YAML
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay, accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

log = logging.getLogger("digits")
DIGITS = np.arange(10)


def load_parameters() -> dict[str, float]:
    """The workload's `parameters`, or defaults when this file is started by hand."""
    path = os.environ.get("HYPERPARAMETERS_PATH")
    given = YAML(typ="safe").load(Path(path)) if path else {}
    return {"hidden_units": 64, "learning_rate": 3e-3, "batch_size": 64, "epochs": 40, "seed": 7, **given}


def load_data(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images as rows of 64 numbers in 0..1, split 80/20: x_train, x_val, y_train, y_val."""
    x, y = load_digits(return_X_y=True)
    return train_test_split(x / 16.0, y, test_size=0.2, random_state=seed, stratify=y)


def score(model: MLPClassifier, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Loss and accuracy."""
    probabilities = model.predict_proba(x)
    return log_loss(y, probabilities, labels=DIGITS), accuracy_score(y, probabilities.argmax(axis=1))


def train(parameters: dict[str, float]) -> MLPClassifier:
    """Train by epochs, logging loss and accuracy of both splits after each."""
    seed = int(parameters["seed"])
    random.seed(seed)
    x_train, x_val, y_train, y_val = load_data(seed)
    model = MLPClassifier(
        hidden_layer_sizes=(int(parameters["hidden_units"]),),
        learning_rate_init=parameters["learning_rate"],
        batch_size=int(parameters["batch_size"]),
        random_state=seed,
    )
    epochs = int(parameters["epochs"])
    log.info("training on %d images, validating on %d", len(x_train), len(x_val))
    for epoch in range(1, epochs + 1):
        model.partial_fit(x_train, y_train, classes=DIGITS)
        train_loss, train_accuracy = score(model, x_train, y_train)
        val_loss, val_accuracy = score(model, x_val, y_val)
        mlflow.log_metrics(
            {
                "train_loss": train_loss,
                "train_accuracy": train_accuracy,
                "val_loss": val_loss,
                "val_accuracy": val_accuracy,
            },
            step=epoch,
        )
        log.info(
            "epoch %d/%d loss %.4f val_loss %.4f val_accuracy %.4f",
            epoch,
            epochs,
            train_loss,
            val_loss,
            val_accuracy,
        )
    if val_accuracy < 0.9:
        log.warning("validation accuracy is only %.3f", val_accuracy)
    log_results(model, x_val, y_val)
    return model


def log_results(model: MLPClassifier, x_val: np.ndarray, y_val: np.ndarray) -> None:
    """The confusion matrix as a picture and the model as a file."""
    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    ConfusionMatrixDisplay.from_predictions(y_val, model.predict(x_val), ax=axes, colorbar=False)
    axes.set_title("Digits, validation images")
    mlflow.log_figure(figure, "plots/confusion_matrix.png")
    Path("model.pkl").write_bytes(pickle.dumps(model))
    mlflow.log_artifact("model.pkl", "model")


def main() -> None:
    """Log into the managed run; only rank 0 does, because all nodes share one run."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    parameters = load_parameters()
    if os.environ.get("RANK", "0") == "0":
        with mlflow.start_run(run_id=os.environ.get("MLFLOW_RUN_ID")):
            mlflow.log_params(parameters)
            train(parameters)


if __name__ == "__main__":
    main()
