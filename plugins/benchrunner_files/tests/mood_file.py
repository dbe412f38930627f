"""The texts of small task files: of the core's problem, and of a plugin's."""

TASK = """problem = "classify"
labels = ["glad", "sad"]

[columns]
a = "text"
label = "mood"

[splits]
train = "train.csv"
dev = "dev.csv"
"""
SHOP = """problem = "benchrunner_ranking:Rank"
metrics = ["ranking/wikiqa:ndcg@10"]

[columns]
a = "query"
choices = "products"
label = "grades"

[splits]
train = "train.jsonl"
"""
