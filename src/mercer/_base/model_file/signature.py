"""Signatures of model files: HMAC-SHA256 of the header, which holds the checksum of every array.

A checksum finds accidents, and every writer of a file can make it. A signature needs a secret key: a file with a right
signature was written by somebody who has the key.
"""

import hashlib
import hmac
import os
import re
from pathlib import Path

from mercer.errors import ModelFileError, ParameterError

Key = bytes | str | os.PathLike[str]

# Bytes of the shortest key: fewer than 128 bits could be guessed.
_SHORTEST = 16
# Bytes that are read of a key file: more than any key has.
_LONGEST = 2**16
# "hmac-sha256", 16 digits of the key's id and 64 of the signature, separated by spaces.
_FORM = re.compile(rb"hmac-sha256 ([0-9a-f]{16}) ([0-9a-f]{64})")
MAX_SIGNATURE = 93


def read_key(key: Key, subject: str) -> bytes:
    """Return the bytes of a key, or of the file that it names."""
    if isinstance(key, str | os.PathLike):
        with open(Path(key), "rb") as file:
            # One byte more than the longest key tells a file that is too long without reading all of it.
            secret = file.read(_LONGEST + 1)
    else:
        secret = bytes(key) if isinstance(key, bytes | bytearray | memoryview) else b""
    if not _SHORTEST <= len(secret) <= _LONGEST:
        raise ParameterError(
            f"{subject}: key must be bytes, or the path of a file, of {_SHORTEST} to {_LONGEST} bytes; got "
            f"{len(secret)}. Make one with secrets.token_bytes(32)."
        )
    return secret


def find_key_id(secret: bytes) -> str:
    """Return the public name of a key: 16 digits that say which key was used, and not what it is."""
    return hmac.new(secret, b"mercer key id", hashlib.sha256).hexdigest()[:16]


def sign(header: bytes, secret: bytes) -> bytes:
    """Return the signature of a header, as the file holds it."""
    digest = hmac.new(secret, header, hashlib.sha256).hexdigest()
    return f"hmac-sha256 {find_key_id(secret)} {digest}".encode("ascii")


def split_signature(signature: bytes) -> tuple[str, str]:
    """Return the id of the key and the digest that a file's signature holds."""
    match = _FORM.fullmatch(signature)
    if match is None:
        raise ModelFileError("header.hmac must be an HMAC-SHA256 signature; the file is damaged or of a newer version.")
    return match.group(1).decode(), match.group(2).decode()


def check_signature(header: bytes, signature: bytes | None, secret: bytes) -> None:
    """Raise ModelFileError unless the header was signed with this key."""
    if signature is None:
        raise ModelFileError(
            "a key was given, but the file is not signed. Save it with save(..., key=...), or load it without a key "
            "if you know where it comes from."
        )
    key_id, digest = split_signature(signature)
    right = hmac.new(secret, header, hashlib.sha256).hexdigest()
    # The comparison takes the same time wherever the digests differ, so its duration tells nothing about the right one.
    if not hmac.compare_digest(right, digest):
        raise ModelFileError(
            f"the signature is not that of this key (id {find_key_id(secret)}; the file names {key_id}). The file was "
            f"changed, or signed with another key. Ask for it again, or give the key that signed it."
        )
