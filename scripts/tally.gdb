# For gdb on a Tally that waits in `make qemu-gdb': `make gdb' reads this.
#
#	break sample		stop in the kernel
#	program sh		add the symbols of /bin/sh
#	program build/extra.d/bin/hello		the same, of a program of yours
#	ubreak main		stop in that program
#
# Every program is linked at the same address. A plain `break' in one stops
# in any that passes there; ubreak looks whether it is the right one.

set confirm off
set pagination off

python
import os
import struct
import sys


def attempt(command, hint):
    """Do it, or end with one line: without it there is nothing to debug."""
    try:
        gdb.execute(command)
    except gdb.error as error:
        print(f"make gdb: {str(error).strip().rstrip('.')}: {hint}", file=sys.stderr)
        gdb.execute("quit 126")


attempt("set architecture riscv:rv64",
        "this gdb is for other machines;"
        " install gdb-multiarch, or set GDB to gdb's name")

# The hardware's single steps: for Linux gdb would put breakpoints behind each
# instruction, and let one hart alone come to them, for which QEMU waits for ever
# where harts take turns (-icount).
gdb.execute("set osabi none")

TEXT = 0x10000  # where a program's text begins, in memory
PAGE = 4096


class Program(gdb.Command):
    """program NAME: debug the user program /bin/NAME, or a file.
Its symbols join the kernel's, in place of those of the program before."""

    def __init__(self):
        super().__init__("program", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)
        self.text = b""

    def invoke(self, name, from_tty):
        build = os.path.dirname(gdb.current_progspace().filename)
        path = name if "/" in name else f"{build}/bin/{name}"
        if not os.path.exists(path):
            raise gdb.GdbError(f"{path}: there is no such program")
        if self.text:
            gdb.execute(f"remove-symbol-file -a {TEXT}")
        gdb.execute(f"add-symbol-file {path} {TEXT}")
        self.text = self.read_text(path)

    def read_text(self, path):
        """The bytes of the segment at TEXT."""
        with open(path, "rb") as f:
            elf = f.read()
        at, = struct.unpack_from("<Q", elf, 32)
        size, count = struct.unpack_from("<HH", elf, 54)
        for header in range(at, at + size * count, size):
            offset, va, _, length = struct.unpack_from("<4Q", elf, header + 8)
            if va == TEXT:
                return elf[offset:offset + length]
        raise gdb.GdbError(f"{path}: not a program for Tally")

    def runs_at(self, pc):
        """Is what is in memory after pc, to the page's end, this program?"""
        start, end = pc + 4, (pc + PAGE) & -PAGE
        want = self.text[start - TEXT:min(end, start + 64) - TEXT]
        have = gdb.selected_inferior().read_memory(start, len(want))
        return bytes(have) == want


class UserBreakpoint(gdb.Breakpoint):
    """Where nothing is in memory yet gdb can't go on: first the page's fault
must come. So this one is off until the kernel returns from that."""

    def __init__(self, where):
        super().__init__(where)
        self.later = AfterFault(self)

    def stop(self):
        try:
            return program.runs_at(int(gdb.parse_and_eval("(long)$pc")))
        except gdb.MemoryError:
            self.enabled = False
            self.later.enabled = True
            return False


class AfterFault(gdb.Breakpoint):
    def __init__(self, other):
        super().__init__("exit_user", internal=True)
        self.enabled = False
        self.other = other

    def stop(self):
        self.enabled = False
        self.other.enabled = True
        return False


class UserBreak(gdb.Command):
    """ubreak LOCATION: stop there in the program that `program' named."""

    def __init__(self):
        super().__init__("ubreak", gdb.COMMAND_BREAKPOINTS,
                         gdb.COMPLETE_LOCATION)

    def invoke(self, where, from_tty):
        UserBreakpoint(where)


program = Program()
UserBreak()

# Tried for some seconds: who types both commands may be faster than QEMU.
port = int(gdb.parse_and_eval("$port"))
gdb.execute("set tcp connect-timeout 5")
attempt(f"target remote localhost:{port}", "no machine waits there; first"
        " `make qemu-gdb' in another terminal, with the same GDB_PORT=")
end

echo Type `continue'; or first, say, `break sample'.\n
