"""What the worker asks of its allocator and of its garbage collector: a batch makes many objects, and frees them all.

Where memory goes back to the system after each batch and comes anew for the next one, the kernel clears every page of
it; that took a tenth of the worker's time.
"""

import ctypes
import gc
from typing import Final

_ALLOCATIONS, _YOUNG_LOOKS, _OLD_LOOKS = 300_000, 20, 20

# glibc's mallopt(3)
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_NEVER: Final = 2**30


def keep_memory() -> None:
    """Keep what was freed for the next batch, in one heap for all threads; nothing where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _NEVER)
        mallopt(_TRIM_THRESHOLD, _NEVER)


def spare_collections() -> None:
    """Have the garbage collector look less often, and not at what stays.

    A batch makes many objects and hardly a cycle: with Python's own thresholds a fifth of the time goes into looking.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, _YOUNG_LOOKS, _OLD_LOOKS)
