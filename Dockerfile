# syntax=docker/dockerfile:1
# One image for web, workers and commands; `docker build .` makes the target `app`. `--target local` adds PyTorch and
# transformers, `--target vllm` adds vLLM, for workers that run models themselves.
#
# The image runs as a user of its own, and needs to write to /data (a volume) and /tmp (a tmpfs) alone: everything else
# may be read-only. If you pass it on, krippendorff's license (GPL-3.0-or-later) applies to the whole; leave it out with
# --build-arg WITHOUT=krippendorff, and alpha is computed by our own code.

ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS dependencies
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
ARG WITHOUT=""
WORKDIR /build
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
# What the code needs, without the code: a change of the code leaves this layer as it is.
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
# The package is built of folders that are empty, so that its name and version are known; PYTHONPATH has the code.
RUN mkdir annotation config judges metaeval touchstone_client web templates static locale fixtures
RUN pip install --constraint constraints.txt '.[app,pictures,pdf,otel,sentry]'
RUN if [ -n "$WITHOUT" ]; then pip uninstall --yes $WITHOUT; fi

FROM dependencies AS dependencies-local
RUN pip install --constraint constraints.txt '.[local]'

FROM dependencies AS dependencies-vllm
RUN pip install '.[vllm]'

FROM dependencies AS code
WORKDIR /app
COPY manage.py pyproject.toml ./
COPY annotation annotation
COPY config config
COPY fixtures fixtures
COPY judges judges
COPY locale locale
COPY metaeval metaeval
COPY static static
COPY templates templates
COPY touchstone_client touchstone_client
COPY web web
ENV PYTHONPATH=/app STATIC_ROOT=/app/static-collected STATIC_MANIFEST=true TOUCHSTONE_VAR=/tmp/build
RUN python manage.py collectstatic --no-input --verbosity 0
RUN python -m compileall -q -j 0 /app

FROM python:${PYTHON}-slim-bookworm AS base
RUN groupadd --gid 10001 touchstone \
    && useradd --uid 10001 --gid touchstone --home-dir /tmp --no-create-home --shell /usr/sbin/nologin touchstone \
    && install --directory --owner touchstone --group touchstone /data
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp \
    STATIC_ROOT=/app/static-collected STATIC_MANIFEST=true TOUCHSTONE_VAR=/data LOG_FORMAT=json
WORKDIR /app
VOLUME /data
EXPOSE 8000
USER 10001:10001
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]

FROM base AS local
COPY --from=dependencies-local /opt/venv /opt/venv
COPY --from=code /app /app

FROM base AS vllm
COPY --from=dependencies-vllm /opt/venv /opt/venv
COPY --from=code /app /app

# The last one is built where no target is named.
FROM base AS app
COPY --from=dependencies /opt/venv /opt/venv
COPY --from=code /app /app
