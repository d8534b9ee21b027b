# The server of secom-memory. Build: docker build -t secom . (see docs/serve.md)
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY LICENSES ./LICENSES
COPY secom_core ./secom_core
COPY langchain_secom ./langchain_secom
COPY llamaindex_secom ./llamaindex_secom
COPY openai_agents_secom ./openai_agents_secom
COPY pydantic_ai_secom ./pydantic_ai_secom
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir ".[serve,postgres,static,openai]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 --create-home --home-dir /data secom
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
ENV SECOM_STORE=/data/memory.db SECOM_SERVE_HOST=0.0.0.0 SECOM_SERVE_PORT=8765
USER secom
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health', timeout=4)"]
STOPSIGNAL SIGTERM
# Without tokens it refuses to start: set SECOM_TOKEN and SECOM_SCOPE, or mount a file and set SECOM_SERVE_TOKENS_FILE.
ENTRYPOINT ["secom"]
CMD ["serve"]
