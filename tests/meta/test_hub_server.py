"""The hub server of the tests, used by the real client libraries."""

import json
import os
from pathlib import Path

import forked
from hub_server import Hub

CLIENT = """
import json
from pathlib import Path
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError
results = [Path(hf_hub_download(name, "config.json")).read_text() for name in ("lab/tiny", "solo")]
results.append(sorted(path.name for path in Path(snapshot_download("lab/tiny")).rglob("*") if path.is_file()))
results.append(HfApi().model_info("lab/tiny").sha == Path(snapshot_download("lab/tiny")).name)
for name, error in (("lab/tiny", EntryNotFoundError), ("lab/none", RepositoryNotFoundError)):
    try:
        hf_hub_download(name, "none.json")
    except error as caught:
        results.append(type(caught).__name__)
print(json.dumps(results))
"""


def test_a_client_finds_model_repositories_and_their_files(tmp_path: Path) -> None:
    for name in ("lab/tiny", "solo"):
        (tmp_path / "hub" / "models" / name / "deep").mkdir(parents=True)
        (tmp_path / "hub" / "models" / name / "config.json").write_text(name)
        (tmp_path / "hub" / "models" / name / "deep" / "weights.bin").write_bytes(bytes(1000))
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home"), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        arguments = ["-c", CLIENT]
        done = forked.run(arguments, env=environment)
    assert done.returncode == 0, done.stderr
    expected = ["lab/tiny", "solo", ["config.json", "weights.bin"], True]
    assert json.loads(done.stdout) == [*expected, "RemoteEntryNotFoundError", "RepositoryNotFoundError"]
    assert "HEAD /lab/tiny/resolve/main/config.json" in hub.requests
