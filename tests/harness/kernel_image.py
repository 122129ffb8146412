"""What the kernel's executable says of itself."""

from __future__ import annotations

import io

from elftools.elf.elffile import ELFFile

from harness.guest import Images


class KernelImage:
    """The kernel that the guests boot."""

    def __init__(self, images: Images) -> None:
        with open(f"/proc/self/fd/{images.kernel}", "rb") as file:
            self.elf = ELFFile(io.BytesIO(file.read()))

    def symbol(self, name: str) -> int:
        return self._symbol(name)["st_value"]

    def function(self, name: str) -> range:
        """The addresses of a function."""
        symbol = self._symbol(name)
        return range(symbol["st_value"], symbol["st_value"] + symbol["st_size"])

    @property
    def text(self) -> range:
        """What kprof counts."""
        return range(self.symbol("text_start"), self.symbol("etext"))

    def _symbol(self, name: str):
        (symbol,) = self.elf.get_section_by_name(".symtab").get_symbol_by_name(name)
        return symbol
