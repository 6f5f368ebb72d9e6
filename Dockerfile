# docker build --build-arg REVISION="$(git rev-parse HEAD)" --tag sandwatch:0.1.0 .
# docker run --read-only --mount type=volume,source=sandwatch,target=/data \
#   --mount type=bind,source="$PWD/sandwatch.yaml",target=/etc/sandwatch/sandwatch.yaml,readonly \
#   --env RESEARCH_API_KEY --publish 9740:9740 sandwatch:0.1.0
#
# In a container `http.listen` must be :9740 (every interface); otherwise it cannot be reached from outside. This needs
# `http.auth`, with tokens in files or variables: see docs/access.md.

# The base images have no digests here. Who releases adds those of the day: docs/CONTRIBUTING.md.
FROM node:24-bookworm-slim AS base
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM base AS build
# The only package with an install script provides Node.js, which this image has.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json rolldown.config.ts ./
COPY generate/sbom.ts generate/
COPY docs/runbooks.md docs/
COPY src src
RUN npm run build && chmod +x dist/cli.js

FROM base AS dependencies
RUN npm ci --omit=dev --ignore-scripts

# Without npm, which sandwatch does not need.
FROM debian:bookworm-slim
# Node.js needs libstdc++6, the health check wget.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libstdc++6 wget \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 --user-group --home-dir /data --no-create-home sandwatch \
  && install --directory --owner 1000 --group 1000 /data
COPY --from=base /usr/local/bin/node /usr/local/bin/
COPY --from=base /usr/local/LICENSE /usr/share/doc/node/
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY package.json LICENSE /app/
COPY config/sandwatch.schema.json /app/config/
# For `docker exec` and `kubectl exec`.
RUN ln -s /app/dist/cli.js /usr/local/bin/sandwatch
# The build fails if Node.js lacks a library.
RUN sandwatch --version
# The commit, also for the metric sandwatch_build_info.
ARG REVISION=unknown
LABEL org.opencontainers.image.title="sandwatch" \
  org.opencontainers.image.description="Monitors MCP sandboxes in every region: metrics, history and alerts." \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.url="https://git.example.com/sandwatch/sandwatch#readme" \
  org.opencontainers.image.source="https://git.example.com/sandwatch/sandwatch.git" \
  org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"
ENV NODE_ENV=production
ENV SANDWATCH_REVISION=$REVISION
# So that `docker exec ... sandwatch status` needs no --config.
ENV SANDWATCH_CONFIG=/etc/sandwatch/sandwatch.yaml
# Where SQLite sorts data that does not fit into memory; the rest of the file system may be read-only.
ENV SQLITE_TMPDIR=/data
# Returns freed memory to the system: one malloc arena, ...
ENV MALLOC_ARENA_MAX=1
# ... and large buffers outside of it.
ENV MALLOC_MMAP_THRESHOLD_=131072
# Keeps compiled code for the next start.
ENV NODE_COMPILE_CACHE=/data/compile-cache
# From here the default `store.path`, data/sandwatch.db, is /data/sandwatch.db.
WORKDIR /
VOLUME /data
USER 1000:1000
EXPOSE 9740
STOPSIGNAL SIGTERM
# By wget, because each Node.js takes 60 MB of memory, and bash cannot speak https. With `http.tls` sandwatch answers over
# https only, with a certificate for the name that others call it by.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD wget -q -O /dev/null -t 1 -T 4 http://127.0.0.1:9740/-/healthy \
  || wget -q -O /dev/null -t 1 -T 4 --no-check-certificate https://127.0.0.1:9740/-/healthy \
  || exit 1
# Limits the memory of V8's young generation.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/dist/cli.js"]
CMD ["run", "--config", "/etc/sandwatch/sandwatch.yaml"]
