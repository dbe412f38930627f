"""The encoder of a model of the library: its states from flat batches, its layers, its summary, its export."""
