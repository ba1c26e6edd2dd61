import resource
import subprocess
import sys

import pytest

# Fills and frees 32 MiB in blocks of 256 KiB, which glibc by itself gives back and asks for again each time.
_ROUNDS = """
import resource
from streams.memory import keep_memory
{first}
def faults_of_a_round():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        blocks = [b"x" * (256 * 1024) for _ in range(128)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults_of_a_round()
print(faults_of_a_round())
"""


def faults(first: str) -> int:
    done = subprocess.run([sys.executable, "-c", _ROUNDS.format(first=first)], capture_output=True, check=True)
    return int(done.stdout)


def test_what_was_freed_is_used_again_without_asking_the_system_for_pages():
    pages = 32 * 1024 * 1024 // resource.getpagesize()
    if faults("") < pages:
        pytest.skip("this C library keeps memory by itself")
    assert faults("keep_memory()") < pages // 10
