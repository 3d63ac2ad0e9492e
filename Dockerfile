# citeproof serve, with the embedded models on the CPU:
#   docker build -t citeproof .
#   docker run -e SERVE_TOKEN -p 127.0.0.1:8080:8080 -v citeproof:/data citeproof serve --host 0.0.0.0
# with a token of at least 16 characters in the variable SERVE_TOKEN.
FROM python:3.12-slim AS build
# The CPU build of torch: the one with CUDA is ten times as large.
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu \
    PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/citeproof
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY citeproof citeproof
RUN /opt/citeproof/bin/pip install -c constraints.txt ".[local,office,otel,pdf,postgres,serve,sqlite]"

FROM python:3.12-slim
# OpenMP, which torch and llama.cpp compute with; Tesseract, which reads scans.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 tesseract-ocr \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 citeproof \
    && install -d -o citeproof -g citeproof /data /data/models
COPY --from=build /opt/citeproof /opt/citeproof
ENV PATH=/opt/citeproof/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    CITEPROOF_MODELS__CACHE=/data/models \
    CITEPROOF_CHROMA__PATH=/data/store
USER citeproof
WORKDIR /data
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["citeproof"]
CMD ["--help"]
