# The aggregator of geo-distributed trainings as a container image, for Google Cloud Run and Azure
# Container Apps: docs/geo-function.md. Build it where tradewind was built, on Debian 12:
#     make && docker build -f packaging/function.dockerfile -t REGISTRY/aggregator:1 .
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates \
        libcurl4 libexpat1 libjansson4 libmicrohttpd12 libssl3 zlib1g && \
    rm -rf /var/lib/apt/lists/*
COPY build/tradewind-aggregator /usr/local/bin/tradewind-aggregator
USER 65534
CMD ["tradewind-aggregator"]
