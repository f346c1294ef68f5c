"""Metrics: summed over the processes of a service; rules and dashboard name what there is, and the rules hold."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.serving import prometheus_folder
from app.services.access.service_gauges import EXPLAINED
from app.web.metrics import JOB_SECONDS, ServiceMetrics
from app.web.service_part_states import METRICS_FOLDER

ROOT = Path(__file__).parents[2]
RULES, DASHBOARD = ROOT / "deploy/prometheus/alerts.yml", ROOT / "deploy/grafana/plumbline.json"
COUNTS = """
from app.web.metrics import JOB_SECONDS, ServiceMetrics
metrics = ServiceMetrics()
metrics.count_response("GET", "/livez", 200, 0.01)
metrics.count_flushed_answers("judgments", 3, 0.2)
metrics.in_flight.inc()
JOB_SECONDS.labels("stability").observe(7)
print(metrics.format_all(()).decode())
import os; print("pid", os.getpid())
"""


def count_in_a_process(folder: Path) -> tuple[str, int]:
    """What a process tells that has counted one of each, and its number."""
    environment = {**os.environ, METRICS_FOLDER: str(folder)}
    done = subprocess.run([sys.executable, "-c", COUNTS], env=environment, capture_output=True, text=True, check=True)
    text, _, pid = done.stdout.rpartition("pid ")
    return text, int(pid)


def test_each_process_tells_the_sums_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_in_a_process(tmp_path)
    text, pid = count_in_a_process(tmp_path)
    assert 'plumbline_requests_total{method="GET",route="/livez",status="200"} 2.0\n' in text
    assert 'plumbline_answers_written_total{kind="judgments"} 6.0\n' in text
    assert 'plumbline_flush_seconds_bucket{kind="judgments",le="0.1"} 0.0\n' in text
    assert 'plumbline_flush_seconds_bucket{kind="judgments",le="0.25"} 2.0\n' in text
    assert 'plumbline_job_seconds_sum{report="stability"} 14.0\n' in text
    assert "plumbline_requests_in_flight 2.0\n" in text
    monkeypatch.setenv(METRICS_FOLDER, str(tmp_path))
    prometheus_folder.forget_prometheus_process(pid)
    text, _ = count_in_a_process(tmp_path)
    assert "plumbline_requests_in_flight 2.0\n" in text  # the first, and this one
    assert 'plumbline_answers_written_total{kind="judgments"} 9.0\n' in text


def test_the_folder_is_there_for_the_service_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus_folder, "MEMORY", tmp_path)
    monkeypatch.delenv(METRICS_FOLDER, raising=False)
    left = tmp_path / f"{prometheus_folder.MARK}999999999-x"
    other = tmp_path / f"{prometheus_folder.MARK}{os.getpid()}-x"
    for folder in (left, other):
        folder.mkdir()
    with prometheus_folder.create_prometheus_folder():
        assert Path(os.environ[METRICS_FOLDER]).parent == tmp_path
        assert not left.exists()
    assert METRICS_FOLDER not in os.environ
    assert list(tmp_path.iterdir()) == [other]


def test_where_memory_is_short_each_process_tells_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus_folder, "MEMORY", tmp_path)
    monkeypatch.delenv(METRICS_FOLDER, raising=False)
    for free, named in ((prometheus_folder.ENOUGH - 1, False), (prometheus_folder.ENOUGH, True)):
        usage = shutil._ntuple_diskusage(10**12, 0, free)  # type: ignore[attr-defined]
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        with prometheus_folder.create_prometheus_folder():
            assert (METRICS_FOLDER in os.environ) is named


def there_are() -> set[str]:
    """Every series that the service can tell."""
    metrics = ServiceMetrics()
    names = {f"plumbline_{name}" for name in (*EXPLAINED, "campaign_tasks")}
    for family in (*metrics.registry.collect(), *JOB_SECONDS.collect()):
        ends = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",)}.get(family.type, ("",))
        names |= {family.name + end for end in ends}
    return names


def test_rules_and_dashboard_name_series_that_there_are() -> None:
    for file in (RULES, DASHBOARD):
        named = set(re.findall(r"\bplumbline_\w+", file.read_text(encoding="utf-8")))
        assert len(named) > 5
        assert named - there_are() == set()
    shown = set(re.findall(r"\bplumbline_\w+", DASHBOARD.read_text(encoding="utf-8")))
    bare = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in shown}
    assert {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in there_are()} == bare


def test_panels_of_the_dashboard_do_not_cover_each_other() -> None:
    places = [panel["gridPos"] for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]]
    cells = [(place["x"] + i, place["y"] + k) for place in places for i in range(place["w"]) for k in range(place["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian's package prometheus)")
def test_the_rules_ring_when_they_should_and_not_before() -> None:
    for command in (("check", "rules", "alerts.yml"), ("test", "rules", "alerts.test.yml")):
        done = subprocess.run(["promtool", *command], cwd=RULES.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    tested = (RULES.parent / "alerts.test.yml").read_text(encoding="utf-8")
    for alert in re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8")):
        assert f"alertname: {alert}, " in tested, f"{alert} is never silent"
        assert f"alertname: {alert}\n" in tested, f"{alert} never rings"
