"""The text of the smallest task file."""

TASK = """problem = "classify"
labels = ["glad", "sad"]

[columns]
a = "text"
label = "mood"

[splits]
train = "train.csv"
dev = "dev.csv"
"""
