# For systems that scripts/setup doesn't know: everything Tally needs, and a
# checkout mounted (or copied) at /tally.
#
#	docker build -t tally .
#	docker run -it --rm -v "$PWD":/tally tally scripts/demo
FROM debian:trixie-slim
COPY scripts/setup /opt/tally/scripts/setup
COPY scripts/lib/common.sh /opt/tally/scripts/lib/common.sh
RUN /opt/tally/scripts/setup -y && \
    apt-get install -y --no-install-recommends git && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /tally
CMD ["scripts/run"]
