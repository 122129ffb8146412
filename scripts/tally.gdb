# For gdb on a Tally that waits in `make qemu-gdb': `make gdb' reads this.
#
#	break sample		stops in the kernel
#	program sh		adds the symbols of /bin/sh; then
#	break main		stops in that program
#	program build/extra.d/bin/hello	 a program of your own
#
# Every program is linked at the same address: have one's symbols at a time.

set confirm off
set architecture riscv:rv64
set pagination off
set breakpoint pending on

python
import os

class Program(gdb.Command):
	"""program NAME: debug the user program /bin/NAME, or a file.
Its symbols are added to the kernel's, in place of those of the last one."""

	def __init__(self):
		super().__init__("program", gdb.COMMAND_FILES,
				 gdb.COMPLETE_FILENAME)
		self.last = None

	def invoke(self, name, from_tty):
		build = os.path.dirname(gdb.current_progspace().filename)
		path = name if "/" in name else f"{build}/bin/{name}"
		if not os.path.exists(path):
			raise gdb.GdbError(f"{path}: there is no such program")
		if self.last:
			gdb.execute(f"remove-symbol-file {self.last}")
		gdb.execute(f"add-symbol-file {path} -o 0")
		# gdb knows it by its absolute name from here on.
		self.last = f"-a {TEXT:#x}"

TEXT = 0x10000
Program()
end

eval "target remote localhost:%d", $port
echo Type `continue', or set breakpoints first: `break sample'.\n
