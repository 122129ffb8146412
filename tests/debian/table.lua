-- Memory that grows, files, errors, coroutines, processes.
local t = {}
for i = 1, 20000 do t[i] = (i * 7919) % 20011 end
table.sort(t)
print(t[1], t[2], t[#t])
local f = assert(io.open("/tmp/lua", "w"))
f:write("written\n")
f:close()
for line in io.lines("/tmp/lua") do print(line) end
print(io.open("/none"))
print(pcall(error, "caught", 0))
print(coroutine.wrap(function() coroutine.yield(2^53) end)())
local p = io.popen("echo popen; exit 3")
print(p:read("l"), p:close())
print(os.remove("/tmp/lua"), os.getenv("HOME") ~= nil, os.clock() > 0)
