# Of MicroPython.
print(2**200, sum(range(1000)))
print(sorted({"b": 1, "a": 2}), [x for x in "xyz"])
try:
    open("/none")
except OSError as error:
    print(error.errno)
with open("/tmp/py", "w") as file:
    file.write("written")
print(open("/tmp/py").read())
