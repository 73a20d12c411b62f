"""The deep tier: a small transformer on the CPU. Better on natural language, a hundred times the cost of the static tier.

Texts are embedded one at a time on one thread: with dynamic int8 scales a vector would otherwise depend on its batch.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextd.errors import Unavailable
from contextd.models.static import unit
from contextd.models.wordpiece import Pieces, read_vocabulary, words_of
from contextd.ports.world import Embedder, Tagger

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
_DOCUMENT_TOKENS = 256
_QUERY_TOKENS = 64
_MODEL = "model.onnx"
# By name and size of a model, the output below the layers that were trained again for facts (`models/fact_layers.py`).
_STATES = {("snowflake-arctic-embed-s", 34_015_111): "/embeddings/LayerNorm/Add_1_output_0"}
_RECENT = 16  # texts whose states are kept until the next ones: the same texts are then embedded as facts
_VERSION = re.compile(r"^__version__ = [\"']([\w.+-]+)[\"']", re.MULTILINE)
_OLDER_NAMES = ("[0-9]*", "upper-layers")  # of copies by older versions
_LONGEST_BUILD = 3600.0  # seconds
_PROBE = "import onnxruntime as o; print(o.get_available_providers()[0])"

Float = NDArray[np.float32]


class Deep:
    """arctic-embed: the normalized vector of the first token. Queries have a prefix, documents do not."""

    dimension = 384

    def __init__(self, folder: Path, version: str = "1") -> None:
        if find_spec("onnxruntime") is None:
            raise Unavailable("the deep model requires onnxruntime: pip install 'contextd[deep]'")
        if not (folder / _MODEL).is_file():
            raise Unavailable(f"no deep model in {folder}; run `contextd models fetch`")
        self.folder, self._version = folder, version
        self.space = f"deep/{folder.name}/{self.dimension}/{version}"
        self._recent: dict[str, Float] = {}

    def documents(self, texts: Sequence[str]) -> Float:
        """One unit vector for each text."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        outputs = [self._run(text, _DOCUMENT_TOKENS) for text in texts]
        if len(texts) <= _RECENT and len(outputs[0]) > 1:
            self._recent = {text: found[1][0] for text, found in zip(texts, outputs, strict=True)}
        return unit(np.stack([_vector(found) for found in outputs]))

    def query(self, text: str) -> Float:
        """Return the vector of a query, from at most 64 tokens including the prefix."""
        vector: Float = unit(_vector(self._run(QUERY_PREFIX + text, _QUERY_TOKENS))[None])[0]
        return vector

    def for_facts(self) -> Embedder | None:
        """Return the model in whose space a question is near the facts that it needs; None if there is none for this model."""
        from contextd.models.fact_layers import FactLayers

        return FactLayers(self.space, self.states, self.folder) if self._has_states else None

    def tagger(self) -> Tagger | None:
        """Return the tagger of facts; None if there is none for this model."""
        from contextd.models.fact_layers import FactTagger

        return FactTagger(self.space, self.states, self.pieces, self.folder) if self._has_states else None

    @property
    def _has_states(self) -> bool:
        try:
            return self._version == "1" and bool(_states_of(self.folder)) and len(self._session.get_outputs()) > 1
        except Unavailable:  # `documents` says so
            return False

    def states(self, text: str) -> Float:
        """Return the states of all tokens of a text below the layers that were trained again."""
        known = self._recent.get(text)
        return self._run(text, _DOCUMENT_TOKENS)[1][0] if known is None else known

    def _run(self, text: str, most: int) -> list[Float]:
        """Return the outputs of the model for a text: its vectors, and the states of its tokens if they are an output."""
        ids = np.array([self._ids(text, most)], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = {name: feed[name] for name in self._inputs}
        outputs = [np.asarray(output, np.float32) for output in self._session.run(None, wanted)]
        if not np.isfinite(outputs[0]).all():
            raise Unavailable(f"{self.folder.name} gives vectors that are no numbers; run `contextd models verify`")
        return outputs

    def _ids(self, text: str, most: int) -> list[int]:
        vocabulary = self.pieces.vocabulary
        ids = [vocabulary["[CLS]"]]
        for word in words_of(text[: most * 40]):
            ids.extend(self.pieces[word] or (vocabulary["[UNK]"],))
            if len(ids) >= most - 1:
                break
        return [*ids[: most - 1], vocabulary["[SEP]"]]

    @cached_property
    def pieces(self) -> Pieces:
        """The pieces of words that the model knows."""
        try:
            known = read_vocabulary(self.folder / "vocab.txt")
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(f"cannot read vocab.txt of {self.folder.name} ({error}); run `contextd models verify`") from None
        if not {"[CLS]", "[SEP]", "[UNK]"} <= known.keys():
            raise Unavailable(f"vocab.txt of {self.folder.name} is damaged; run `contextd models verify`")
        return Pieces(known)

    @cached_property
    def _inputs(self) -> list[str]:
        return [entry.name for entry in self._session.get_inputs()]

    @cached_property
    def _session(self) -> Any:
        return session_of(self.folder)


def _vector(outputs: Sequence[Float]) -> Float:
    """Return the vector of a text: that of its first token, if there is one for each."""
    return np.asarray(outputs[0][0, 0] if outputs[0].ndim == 3 else outputs[0][0])


def session_of(folder: Path) -> Any:
    """Load a model that runs on one thread. Raises Unavailable."""
    if find_spec("onnxruntime") is None:
        raise Unavailable("this model requires onnxruntime: pip install 'contextd[deep]'")
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it is loaded: it would write an id of the device and collect events
    probe(folder)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import onnxruntime

    try:
        stat = (folder / _MODEL).stat()
        states = f"-{_states_of(folder).split('/')[1]}" if _states_of(folder) else ""
        return _kept(onnxruntime, folder, "model", f"{stat.st_size}-{stat.st_mtime_ns}{states}", lambda: _with_states(folder))
    except Exception as error:  # onnxruntime's exception types are not stable
        raise Unavailable(f"cannot load the model in {folder} ({error}); run `contextd models verify`") from None


def session_of_bytes(folder: Path, name: str, version: str, read: Callable[[], bytes]) -> Any:
    """Load a model that comes with the package, on one thread; its optimized copy is kept in a folder. Raises Unavailable."""
    import onnxruntime

    try:
        return _kept(onnxruntime, folder, name, version, read)
    except Exception as error:  # as above
        raise Unavailable(f"cannot load {name} ({error})") from None


def _kept(onnxruntime: Any, folder: Path, name: str, version: str, read: Callable[[], bytes | Path]) -> Any:
    """Load a model and keep what onnxruntime made of it: the next process maps the weights and loads in a third of the time.

    There is another copy for each version of onnxruntime and of the model. Optimizations for one processor are left out.
    """
    known = folder / f".optimized-{name}-{_build()}-{version}"
    with suppress(Exception):  # a copy that cannot be loaded is passed over
        if (known / _MODEL).is_file():
            return _session(onnxruntime, known / _MODEL, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    try:
        waiting = Path(mkdtemp(prefix=".optimizing-", dir=folder))
    except OSError:  # a folder that cannot be written to
        return _session(onnxruntime, read(), level)
    try:
        session = _session(onnxruntime, read(), level, waiting / _MODEL)
        older = [one for names in (name, *_OLDER_NAMES) for one in folder.glob(f".optimized-{names}-*")]
        for one in (*older, *filter(_is_abandoned, folder.glob(".optimizing-*"))):
            rmtree(one, ignore_errors=True)
        with suppress(OSError):  # another process was first
            waiting.rename(known)
        return session
    finally:
        rmtree(waiting, ignore_errors=True)


def _is_abandoned(waiting: Path) -> bool:
    """Return whether a copy was begun by a process that was killed: none takes as long."""
    try:
        return time.time() - waiting.stat().st_mtime > _LONGEST_BUILD
    except OSError:  # its process has finished
        return False


def _with_states(folder: Path) -> bytes | Path:
    """Return a model that also puts out the states of its tokens, if it is known in which layer; otherwise its file.

    A serialized message may continue: a second part of the graph adds an output to the first.
    """
    model, name = folder / _MODEL, _states_of(folder).encode()
    return model.read_bytes() + _field(_GRAPH, _field(_OUTPUT, _field(_NAME, name))) if name else model


def _states_of(folder: Path) -> str:
    return _STATES.get((folder.name, (folder / _MODEL).stat().st_size), "")


_GRAPH, _OUTPUT, _NAME = 7, 12, 1  # fields of ModelProto, GraphProto and ValueInfoProto


def _field(number: int, data: bytes) -> bytes:
    """Return a field of a serialized message; of less than 128 bytes, so that the length is one of them."""
    return bytes((number << 3 | 2, len(data))) + data


def _session(onnxruntime: Any, model: bytes | Path, level: Any, copy: Path | None = None) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = level
    if copy is not None:
        options.optimized_model_filepath = str(copy)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", f"{copy.stem}.weights")
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    return onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
    )


def _build() -> str:
    """Return the version of onnxruntime and the kind of processor. Raises Unavailable if it is not installed."""
    package = find_spec("onnxruntime")
    if package is None or package.origin is None:
        raise Unavailable("the deep model requires onnxruntime: pip install 'contextd[deep]'")
    found = _VERSION.search(Path(package.origin).read_text("utf-8"))  # `importlib.metadata` takes ten milliseconds to load
    return f"{found[1] if found else 'unknown'}-{platform.machine()}"


def probe(folder: Path, command: Sequence[str] = (sys.executable, "-P", "-c", _PROBE)) -> None:
    """Test the native library once in a separate process: a build for another CPU would crash this one. Raises Unavailable."""
    mark = folder / f".probed-{_build()}"
    if mark.exists():
        return
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)  # noqa: S603
    if done.returncode:
        raise Unavailable(
            f"onnxruntime does not run on this machine (exit code {done.returncode}); static vectors are used instead"
        )
    try:
        mark.touch()
    except OSError:
        return
