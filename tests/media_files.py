"""Small files of media, made here: a WAV of any length, a PNG of any size, a PDF page."""

from __future__ import annotations

import io
import math
import struct
import subprocess
import tempfile
import wave
import zlib
from pathlib import Path


def make_wav(seconds: float = 1.0, *, rate: int = 8000, tone: float = 440.0) -> bytes:
    """A tone, mono, 8 bits."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(1)
        out.setframerate(rate)
        steps = range(int(seconds * rate))
        out.writeframes(bytes(128 + int(100 * math.sin(2 * math.pi * tone * n / rate)) for n in steps))
    return file.getvalue()


def make_png(width: int = 8, height: int = 6, colour: tuple[int, int, int] = (200, 40, 40)) -> bytes:
    """A plain picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + bytes(colour) * width
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b"")
    )


def make_pdf(pages: int = 1) -> bytes:
    """Empty pages; each is wider than the one before."""
    kids = " ".join(f"{3 + n} 0 R" for n in range(pages))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>"]
    widths = (72 + 18 * n for n in range(pages))
    objects += [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} 36] >>" for width in widths]
    out, offsets = b"%PDF-1.4\n", []
    for n, text in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{n} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n".encode()
    return out + f"startxref\n{out.rfind(b'xref', 0, len(out))}\n%%EOF\n".encode()


def make_video(seconds: float = 2.0, *, size: str = "96x64") -> bytes:
    """Film with sound, by ffmpeg: WebM, which every Chromium plays."""
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error"]
    command += ["-f", "lavfi", "-i", f"testsrc=size={size}:rate=10:duration={seconds}"]
    command += ["-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}", "-c:v", "libvpx", "-c:a", "libvorbis"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made.webm"
        subprocess.run([*command, str(file)], check=True, capture_output=True)
        return file.read_bytes()


VTT = b"WEBVTT\n\n00:00.000 --> 00:01.000\nGood morning.\n"
ZIP_END = b"PK\x05\x06" + bytes(18)
