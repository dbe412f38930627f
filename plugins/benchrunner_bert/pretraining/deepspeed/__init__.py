"""DeepSpeed: the engine, its configuration, its processes, and the checkpoint folders that it writes."""
