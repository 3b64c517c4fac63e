# docker build -t signalbox .
# docker run -p 127.0.0.1:8000:8000 -p 127.0.0.1:9090:9090 -v signalbox:/data --env-file .env signalbox

FROM node:24-slim AS build
WORKDIR /source
COPY . .
# Without the script before the build, which would install everything again: .dockerignore leaves out the examples' packages.
RUN npm ci --no-audit --no-fund && npm run build --ignore-scripts && npm prune --omit=dev --no-audit --no-fund
# The bundle has our own packages in it; their links would lead nowhere.
RUN rm -rf node_modules/@signalbox node_modules/.bin

FROM node:24-slim
ENV NODE_ENV=production DATA_DIR=/data
# In a container only what is published is reachable; still, set API_KEYS before others can reach it.
ENV HOST=0.0.0.0
WORKDIR /app
COPY --from=build /source/node_modules node_modules
COPY --from=build /source/dist/signalbox .
RUN install -d -o node -g node /data
USER node
VOLUME /data
EXPOSE 8000 9090
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8000}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# It handles SIGTERM: writes that are in flight may end (25 s), and other work is queued again. So give it 30 s before a SIGKILL.
CMD ["node", "signalbox.js", "start"]
