# syntax=docker/dockerfile:1
# docs/how-to/kubernetes.md explains how to build the same image again, with BASE by its digest and SOURCE_DATE_EPOCH.
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE} AS build
# Extras of the package to include in the image, separated by commas: s3, parquet, traces.
ARG EXTRAS=
ARG SOURCE_DATE_EPOCH=0
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Every downloaded file is checked against constraints.txt. The later steps use only these files, so the image contains the
# pinned versions of the packages needed at run time, and none of the development tools.
COPY constraints.txt ./
RUN pip download --quiet --only-binary :all: --require-hashes --requirement constraints.txt --dest /wheels
COPY LICENSE README.md pyproject.toml ./
COPY migrations migrations
COPY app app
# Compile with hashes instead of dates, because all dates in the image may be set to the same value.
RUN pip wheel --quiet --no-index --find-links /wheels --no-deps --wheel-dir /package . \
 && python -m venv --without-pip /opt/plumbline \
 && pip --python /opt/plumbline install --quiet --no-index --find-links /wheels --find-links /package --no-compile \
    --no-warn-script-location "plumbline${EXTRAS:+[$EXTRAS]}" \
 && PYTHONHASHSEED=0 /opt/plumbline/bin/python -m compileall -q -j 1 --invalidation-mode unchecked-hash /opt/plumbline/lib
# The bill of materials of the installed packages, in CycloneDX.
COPY .ci/sbom.py .ci/sbom.py
RUN python -m venv --without-pip /opt/sbom \
 && pip --python /opt/sbom install --quiet --no-index --find-links /wheels --no-warn-script-location \
    cyclonedx-python-lib packaging \
 && mkdir -p /opt/plumbline/share \
 && /opt/sbom/bin/python .ci/sbom.py /opt/plumbline/lib/python3.*/site-packages >/opt/plumbline/share/plumbline.cdx.json

FROM ${BASE}
ARG SOURCE_DATE_EPOCH=0
LABEL org.opencontainers.image.title="Plumbline" org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --home-dir /var/lib/plumbline --create-home --shell /usr/sbin/nologin plumbline \
 && chmod 0700 /var/lib/plumbline
COPY --from=build /opt/plumbline /opt/plumbline
ENV PATH=/opt/plumbline/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PLUMBLINE_DATA_DIR=/var/lib/plumbline \
    PLUMBLINE_HOST=0.0.0.0 \
    MPLCONFIGDIR=/tmp/matplotlib
USER 10001:10001
WORKDIR /var/lib/plumbline
# The root file system may be read-only; only the data folder and /tmp are written to.
VOLUME /var/lib/plumbline
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
CMD ["plumbline", "serve"]
