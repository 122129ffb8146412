-- What benchmarks of Lua do: calls, floats, strings, tables, closures, coroutines.
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
print("fib", fib(22))

local function sieve(n)
  local composite, count = {}, 0
  for i = 2, n do
    if not composite[i] then
      count = count + 1
      for j = i * i, n, i do composite[j] = true end
    end
  end
  return count
end
print("sieve", sieve(30000))

local function queens(n)
  local found, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then found = found + 1 return end
    for c = 1, n do
      if not (columns[c] or up[row + c] or down[row - c + n]) then
        columns[c], up[row + c], down[row - c + n] = true, true, true
        place(row + 1)
        columns[c], up[row + c], down[row - c + n] = nil, nil, nil
      end
    end
  end
  place(1)
  return found
end
print("queens", queens(7))

local function nbody(steps)
  local x, y, vx, vy = 1.0, 0.0, 0.0, 1.0
  for _ = 1, steps do
    local r3 = (x * x + y * y) ^ 1.5
    vx, vy = vx - 0.001 * x / r3, vy - 0.001 * y / r3
    x, y = x + 0.001 * vx, y + 0.001 * vy
  end
  return string.format("%.12f %.12f", x, y)
end
print("orbit", nbody(50000))

local words, seen = {}, {}
for word in (("the quick brown fox jumps over a lazy dog "):rep(400)):gmatch("%a+") do
  seen[word] = (seen[word] or 0) + 1
  words[#words + 1] = word .. #words
end
table.sort(words, function(a, b) return a < b end)
print("words", #words, words[1], words[#words], seen.fox)
print("joined", #table.concat(words, ","), (table.concat(words):gsub("o", "0")):sub(1, 40))

local function counter(n)
  return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end)
end
local sum = 0
for i in counter(10000) do sum = sum + i end
print("coroutine", sum)

collectgarbage()
print("error", pcall(error, {code = 7}), select("#", pcall(error)))
print("io", io.open("/nowhere/at/all"))
os.exit(7)
