"""Records which kernel instructions boots reach, with a wrapper of QEMU."""

from __future__ import annotations

import array
import shlex
from pathlib import Path
from typing import Iterator

from tally.base.errors import SetupError
from tally.formats.executable import Image
from tally.plugins import plugin

PAIR = 2  # bytes: instructions have one or two pairs

# Other kernels are not recorded, as they have other instructions at these addresses;
# nor are boots with a plugin of their own. $word may be an inherited descriptor.
WRAPPER = """\
#!/bin/sh
# QEMU; if it boots the kernel that is measured it records what that executes.
kernel={kernel} last='' measured=''
for word; do
	case $last in -kernel)
		! cmp -s "$word" "$kernel" 2>/dev/null || measured=yes
	esac
	if [ "$word" = -plugin ]; then
		measured=''
		break
	fi
	last=$word
done
[ -z "$measured" ] || set -- "$@" -plugin {plugin}
exec {qemu} "$@"
"""


class Recorder:
    """Records into a folder, which must be empty at first."""

    def __init__(self, kernel: bytes, qemu: str, folder: Path) -> None:
        self.folder = folder
        elf = folder / "kernel.elf"
        elf.write_bytes(kernel)
        self.image = Image(elf)
        self.start, self.end = self._symbol("text_start"), self._symbol("etext")
        library = plugin.build("reached", plugin.qemu_major(qemu), folder)
        map = folder / "map"
        low = [f"{address & 0xFFFF_FFFF:x}" for address in (self.start, self.end)]
        map.write_text(f"text {' '.join(low)}\nresult boot.XXXXXX\n")
        self.qemu = folder / "qemu"
        loaded = plugin.option(library, map)
        quoted = {"kernel": elf, "plugin": loaded, "qemu": qemu}
        self.qemu.write_text(
            WRAPPER.format(
                **{name: shlex.quote(str(word)) for name, word in quoted.items()}
            )
        )
        self.qemu.chmod(0o755)

    def _symbol(self, name: str) -> int:
        address = self.image.symbol(name)
        if address is None:
            raise SetupError(f"the kernel has no symbol {name}")
        return address

    def merged(self) -> Boots:
        boots = Boots(self.image, self.start, self.end)
        for file in self.folder.glob("boot.*"):
            boots.add(file.read_bytes())
        return boots


class Boots:
    """The counts of boots that executed each instruction."""

    def __init__(self, image: Image, start: int, end: int) -> None:
        self.image, self.start, self.end = image, start, end
        self.started = self.reached = 0  # boots of QEMU, and those of the kernel
        self._times = [0] * ((end - start) // PAIR)

    def add(self, record: bytes) -> None:
        self.started += 1
        lengths = array.array("H", record)
        executed = bytearray(len(lengths))
        for at, length in enumerate(lengths):
            if length:
                executed[at : at + length] = b"\1" * length
        self.reached += any(executed)
        self._times = list(map(int.__add__, self._times, executed))

    def times(self) -> Iterator[tuple[int, int]]:
        """Yields each pair's address, and how many boots executed it."""
        return zip(range(self.start, self.end, PAIR), self._times)
