"""Settings, from the environment (``PROOFSTREAM_…``) or a file ``.env``. The README's table is made from this model."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from streams.policy import DAY_MS, Policy


def _split_paths(value: Any) -> Any:
    return [Path(part) for part in value.split(os.pathsep) if part] if isinstance(value, str) else value


def _topic_prefix(value: str) -> str:
    if not all(one.isalnum() or one in "._-" for one in value):
        raise ValueError("a topic's name holds letters, digits, '.', '_' and '-' only")
    return value


class Settings(BaseSettings):
    """What a worker, and each command that talks to Kafka, needs to know."""

    model_config = SettingsConfigDict(env_prefix="PROOFSTREAM_", env_file=".env", extra="ignore", frozen=True)

    bootstrap_servers: str = Field("127.0.0.1:9092", description="Kafka's addresses, separated by commas.")
    app_id: str = Field("proofstream", pattern=r"^[A-Za-z0-9._-]+$", description="The consumer group's name.")
    topic_prefix: Annotated[str, AfterValidator(_topic_prefix)] = Field(
        "", description="Put before the name of every topic."
    )
    partitions: int = Field(8, ge=1, le=1024, description="Partitions of every topic. Cannot be changed later.")
    replication_factor: int = Field(1, ge=1, description="Replicas of every topic; 3 on a real cluster.")
    broker: Literal["kafka", "embedded"] = Field(
        "kafka", description="`embedded` adapts to what the embedded broker cannot do."
    )
    connections_file: Path = Field(Path("connections.yaml"), description="The connections' YAML file.")
    contract_directories: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split_paths)] = Field(
        (), description="Directories with contracts of your own, separated as in PATH."
    )
    keep_days: float = Field(
        3.0, gt=0, description="How long an event waits for its operation, and how long a case is kept after its end."
    )
    read_concurrency: int = Field(8, ge=1, le=256, description="Reads under way at once, for each connection.")
    max_poll_records: int = Field(2000, ge=1, description="The most records that are taken in as one batch.")
    commit_interval_s: float = Field(1.0, gt=0, description="How often offsets are committed, in seconds.")
    session_timeout_s: float = Field(30.0, gt=0, description="When Kafka takes a silent worker for dead, in seconds.")
    stall_timeout_s: float = Field(
        120.0, gt=0, description="When a worker that stands still although Kafka answers is ended, in seconds."
    )
    data_dir: Path = Field(Path("proofstream-data"), description="Where the worker keeps its few local files.")
    health_file: Path | None = Field(None, description="Touched every 2 seconds while the worker is ready.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="The least level logged.")

    @property
    def policy(self) -> Policy:
        """How long things are kept and waited for."""
        return Policy(keep_ms=int(self.keep_days * DAY_MS))

    def topic(self, name: str) -> str:
        """Return the full name of a topic."""
        return f"{self.topic_prefix}{name}"

    @property
    def changelog_topic(self) -> str:
        """The full name of the table's changelog, as Faust derives it."""
        return f"{self.app_id}-{TABLE}-changelog"


TABLE = "cases"
