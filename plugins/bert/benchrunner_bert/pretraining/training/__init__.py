"""The training loop of pre-training: model, losses, log, held-out evaluation and checkpoints."""
