"""One log line for each thing that a person may look for: a verdict, a refusal, what was ignored or forgotten."""

import logging
from collections.abc import Sequence

from streams.outputs import Forgotten, Ignored, Output, Refused, Verdict

_log = logging.getLogger("proofstream")


def log_outputs(outputs: Sequence[Output]) -> Sequence[Output]:
    """Log outputs, without bodies or secrets, and return them."""
    for output in outputs:
        match output:
            case Verdict(operation_id, verdict_id, _, record):
                _log.info(
                    "verdict %s for operation %s by %s (sequence %s, %s)",
                    record["verdict"],
                    operation_id,
                    record["rule"],
                    record["sequence"],
                    verdict_id,
                )
            case Refused():
                _log.warning(
                    "dead letter from %s/%s/%s at %s: %s: %s",
                    output.topic,
                    output.partition,
                    output.offset,
                    output.stage,
                    output.class_,
                    output.reason,
                )
            case Ignored(event_type):
                _log.debug("ignored a delivery of the type %s: no contract listens to it", event_type)
            case Forgotten(events):
                _log.warning("dropped %s events that no operation had claimed in time", events)
    return outputs
