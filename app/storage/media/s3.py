"""Media in a store with the S3 protocol: Amazon's, MinIO, Ceph, Garage and others. It needs the extra `s3`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.domain.errors import Invalid, Unavailable
from app.storage.media.stores import PIECE, MediaBytesMissing

ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})


class S3ClientNotInstalled(Invalid):
    """PLUMBLINE_MEDIA_STORE names a bucket, but boto3 is not installed; install plumbline[s3]."""

    published = "S3ClientMissing"


class MediaStoreUnreachable(Unavailable):
    """The media store cannot be reached; try again."""


class S3MediaStore:
    """Files by hash in a bucket. boto3 finds the credentials in its usual places: the environment, or a role."""

    def __init__(self, bucket: str, prefix: str = "", *, endpoint: str | None = None) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self.endpoint = endpoint
        self._client: Any = None

    @classmethod
    def from_address(cls, address: str, *, endpoint: str | None = None) -> S3MediaStore:
        """Create a store from its address.

        >>> store = S3MediaStore.from_address("s3://bucket/some/prefix")
        >>> store.bucket, store.prefix
        ('bucket', 'some/prefix/')
        """
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        return cls(bucket, prefix, endpoint=endpoint)

    def put(self, source: Path, sha256: bytes) -> None:
        """Store a file, in parts if it is large. Raises MediaStoreUnreachable."""
        with self._client_with_own_errors(sha256) as client:
            client.upload_file(str(source), self.bucket, self._key(sha256))

    def read(self, sha256: bytes, start: int, length: int) -> Iterator[bytes]:
        """Return the bytes in pieces. Raises MediaBytesMissing, MediaStoreUnreachable."""
        if length <= 0:
            return iter(())
        with self._client_with_own_errors(sha256) as client:
            wanted = f"bytes={start}-{start + length - 1}"
            body = client.get_object(Bucket=self.bucket, Key=self._key(sha256), Range=wanted)["Body"]
        return iter(body.iter_chunks(PIECE))

    def remove(self, sha256: bytes) -> None:
        """Delete a file. Raises MediaStoreUnreachable."""
        with self._client_with_own_errors(sha256) as client:
            client.delete_object(Bucket=self.bucket, Key=self._key(sha256))

    def list_hashes_with_times(self) -> Iterator[tuple[bytes, float]]:
        """Yield the stored files with their times. Raises MediaStoreUnreachable."""
        with self._client_with_own_errors(b"") as client:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix)
            for page in pages:
                for item in page.get("Contents", ()):
                    name = item["Key"].rpartition("/")[2]
                    if len(name) == 64:
                        yield bytes.fromhex(name), item["LastModified"].timestamp()

    def _key(self, sha256: bytes) -> str:
        return f"{self.prefix}{sha256.hex()[:2]}/{sha256.hex()}"

    @contextmanager
    def _client_with_own_errors(self, sha256: bytes) -> Iterator[Any]:
        """Yield the client, created when first needed, and translate its errors into our own."""
        try:
            import boto3
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError:
            raise S3ClientNotInstalled from None
        try:
            if self._client is None:
                self._client = boto3.client("s3", endpoint_url=self.endpoint)
            yield self._client
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ABSENT:
                raise MediaBytesMissing(sha256.hex()) from None
            raise MediaStoreUnreachable(retry_after=5) from error
        except BotoCoreError as error:
            raise MediaStoreUnreachable(retry_after=5) from error
