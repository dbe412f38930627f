"""The training of a pre-training: model, losses, loop, log, held-out evaluation and checkpoints."""
