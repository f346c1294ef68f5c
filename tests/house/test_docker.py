"""The image and the composition hold to what docs/operations.md promises. Nothing is built here: structure only."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

Service = dict[str, Any]
ONE_SHOT = {"migrate"}
COMPOSITION = yaml.safe_load((Path(__file__).resolve().parents[2] / "docker-compose.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def compose() -> Any:
    return COMPOSITION


@pytest.fixture(scope="module")
def dockerfile(repository: Path) -> str:
    return (repository / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


@pytest.fixture(params=COMPOSITION["services"])
def service(request: pytest.FixtureRequest) -> Service:
    found: Service = COMPOSITION["services"][request.param]
    return found


def test_a_service_runs_without_privileges(service: Service) -> None:
    assert service["user"] not in {"root", "0", "0:0"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "pid", "network_mode", "devices"} & set(service)


def test_a_service_cannot_write_to_its_image(service: Service) -> None:
    assert service["read_only"] is True
    assert any(mount.startswith("/tmp") for mount in service["tmpfs"])  # noqa: S108 (in the container)


def test_a_service_has_an_init_that_reaps_and_forwards_signals(service: Service) -> None:
    assert service["init"] is True


def test_the_names_of_images_carry_a_version(compose: Any, dockerfile: str) -> None:
    images = [service["image"] for service in compose["services"].values()]
    images += re.findall(r"^ARG BASE=(\S+)", dockerfile, re.MULTILINE)
    assert all(re.fullmatch(r"[a-z]+:\d[\w.-]*", image) for image in images), images


def test_the_image_is_debian_slim_because_the_postgres_wheel_needs_glibc(dockerfile: str) -> None:
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}"}
    assert re.findall(r"^ARG BASE=(\S+)", dockerfile, re.MULTILINE) == ["python:3.11-slim-bookworm"]


def test_the_image_can_be_built_again_with_the_same_bytes(dockerfile: str) -> None:
    stages = dockerfile.split("\nFROM ")[1:]
    assert all("\nARG SOURCE_DATE_EPOCH" in stage for stage in stages)
    assert "--no-compile" in dockerfile
    assert "--invalidation-mode unchecked-hash" in dockerfile


def test_the_image_has_its_bill_of_materials(dockerfile: str) -> None:
    assert re.search(r"\.ci/sbom\.py \S+/site-packages >/opt/plumbline/share/", dockerfile)


def test_no_secret_stands_in_the_composition(compose: Any) -> None:
    for service in compose["services"].values():
        environment = service.get("environment", {})
        assert not [
            name for name in environment if re.search("PASSWORD|SECRET|TOKEN|DATABASE_URL", name) and "FILE" not in name
        ]
        assert service["secrets"]
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_secrets_stay_out_of_the_repository_and_of_the_image(compose: Any, repository: Path) -> None:
    ignored = (repository / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/secrets/" in ignored
    assert (repository / ".dockerignore").read_text(encoding="utf-8").splitlines()[1] == "*"
    assert all(secret["file"].startswith("./secrets/") for secret in compose["secrets"].values())


def test_only_the_api_can_be_reached_and_only_from_this_machine(compose: Any) -> None:
    ports = {
        name: service["ports"]
        for name, service in compose["services"].items()
        if "ports" in service and "profiles" not in service
    }
    assert ports == {"api": ["127.0.0.1:8000:8000"]}
    assert compose["networks"]["inside"]["internal"] is True


def test_nothing_but_the_proxy_has_the_address_that_is_trusted(compose: Any) -> None:
    services = compose["services"]
    assert services["proxy"]["profiles"] == ["tls"]
    trusted = services["proxy"]["networks"]["front"]["ipv4_address"]
    assert services["api"]["environment"]["PLUMBLINE_TRUSTED_PROXIES"] == trusted
    assert {name for name, service in services.items() if "front" in service["networks"]} == {"proxy", "api"}
    assert compose["networks"]["front"]["internal"] is True


def test_whoever_stays_up_is_asked_whether_he_is_well(compose: Any, dockerfile: str) -> None:
    assert "/readyz" in re.findall(r"^HEALTHCHECK .*$", dockerfile, re.MULTILINE)[0]
    for name, service in compose["services"].items():
        disabled = service.get("healthcheck", {}).get("disable", False)
        assert disabled == (name in ONE_SHOT)
        assert name in ONE_SHOT or "healthcheck" in service or "build" in service


def test_the_schema_is_migrated_once_before_anybody_serves(compose: Any) -> None:
    services = compose["services"]
    assert services["migrate"]["command"] == ["plumbline", "db", "upgrade"]
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in set(services) - {"postgres", "migrate", "proxy"}:
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert "--no-migrate" in services["api"]["command"]


def test_the_composition_starts_only_commands_that_exist(compose: Any, dockerfile: str, commands: set[str]) -> None:
    started = [service["command"] for service in compose["services"].values() if "command" in service]
    started.append(yaml.safe_load(re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)[-1]))
    started = [words for words in started if words[0] != "nginx"]
    for program, *words in started:
        assert program == "plumbline"
        assert " ".join(word for word in words if not word.startswith("-")) in commands


def test_a_worker_is_composed_as_soon_as_there_is_one(compose: Any, commands: set[str]) -> None:
    assert ("worker" in compose["services"]) == ("worker" in commands)


def test_a_worker_leaves_its_sign_of_life_where_it_can_write_and_no_other_does(compose: Any) -> None:
    worker = compose["services"]["worker"]
    assert worker["healthcheck"]["test"] == ["CMD", "plumbline", "worker", "--alive"]
    assert Path(worker["environment"]["PLUMBLINE_DATA_DIR"]).parts[:2] == ("/", "tmp")
    assert "volumes" not in worker  # nothing shared


def test_the_image_is_installed_from_checked_files_only(dockerfile: str) -> None:
    for line in re.findall(r"pip (?:--python \S+ )?(?:install|wheel|download) .*", dockerfile):
        assert "--require-hashes" in line or "--no-index" in line


def test_the_image_serves_as_nobody_in_particular(dockerfile: str) -> None:
    last_stage = dockerfile.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001:10001$", last_stage, re.MULTILINE)
    assert last_stage.index("USER 10001") < last_stage.index("\nCMD")
