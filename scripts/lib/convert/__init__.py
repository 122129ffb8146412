"""scripts/tally-convert: what profilers recorded, for viewers on the host.

    detect      what kind of file is it?
    read_*      each kind becomes a Profile (profile.py): samples
    elf         an executable's functions; lines, those of its source
    stacks      a sample's program counters become named frames
    write_*     each output, from the Profile and its frames
"""
