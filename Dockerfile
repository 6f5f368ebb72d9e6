# docker run --read-only --mount type=volume,source=sandwatch,target=/data \
#   --mount type=bind,source="$PWD/sandwatch.yaml",target=/etc/sandwatch/sandwatch.yaml,readonly \
#   --env RESEARCH_API_KEY --publish 9740:9740 sandwatch
#
# In a container `http.listen` must be :9740 (every interface); otherwise it cannot be reached from outside. This needs
# `http.auth`, with tokens in files or variables: see docs/access.md.

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The only package with an install script provides Node.js, which this image has.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json rolldown.config.ts ./
COPY src src
RUN npm run build && chmod +x dist/cli.js

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim
# The commit, for the metric sandwatch_build_info: --build-arg REVISION="$(git rev-parse HEAD)"
ARG REVISION=unknown
ENV NODE_ENV=production
ENV SANDWATCH_REVISION=$REVISION
# Where SQLite sorts data that does not fit into memory; the rest of the file system may be read-only.
ENV SQLITE_TMPDIR=/data
# Returns freed memory to the system: one malloc arena, ...
ENV MALLOC_ARENA_MAX=1
# ... and large buffers outside of it.
ENV MALLOC_MMAP_THRESHOLD_=131072
# Keeps compiled code for the next start.
ENV NODE_COMPILE_CACHE=/data/compile-cache
RUN mkdir /data && chown node:node /data
# For `docker exec` and `kubectl exec`.
RUN ln -s /app/dist/cli.js /usr/local/bin/sandwatch
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY package.json LICENSE /app/
COPY config/sandwatch.schema.json /app/config/
# From here the default `store.path`, data/sandwatch.db, is /data/sandwatch.db.
WORKDIR /
VOLUME /data
USER 1000:1000
EXPOSE 9740
STOPSIGNAL SIGTERM
# With `http.tls` it answers over https only, with a certificate for the name that others call it by.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0; const ask = (scheme) => fetch(scheme + '://127.0.0.1:9740/-/healthy'); ask('http').catch(() => ask('https')).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Limits the memory of V8's young generation.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/dist/cli.js"]
CMD ["run", "--config", "/etc/sandwatch/sandwatch.yaml"]
