"""The manifests are valid for the API of Kubernetes, and hold to what docs/how-to/kubernetes.md promises."""

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.services.access.service_gauges import EXPLAINED

Manifest = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
RELEASES = ("1.30", "1.37")
KUBECTL = Path(sys.executable).with_name("kubectl")
COMPONENT = "app.kubernetes.io/component"


def render(folder: Path) -> list[Manifest]:
    """What `kubectl apply --kustomize` would send; it asks no cluster."""
    done = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def rendered() -> list[Manifest]:
    return render(FOLDER / "overlays" / "example")


def of(rendered: list[Manifest], kind: str) -> dict[str, Manifest]:
    """Those of a kind by their names."""
    return {manifest["metadata"]["name"]: manifest for manifest in rendered if manifest["kind"] == kind}


def pods(rendered: list[Manifest]) -> dict[str, Manifest]:
    """The templates of pods by component."""
    templates = [one["spec"]["template"] for one in rendered if "template" in one.get("spec", {})]
    return {template["metadata"]["labels"][COMPONENT]: template for template in templates}


def containers(template: Manifest) -> list[Manifest]:
    return [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("folder", ["base", "overlays/example"])
def test_every_manifest_is_valid(folder: str, release: str) -> None:
    for manifest in render(FOLDER / folder):
        kubernetes_validate.validate(manifest, release, strict=True)


def test_a_wrong_name_of_a_field_is_seen(rendered: list[Manifest]) -> None:
    wrong = copy.deepcopy(of(rendered, "Deployment")["plumbline-web"])
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readynessProbe"):
        kubernetes_validate.validate(wrong, RELEASES[-1], strict=True)


def test_every_file_is_used() -> None:
    for kustomization in FOLDER.rglob("kustomization.yaml"):
        text = kustomization.read_text(encoding="utf-8")
        others = [path.name for path in kustomization.parent.iterdir() if path != kustomization]
        assert not [name for name in others if name not in text], kustomization


def test_pods_are_closed(rendered: list[Manifest]) -> None:
    assert set(pods(rendered)) == {"migrate", "web", "worker"}
    for template in pods(rendered).values():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        assert all(set(volume) <= {"name", "secret", "emptyDir"} for volume in spec["volumes"])
        for container in containers(template):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_pods_say_what_they_need_and_how_they_are(rendered: list[Manifest]) -> None:
    for component, template in pods(rendered).items():
        assert all({"cpu", "memory"} <= set(one["resources"]["requests"]) for one in containers(template))
        assert all("memory" in one["resources"]["limits"] for one in containers(template))
        probes = {name for one in template["spec"]["containers"] for name in one if name.endswith("Probe")}
        assert (
            probes
            == {
                "migrate": set(),
                "web": {"startupProbe", "readinessProbe", "livenessProbe"},
                "worker": {"startupProbe", "livenessProbe"},
            }[component]
        )


def test_containers_start_only_commands_that_exist(rendered: list[Manifest], commands: set[str]) -> None:
    for template in pods(rendered).values():
        for container in template["spec"]["containers"]:
            program, *words = container["args"]
            assert program == "plumbline"
            named = [word for word in words if re.fullmatch("[a-z]+", word)]
            assert " ".join(named) in commands
        for container in template["spec"].get("initContainers", []):
            assert container["command"] == ["sh", "-c", "until plumbline db check --or-later; do sleep 3; done"]
    assert "db check" in commands


def test_no_secret_stands_in_a_manifest(rendered: list[Manifest]) -> None:
    assert not of(rendered, "Secret")
    for manifest in rendered:
        assert not re.search(r"postgres(ql)?://", yaml.safe_dump(manifest))
    for template in pods(rendered).values():
        secret = next(volume["secret"] for volume in template["spec"]["volumes"] if "secret" in volume)
        # Settings are read from files in /run/secrets that are named like them.
        assert [item["path"] for item in secret["items"]] == ["plumbline_database_url"]
        for container in containers(template):
            assert {"name": "database", "mountPath": "/run/secrets", "readOnly": True} in container["volumeMounts"]


def test_what_selects_pods_finds_them(rendered: list[Manifest]) -> None:
    labels = [template["metadata"]["labels"] for template in pods(rendered).values()]

    def selects(selector: Manifest) -> bool:
        return any(selector.items() <= given.items() for given in labels)

    assert selects(of(rendered, "Service")["plumbline"]["spec"]["selector"])
    selectors = [one["spec"]["selector"] for one in of(rendered, "PodDisruptionBudget").values()]
    selectors += [one["spec"]["podSelector"] for one in of(rendered, "NetworkPolicy").values()]
    for selector in selectors:
        assert selector
        assert selects(selector.get("matchLabels", {}))
        for expression in selector.get("matchExpressions", []):
            assert {given[expression["key"]] for given in labels} > set(expression["values"])


def test_workers_follow_a_metric_that_the_service_has(rendered: list[Manifest]) -> None:
    scaler = of(rendered, "HorizontalPodAutoscaler")["plumbline-worker"]["spec"]
    assert scaler["scaleTargetRef"]["name"] in of(rendered, "Deployment")
    metric = scaler["metrics"][0]["external"]["metric"]["name"]
    assert metric.removeprefix("plumbline_") in EXPLAINED
    (rule,) = yaml.safe_load((FOLDER / "prometheus-adapter.yaml").read_text(encoding="utf-8"))["rules"]["external"]
    assert rule["name"]["as"] == metric
    assert rule["seriesQuery"].startswith(f"{metric}{{")
    assert "replicas" not in of(rendered, "Deployment")["plumbline-worker"]["spec"]


def test_requests_reach_only_web_pods_and_only_through_the_proxy(rendered: list[Manifest]) -> None:
    policies = of(rendered, "NetworkPolicy")
    everything = policies["plumbline"]["spec"]
    assert everything["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in everything
    opened = [one["spec"] for one in policies.values() if "ingress" in one["spec"]]
    assert [one["podSelector"]["matchLabels"][COMPONENT] for one in opened] == ["web"]
    assert all("from" in rule and "ports" in rule for rule in opened[0]["ingress"])


def test_the_overlay_names_the_image_and_closes_the_namespace(rendered: list[Manifest]) -> None:
    images = {one["image"] for template in pods(rendered).values() for one in containers(template)}
    assert images == {"registry.example.org/plumbline:0.1.0"}
    labels = of(rendered, "Namespace")["plumbline"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    spaces = {one["metadata"].get("namespace") for one in rendered if one["kind"] != "Namespace"}
    assert spaces == {"plumbline"}
