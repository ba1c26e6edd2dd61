"""The gateway's own settings (``PROOFSTREAM_GATEWAY_…``). Where Kafka is, it takes from the settings of everybody."""

from typing import Annotated, Final

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from streams.transport.topics import MAX_RECORD_BYTES

ENV_PREFIX: Final = "PROOFSTREAM_GATEWAY_"
_MIB: Final = 1024 * 1024
_LEAST_TOKEN: Final = 24
# What a record holds beside the body: the headers, and Kafka's own framing.
_BESIDE_THE_BODY: Final = 256 * 1024


def _hard_to_guess(value: SecretStr | None) -> SecretStr | None:
    token = value.get_secret_value() if value is not None else None
    if token is not None and not (len(token) >= _LEAST_TOKEN and token.isascii() and token.isprintable()):
        raise ValueError(f"it must have {_LEAST_TOKEN} characters of printable ASCII at least")
    if token is not None and " " in token:
        raise ValueError("it must not have spaces in it")
    return value


class GatewaySettings(BaseSettings):
    """How the gateway listens, and where it draws its lines."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    host: str = Field("127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="The port to listen on; 0 for any.")
    answer_within_s: float = Field(
        4.0, gt=0, le=60, description="When a delivery is answered at the latest, counted from its headers, in seconds."
    )
    head_within_s: float = Field(
        5.0, gt=0, le=60, description="How long a request's headers may take to come, in seconds."
    )
    # Longer than nginx keeps an idle one: a connection must not be closed under a request.
    idle_s: float = Field(75.0, gt=0, le=600, description="When a connection without a request is closed, in seconds.")
    max_body_bytes: int = Field(
        3 * _MIB, ge=1, le=MAX_RECORD_BYTES - _BESIDE_THE_BODY, description="The longest body that is taken."
    )
    max_head_bytes: int = Field(
        32 * 1024, ge=1024, le=128 * 1024, description="The longest headers that are taken, all together."
    )
    max_connections: int = Field(500, ge=1, description="The most connections at once.")
    max_under_way: int = Field(256, ge=1, description="The most deliveries under way at once.")
    max_under_way_bytes: int = Field(
        64 * _MIB, ge=1, description="The most bytes that the bodies under way have together."
    )
    trusted_token: Annotated[SecretStr | None, AfterValidator(_hard_to_guess)] = Field(
        None, description="What a sender on a `trusted` connection must know. Without it, these are not served."
    )
