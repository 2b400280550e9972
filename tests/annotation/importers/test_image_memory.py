"""Pictures of as many pixels as are taken, or of a few more: each is encoded in bounded memory."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

pytestmark = pytest.mark.service

_PEAK = """
import sys
from pathlib import Path
from annotation.importers.images import ImageError, image_encode
data = Path(sys.argv[1]).read_bytes()
def peak():
    return int(next(line for line in Path("/proc/self/status").open() if line.startswith("VmHWM")).split()[1]) // 1024
before = peak()
try:
    image_encode(data)
except ImageError:
    pass
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measured on Linux")
@pytest.mark.parametrize(
    ("format", "mode"), [("JPEG", "RGB"), ("PNG", "RGB"), ("WEBP", "RGBA"), ("GIF", "P")]
)
@pytest.mark.parametrize("size", [(7_000, 7_000), (4_400, 4_500)])
def test_a_picture_of_many_pixels_takes_bounded_memory(tmp_path, format, mode, size):
    """Measured in a process of its own, in mebibytes."""
    path = tmp_path / "picture"
    Image.new(mode, size).save(path, format, **({"progressive": True} if format == "JPEG" else {}))
    done = subprocess.run([sys.executable, "-c", _PEAK, path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500
