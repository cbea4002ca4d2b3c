"""The built wheel in an empty environment: it installs, serves, and brings its assets along."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, folder=folder)
    (wheel,) = folder.glob("forkmap-*.whl")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    constraints = ROOT / "constraints.txt"
    run(programs / "pip", "install", "--quiet", "--constraint", constraints, wheel, folder=folder)
    return programs


def test_wheel_serves_the_demo_with_its_assets(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "forkmap"), "demo", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().split()[3]
            page = fetch(address).decode()
            assets = re.findall(r'"/(assets/[^"]+)"', page)
            assert {Path(asset.partition("?")[0]).suffix for asset in assets} == {
                ".css",
                ".js",
                ".svg",
                ".woff2",
            }
            assert all(fetch(address + asset) for asset in assets)
        finally:
            served.terminate()
    assert served.returncode == 0


def test_wheel_brings_the_command_and_the_licence(installed: Path, tmp_path: Path) -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert version is not None
    assert run(installed / "forkmap", "--version", folder=tmp_path) == f"forkmap {version[1]}\n"
    files = run(installed / "pip", "show", "--files", "forkmap", folder=tmp_path)
    assert "licenses/LICENSE" in files and "dashboard/assets/" in files


def imported() -> Iterator[str]:
    """Modules of other packages that the project's own import."""
    own = {*sys.stdlib_module_names, "engine", "dashboard"}
    for file in (file for folder in ("engine", "dashboard") for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            yield from (name for name in names if name.partition(".")[0] not in own)


def test_every_package_that_is_imported_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["grpc"], *extras["redis"]]
    files = {
        str(distribution(package).locate_file(file))
        for package in (re.split(r"[><=]", each)[0] for each in named)
        for file in distribution(package).files or ()
    }
    found = {name: find_spec(name) for name in imported()}
    assert [name for name, spec in found.items() if spec is None or spec.origin not in files] == []


def fetch(address: str) -> bytes:
    """What is at an address, as soon as somebody listens there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with urlopen(address, timeout=10) as response:
                return bytes(response.read())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
