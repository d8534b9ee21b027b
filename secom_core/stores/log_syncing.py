"""What is committed to SQLite's write-ahead log is put on disk by whoever waits for it, while others write already.

To have SQLite do it, at the end of the transaction, keeps every other writer waiting for the disk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Final

from ..errors import StoreError
from ..processes import interpreter

# SQLite itself uses it where the system has it.
_sync: Final[Callable[[int], None] | None] = getattr(os, "fdatasync", None)

CAN_SYNC: Final = _sync is not None
"""Whether the log can be put on disk here; else SQLite does it, in the transaction."""


def sync_log(path: str) -> None:
    """Put on disk what was committed to the log of a file, by this process or another.

    Args:
        path: the file.

    Raises:
        StoreError: the disk failed; what was committed may be lost if the power fails.
    """
    if _sync is None:
        return
    try:
        log = os.open(f"{path}-wal", os.O_RDONLY)
    except FileNotFoundError:
        # It was written into the file, which was synced then.
        return
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise _not_synced(path, error) from error
        # No more files may be open here: have the system put everything on disk, for which it takes none.
        with interpreter.put_down():
            os.sync()
        return
    try:
        with interpreter.put_down():
            _sync(log)
    except OSError as error:
        raise _not_synced(path, error) from error
    finally:
        os.close(log)


def _not_synced(path: str, error: OSError) -> StoreError:
    return StoreError(
        f"the store at {path} could not be put on disk ({error.strerror}): what was written may be lost if the power "
        "fails; look for errors of the disk"
    )
