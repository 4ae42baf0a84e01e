"""Object store: objects of a checkpoint below a prefix of a bucket, through obstore.

Objects are written atomically. Writing again replaces an object, so that a damaged one can be
repaired. A lease (`lease.py`) prevents two processes from doing so at the same time, as there are
no locks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from nearbayes.execution.lease import Lease
from nearbayes.execution.store_protocol import StoreError

__all__ = ["ObjectStore"]

LOCK = "lock"
# An unreachable store must not delay the run: missing objects are written later.
RETRY = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=10),
    "backoff": {
        "base": 2,
        "init_backoff": timedelta(milliseconds=200),
        "max_backoff": timedelta(seconds=3),
    },
}
CONNECT_WITHIN = "5s"
CODE = re.compile(r"<Code>(\w+)</Code>")


class ObjectStore:
    """Objects below a prefix of a bucket.

    Credentials and the address of the server come from the environment, which obstore reads:
    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL and the like.

    Parameters
    ----------
    address : str
        Such as s3://bucket/prefix.
    """

    def __init__(self, address: str) -> None:
        try:
            import obstore
        except ImportError as missing:
            raise ImportError(
                f"checkpoint={address!r} needs obstore: pip install 'nearbayes[s3]'."
            ) from missing
        self._library, self.address = obstore, address
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")  # the user's choice
        options = {"connect_timeout": CONNECT_WITHIN, **({"allow_http": True} if plain else {})}
        with self._in_words():
            self._objects = obstore.store.from_url(
                address, client_options=options, retry_config=RETRY
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lease of the prefix."""
        lease = Lease(self._library, self._objects, LOCK, self.address)
        with self._in_words():
            lease.take()
        try:
            yield
        finally:
            lease.give_up()

    def names(self) -> set[str]:
        """See `Store`."""
        with self._in_words():
            return {each["path"] for batch in self._library.list(self._objects) for each in batch}

    def read(self, name: str) -> bytes | None:
        """See `Store`."""
        with self._in_words():
            try:
                return bytes(self._library.get(self._objects, name).bytes())
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """See `Store`: objects are written atomically."""
        with self._in_words():
            self._library.put(self._objects, name, data)

    def delete(self, name: str) -> None:
        """See `Store`."""
        with self._in_words():
            self._library.delete(self._objects, name)

    def clear(self) -> None:
        """See `Store`."""
        with self._in_words():
            self._library.delete(self._objects, sorted(self.names()))

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Long errors of the library, in one sentence."""
        try:
            yield
        except StoreError:
            raise
        except (self._library.exceptions.BaseError, OSError) as error:
            code = CODE.search(str(error))
            said = code.group(1) if code else str(error).split("\n\n")[0].strip()
            raise StoreError(
                f"checkpoint {self.address} cannot be used ({said}): check the address, the "
                "credentials and the connection."
            ) from error
