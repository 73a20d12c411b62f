"""Ask an upstream for its models, to see whether it can be reached."""

from __future__ import annotations

import time
from dataclasses import dataclass

import httpx2

from contextd.app.upstreams import ChosenUpstream


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether an upstream answers: `ok`, or what is wrong."""

    name: str
    status: str
    models: int = 0
    milliseconds: float = 0.0


def probed(upstream: ChosenUpstream, seconds: float) -> Probe:
    """Return the state of an upstream. Takes at most about twice the given time."""
    began = time.perf_counter()
    headers = {"authorization": f"Bearer {upstream.key}"} if upstream.key else {}
    try:
        answer = httpx2.get(f"{upstream.url}/models", headers=headers, timeout=seconds, trust_env=upstream.remote)
        passed = (time.perf_counter() - began) * 1000
        if answer.status_code != 200:
            return Probe(upstream.name, f"HTTP {answer.status_code}", 0, passed)
        return Probe(upstream.name, "ok", len(answer.json()["data"]), passed)
    except httpx2.TimeoutException:
        return Probe(upstream.name, "no answer in time")
    except (httpx2.HTTPError, OSError):
        return Probe(upstream.name, "cannot be reached")
    except (ValueError, KeyError, TypeError):
        return Probe(upstream.name, "no OpenAI API at this URL")
