"""How the worker uses Faust: the settings that its guarantees rest on, and why."""

from typing import Any

import faust.streams

from streams.settings import Settings
from streams.transport.producer import PATIENCE_S


def faust_settings(settings: Settings) -> dict[str, Any]:
    """Return Faust's settings for a worker."""
    brokers = ";".join(f"kafka://{address.strip()}" for address in settings.bootstrap_servers.split(","))
    heartbeat_s = min(3.0, settings.session_timeout_s / 4)
    return {
        "broker": brokers,
        "store": "memory://",  # a disk can hold what the changelog lacks; memory cannot
        "processing_guarantee": "at_least_once",  # Faust's exactly_once leaves output topics out of its transactions
        "topic_partitions": settings.partitions,
        "topic_replication_factor": settings.replication_factor,
        "topic_disable_leader": True,
        "table_standby_replicas": 0,  # the memory store drops standby rows at every rebalance
        "key_serializer": "raw",
        "value_serializer": "raw",
        "datadir": settings.data_dir,
        "web_enabled": False,
        "web_tables_enabled": False,
        "autodiscover": False,
        "broker_commit_interval": settings.commit_interval_s,
        "broker_max_poll_records": settings.max_poll_records,
        "broker_max_poll_interval": 86_400.0,  # an idle worker must not leave the group
        "broker_session_timeout": settings.session_timeout_s,
        "broker_heartbeat_interval": heartbeat_s,
        # How long Faust waits for what it asks of Kafka in a rebalance: it gives up its recovery for good after that.
        # How long one request is waited for is set in BatchConsumerThread.
        "broker_request_timeout": PATIENCE_S,
        "broker_rebalance_timeout": max(60.0, settings.session_timeout_s),
        "consumer_auto_offset_reset": "earliest",
        "consumer_max_fetch_size": 4 * 1024 * 1024,
        "producer_request_timeout": 45.0,
        "stream_buffer_maxsize": 16,  # batches, not records
        "stream_wait_empty": True,
        "worker_redirect_stdouts": False,
    }


def check_faust() -> None:
    """Refuse to run on a Faust without its compiled stream iterator.

    Raises:
        RuntimeError: the pure Python iterator is in use; it acknowledges events of a past generation unseen.
    """
    if getattr(faust.streams, "_CStreamIterator", None) is None:
        raise RuntimeError("faust-streaming was installed without its compiled parts: install its wheel")
