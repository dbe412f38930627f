"""DeepSpeed: the engine, its configuration, its processes, and the checkpoint folders it writes."""
