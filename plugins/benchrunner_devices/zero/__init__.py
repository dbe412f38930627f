"""ZeRO: DeepSpeed shares the state of a training among the processes of a fit."""
