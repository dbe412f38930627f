"""DeepSpeed: the engine, its configuration and its processes."""
