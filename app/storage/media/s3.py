"""Media in a store that speaks S3: Amazon's, MinIO, Ceph, Garage and others. It needs the extra `s3`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.domain.errors import Invalid, Unavailable
from app.storage.media.files import PIECE, MediaBytesMissing

ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})


class S3ClientMissing(Invalid):
    """PLUMBLINE_MEDIA_STORE names a bucket, but boto3 is not installed; install plumbline[s3]."""


class MediaStoreUnreachable(Unavailable):
    """The media store cannot be reached; try again."""


class S3MediaStore:
    """Files by their hash in a bucket. Credentials are where boto3 looks for them: the environment, or a role."""

    def __init__(self, bucket: str, prefix: str = "", *, endpoint: str | None = None) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self.endpoint = endpoint
        self._client: Any = None

    @classmethod
    def from_address(cls, address: str, *, endpoint: str | None = None) -> S3MediaStore:
        """A store by its address.

        >>> store = S3MediaStore.from_address("s3://bucket/some/prefix")
        >>> store.bucket, store.prefix
        ('bucket', 'some/prefix/')
        """
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        return cls(bucket, prefix, endpoint=endpoint)

    def put(self, source: Path, sha256: bytes) -> None:
        """Store a file, in parts where it is large. Raises MediaStoreUnreachable."""
        with self._client_with_own_errors(sha256) as client:
            client.upload_file(str(source), self.bucket, self._key(sha256))

    def read(self, sha256: bytes, start: int, length: int) -> Iterator[bytes]:
        """Bytes in pieces. Raises MediaBytesMissing, MediaStoreUnreachable."""
        if length <= 0:
            return iter(())
        with self._client_with_own_errors(sha256) as client:
            wanted = f"bytes={start}-{start + length - 1}"
            body = client.get_object(Bucket=self.bucket, Key=self._key(sha256), Range=wanted)["Body"]
        return iter(body.iter_chunks(PIECE))

    def remove(self, sha256: bytes) -> None:
        """Let go of a file. Raises MediaStoreUnreachable."""
        with self._client_with_own_errors(sha256) as client:
            client.delete_object(Bucket=self.bucket, Key=self._key(sha256))

    def list_hashes_with_times(self) -> Iterator[tuple[bytes, float]]:
        """What is stored. Raises MediaStoreUnreachable."""
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
        """The client; its errors as ours. It is made when it is first needed."""
        try:
            import boto3
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError:
            raise S3ClientMissing from None
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
