"""How random state is written and read: the numbers in it, never the objects."""

from typing import Any

import numpy as np

from mercer._base.model_file.codec import Decoder, Encoder, decodes, encodes, integer
from mercer.errors import ModelFileError

_BIT_GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    kind.__name__: kind
    for kind in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}
# Positions in a generator's buffer: NumPy trusts them, and would read beyond its end.
_LIMITS = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "has_gauss": 1, "uinteger": 2**32 - 1}
_COST = 2**13  # bytes: more than any of these generators takes


@encodes(np.random.RandomState)
def _write_random_state(value: np.random.RandomState, encoder: Encoder, path: str) -> Any:
    state = value.get_state(legacy=False)
    return encoder.share(value, lambda: {"type": "random_state", "state": encoder.encode(state, path)})


@decodes("random_state", "state")
def _read_random_state(node: dict[str, Any], decoder: Decoder) -> np.random.RandomState:
    state = decoder.decode_as(node["state"], dict)
    decoder.charge(_COST)
    generator = np.random.RandomState(_bit_generator(state)(0))
    _check_like(state, generator.get_state(legacy=False), "state")
    generator.set_state(state)
    return generator


@encodes(np.random.Generator)
def _write_generator(value: np.random.Generator, encoder: Encoder, path: str) -> Any:
    source = value.bit_generator
    return encoder.share(value, lambda: {"type": "generator", "source": encoder.encode(source, path)})


@decodes("generator", "source")
def _read_generator(node: dict[str, Any], decoder: Decoder) -> np.random.Generator:
    return np.random.Generator(decoder.decode_as(node["source"], *_BIT_GENERATORS.values()))


@encodes(*_BIT_GENERATORS.values())
def _write_bit_generator(value: np.random.BitGenerator, encoder: Encoder, path: str) -> Any:
    def write() -> dict[str, Any]:
        seed = encoder.encode(value.seed_seq, f"{path}.seed_seq")
        return {"type": "bit_generator", "state": encoder.encode(value.state, path), "seed": seed}

    return encoder.share(value, write)


@decodes("bit_generator", "state", "seed")
def _read_bit_generator(node: dict[str, Any], decoder: Decoder) -> np.random.BitGenerator:
    seed = decoder.decode_as(node["seed"], np.random.SeedSequence)
    state = decoder.decode_as(node["state"], dict)
    decoder.charge(_COST)
    generator = _bit_generator(state)(seed)
    # NumPy does not check all of a state; that of a fresh generator is the model of a sound one.
    _check_like(state, generator.state, "state")
    generator.state = state
    return generator


@encodes(np.random.SeedSequence)
def _write_seed(value: np.random.SeedSequence, encoder: Encoder, path: str) -> Any:
    entropy = value.entropy if isinstance(value.entropy, int) else np.asarray(value.entropy, dtype=object).tolist()
    names = ("spawn_key", "pool_size", "n_children_spawned")
    # These four fields are all that SeedSequence derives its streams from.
    fields = {"entropy": entropy, **{name: getattr(value, name) for name in names}}
    return encoder.share(
        value,
        lambda: {"type": "seed", **{name: encoder.encode(item, f"{path}.{name}") for name, item in fields.items()}},
    )


@decodes("seed", "entropy", "spawn_key", "pool_size", "n_children_spawned")
def _read_seed(node: dict[str, Any], decoder: Decoder) -> np.random.SeedSequence:
    decoder.charge(_COST)
    entropy = decoder.decode(node["entropy"])
    spawn_key = decoder.decode_as(node["spawn_key"], tuple)
    for number in [*spawn_key, *(entropy if isinstance(entropy, list | tuple) else [entropy])]:
        # The bound keeps a forged integer from taking long to hash into the pool.
        integer(number, 0, 2**4096)
    return np.random.SeedSequence(
        entropy,
        spawn_key=spawn_key,
        pool_size=integer(node["pool_size"], 4, 1024),
        n_children_spawned=integer(node["n_children_spawned"], 0, 2**32),
    )


def _bit_generator(state: dict[str, Any]) -> type[np.random.BitGenerator]:
    name = state.get("bit_generator")
    if not isinstance(name, str) or name not in _BIT_GENERATORS:
        raise ModelFileError(f"the bit generator must be one of {', '.join(_BIT_GENERATORS)}; got {str(name)[:40]!r}.")
    return _BIT_GENERATORS[name]


def _check_like(value: Any, model: Any, name: str) -> None:
    """Check that a state has the parts, types and ranges of one that NumPy made itself."""
    alike = type(value) is type(model)
    if alike and isinstance(model, dict):
        alike = value.keys() == model.keys()
        for key in model if alike else ():
            _check_like(value[key], model[key], key)
    elif alike and isinstance(model, np.ndarray):
        alike = value.dtype == model.dtype and value.shape == model.shape
    # For fields without a limit of their own, 128 bits is the widest word that a generator of NumPy holds.
    elif alike and isinstance(model, int):
        alike = 0 <= value <= _LIMITS.get(name, 2**128 - 1)
    elif alike and isinstance(model, str):
        alike = value == model
    if not alike:
        raise ModelFileError(f"the random state must be one that NumPy made; its {name} is not.")
