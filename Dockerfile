# Waybill's processes: `api`, `worker`, `host`, `migrate` and every other command of the CLI.
FROM node:22.23.3-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The lifecycle scripts of the packages are for the embedded servers, which no container starts, and for
# an SQLite that this Node has itself.
RUN npm ci --ignore-scripts
COPY build.cjs tsconfig.json tsconfig.build.json tsconfig.client.json ./
COPY client ./client
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:22.23.3-bookworm-slim
# The Temporal SDK verifies TLS with the system's certificates, which the slim image does not have.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o node -g node -m 700 /var/lib/waybill
ENV NODE_ENV=production WAYBILL_HOME=/var/lib/waybill
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY bin ./bin
COPY migrations ./migrations
COPY proto ./proto
COPY schemes ./schemes
COPY deploy/ready.js ./deploy/
USER node
VOLUME /var/lib/waybill
EXPOSE 7380 7381 7382 7383
ENTRYPOINT ["node", "--enable-source-maps", "/app/bin/waybill.js"]
CMD ["--help"]
