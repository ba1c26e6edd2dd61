"""The checker: reads only the topics, and says everything that is not as it must be.

It counts for itself, from what was published and what became of it, and compares with what the pure functions give; it
knows nothing of how the workers came to what they published.
"""

from collections import Counter
from itertools import chain
from typing import Final

import orjson

from streams.intake import Context
from tests.faults.checks.evidence import Evidence, Violation
from tests.faults.checks.letters import check_letters, check_put_back
from tests.faults.checks.outputs import check_answers, check_outputs, check_partitions
from tests.faults.checks.reviews import check_reviews
from tests.faults.checks.sources import check_refusals, check_sources
from tests.faults.checks.state import check_counts, check_offsets, check_rows
from tests.faults.checks.verdicts import check_verdicts
from tests.faults.expected import Expected
from tests.faults.topics import Contents

CHECKS: Final = (
    check_offsets,
    check_sources,
    check_refusals,
    check_letters,
    check_put_back,
    check_verdicts,
    check_reviews,
    check_rows,
    check_counts,
    check_outputs,
    check_answers,
    check_partitions,
)


def check(contents: Contents, expected: Expected, context: Context, prefix: str) -> list[Violation]:
    """Check what lies in the topics once everything has been worked off.

    Args:
        contents: the topics.
        expected: what the world must come to.
        context: the contracts and connections that the workers had in the end.
        prefix: the topics' prefix.

    Returns:
        Every violation; none where all is well.
    """
    evidence = Evidence(contents, expected, context, prefix)
    return list(chain.from_iterable(one(evidence) for one in CHECKS))


def summary(contents: Contents) -> Counter[str]:
    """Count what a trial has come to, by kind: a check that had nothing to look at has shown nothing."""
    counted = Counter(str(orjson.loads(one.value)["verdict"]) for one in contents.of("verdicts"))
    for record in contents.of("reviews"):
        counted["review"] += 1
        counted["late evidence"] += bool(orjson.loads(record.value)["late_evidence"])
    for record in contents.of("dead-letters"):
        counted["dead letter" if "dead_letter_stage" in dict(record.headers) else "put back"] += 1
    return counted
