"""Files of checkpoints: on the hub, and with weights."""
