# The worker's image. The wheel is built in one stage and installed in another, so that the image holds no
# sources, no build tools and no pip cache.
FROM python:3.11-slim AS build

WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY contracts ./contracts
COPY streams ./streams
COPY verifiers ./verifiers
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/proofstream \
    && /opt/proofstream/bin/pip install --no-cache-dir /wheels/*.whl


FROM python:3.11-slim

RUN useradd --system --uid 10001 --home-dir /var/lib/proofstream --create-home proofstream
COPY --from=build /opt/proofstream /opt/proofstream
ENV PATH=/opt/proofstream/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PROOFSTREAM_HEALTH_FILE=/tmp/proofstream.healthy

USER 10001
WORKDIR /var/lib/proofstream

# The worker touches this file every few seconds while it makes progress.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD test -n "$(find "$PROOFSTREAM_HEALTH_FILE" -mmin -0.5)"

ENTRYPOINT ["proofstream"]
CMD ["worker"]
