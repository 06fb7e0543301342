"""The files of deploy/ agree with each other, with the program and with the field guide."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.service.metrics import MetricsPages
from pairgossip.peer.service.status import NeighborStatus
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.service.status import StudyStatus

from ..peer.homes import make_pair

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CLINICS = ("clinic-a", "clinic-b", "clinic-c")
METRIC = re.compile(r"\bpairgossip_\w+")
LABELED = re.compile(r"\b(pairgossip_\w+)\{([^}]*)\}")


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def image_settings() -> dict[str, str]:
    """Return the arguments of each instruction of the Containerfile; the last if it is repeated."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line[:1].isupper()]
    return dict(line for line in lines if len(line) == 2)


def alerts() -> list[dict[str, Any]]:
    (group,) = read("alerts.yaml")["groups"]
    return list(group["rules"])


def dashboard() -> Any:
    return json.loads((DEPLOY / "grafana" / "dashboard.json").read_text(encoding="utf-8"))


def queries() -> list[str]:
    """Return what the dashboard asks Prometheus, as Grafana fills it in."""
    targets = [target for panel in dashboard()["panels"] for target in panel.get("targets", ())]
    return [
        target["expr"].replace("$__rate_interval", "1m").replace("$peer", ".*")
        for target in targets
    ]


@pytest.mark.parametrize("clinic", CLINICS)
def test_a_clinic_can_write_to_its_volume_alone(clinic: str) -> None:
    service, image = read("compose.yaml")["services"][clinic], image_settings()
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["volumes"] == [f"{clinic}:{image['VOLUME']}"]
    assert service["user"] == image["USER"] == "10001:10001"
    assert "ports" not in service and "privileged" not in service
    assert service["restart"] == "on-failure"  # entry.sh does not end with code 3


def test_the_image_is_what_the_clinics_run() -> None:
    image = image_settings()
    assert f"PAIRGOSSIP_HOME={image['VOLUME']}/peer" in image["ENV"].split()
    assert image["WORKDIR"] == image["VOLUME"]
    assert image["HEALTHCHECK"].endswith('CMD ["pairgossip", "peer", "status", "--check"]')
    assert image["CMD"] == '["peer", "run"]'  # the words that entry.sh waits for
    assert '[ "$*" = "peer run" ]' in (DEPLOY / "entry.sh").read_text(encoding="utf-8")


def test_the_package_can_be_built_of_what_the_image_copies(tmp_path: Path) -> None:
    first, *lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()[1:]
    assert first == "*"
    for name in [line[1:] for line in lines if line.startswith("!")]:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, tmp_path / name)
    assert (tmp_path / "constraints.txt").exists() and (tmp_path / "deploy/entry.sh").exists()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_images_of_others_are_pinned_alike() -> None:
    """Each has a version; if one has a digest, all have: see docs/releasing.md."""
    services = read("compose.yaml")["services"].values()
    images = {one["image"] for one in services} - {"localhost/pairgossip"}
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines()
    (base,) = (line.removeprefix("ARG BASE=") for line in lines if line.startswith("ARG "))
    assert {line.split()[1] for line in lines if line.startswith("FROM ")} == {"${BASE}"}
    images.add(base)
    assert len(images) == 3
    pinned = re.compile(r"docker\.io/[\w/]+:v?\d[\w.-]+(@sha256:[0-9a-f]{64})?")
    matches = [match for image in images if (match := pinned.fullmatch(image))]
    assert len(matches) == len(images), images
    assert len({match[1] is None for match in matches}) == 1, images


def test_services_volumes_and_networks_are_declared_and_used() -> None:
    compose = read("compose.yaml")
    services = compose["services"]
    mounts = [mount.split(":") for one in services.values() for mount in one["volumes"]]
    assert {name for name, *_ in mounts if name[0] != "."} == set(compose["volumes"])
    for name, _, how in [mount for mount in mounts if mount[0].startswith(".")]:
        assert (DEPLOY / name).is_file() and how.split(",")[0] == "ro"
    assert {one for each in services.values() for one in each["networks"]} == set(
        compose["networks"]
    )
    for name in ("clinics", "metrics"):  # nobody else is on the network of the clinics
        assert compose["networks"][name]["internal"] is True
    published = [port for one in services.values() for port in one.get("ports", ())]
    assert len(published) == 2 and all(port.startswith("127.0.0.1:") for port in published)


def test_prometheus_asks_every_clinic_where_it_serves() -> None:
    services, (job,) = read("compose.yaml")["services"], read("prometheus.yaml")["scrape_configs"]
    serving = {
        f"{name}:{one['environment']['PAIRGOSSIP_METRICS'].rpartition(':')[2]}"
        for name, one in services.items()
        if "PAIRGOSSIP_METRICS" in one.get("environment", {})
    }
    (targets,) = job["static_configs"]
    assert set(targets["targets"]) == serving and len(serving) == len(CLINICS)
    assert {"clinics", "metrics"} == set(services["clinic-a"]["networks"])
    assert "metrics" in services["prometheus"]["networks"]
    (rule,) = job["relabel_configs"]
    assert re.fullmatch(rule["regex"], "clinic-a:9464")[1] == "clinic-a"  # type: ignore[index]
    mounted = " ".join(services["prometheus"]["volumes"])
    assert all(
        f"/etc/prometheus/{name}:" in mounted for name in read("prometheus.yaml")["rule_files"]
    )


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    services, (source,) = (
        read("compose.yaml")["services"],
        read("grafana/datasource.yaml")["datasources"],
    )
    assert source["url"] == "http://prometheus:9090"
    assert set(services["prometheus"]["networks"]) & set(services["grafana"]["networks"])
    (provider,) = read("grafana/dashboards.yaml")["providers"]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert f"./grafana/dashboard.json:{home}:ro,z" in services["grafana"]["volumes"]
    assert Path(home).parent == Path(provider["options"]["path"])
    asked = [panel["datasource"] for panel in dashboard()["panels"] if panel["type"] != "row"]
    assert asked and all(one == {"type": "prometheus", "uid": source["uid"]} for one in asked)


def test_panels_are_complete_and_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (place["x"] + across, place["y"] + down)
            for across in range(place["w"])
            for down in range(place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or (panel["targets"] and panel["description"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the metrics, names and labels, of a study's peer and of one whose rows travel."""
    from prometheus_client.parser import text_string_to_metric_families

    ann, _ = make_pair(tmp_path_factory.mktemp("peers"), [1.0, 2.0], [10.0])
    common: dict[str, Any] = {
        "updated": 1.0,
        "counts": {"refused: stranger": 1},
        "refused": {"refused: stranger": 1},
        "neighbors": {"bob": NeighborStatus(True, True, 1.5, None)},
    }
    rows = msgspec.structs.replace(
        read_snapshot(ann).status(),
        estimate=(2.5,),
        staleness=1.0,
        gossip_error=0.1,
        gossip_interval=(2.0, 3.0),
        sampling_error=0.1,
        sampling_interval=(2.0, 3.0),
        privacy_error=0.1,
        **common,
    )
    counted = {"asked": 1}
    study = StudyStatus(
        name="ann",
        id="ann",
        phases=counted,
        awaited=counted,
        since={"asked": 0.5},
        over={"done": 1},
        disk_free=1,
        **common,
    )
    pages = MetricsPages(lambda: rows), MetricsPages(lambda: study)
    return {
        sample.name: set(sample.labels)
        for page in pages
        for family in text_string_to_metric_families(page.get("/metrics")[2].decode())
        for sample in family.samples
    }


def test_every_metric_that_is_asked_for_is_served(served: dict[str, set[str]]) -> None:
    asked = [*queries(), *(rule["expr"] for rule in alerts())]
    names = {name for text in asked for name in METRIC.findall(text)}
    assert len(names) > 20 and names <= set(served)
    for text in asked:
        for name, labels in LABELED.findall(text):
            given = {label.strip() for label in re.findall(r"([a-z]+)\s*=~?", labels)}
            assert given <= served[name] | {"instance", "job"}, text


def test_legends_name_labels_that_there_are(served: dict[str, set[str]]) -> None:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            (name,) = set(METRIC.findall(target["expr"])) or {""}
            known = served.get(name, set()) | {"instance"}
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= known


def test_the_field_guide_names_the_alerts() -> None:
    """It names them with their metrics and their numbers."""
    page = (ROOT / "docs" / "field" / "operating.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([A-Z][a-z]+[A-Z]\w+)` \| (.*) \|$", page, re.MULTILINE)
    rules = [(rule["alert"], f"{rule['expr']} {rule.get('for', '')}") for rule in alerts()]
    assert [(name, facts_of(text)) for name, text in told] == [
        (name, facts_of(text)) for name, text in rules
    ]


def facts_of(condition: str) -> tuple[set[str], set[str]]:
    return (
        set(re.findall(r"\b(?:up|pairgossip_\w+|refused)\b", condition)),
        set(re.findall(r"\b[1-9]\d*", condition)),
    )


def test_the_clinics_can_agree_on_the_specification() -> None:
    spec = parse_spec((DEPLOY / "auc.toml").read_text(encoding="utf-8"))
    assert spec.kernel == "auc" and spec.algorithm.name == "sums"


def run_promtool(*words: object) -> str:
    program = shutil.which("promtool") or shutil.which("promtool", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_reads_its_configuration() -> None:
    assert f"{len(alerts())} rules found" in run_promtool(
        "check", "config", DEPLOY / "prometheus.yaml"
    )


def test_alerts_fire_when_they_should() -> None:
    assert "SUCCESS" in run_promtool("test", "rules", Path(__file__).with_name("alerts-test.yaml"))


def test_queries_of_the_dashboard_are_valid(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(queries())]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in run_promtool("check", "rules", file)
