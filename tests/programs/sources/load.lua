-- Tables, strings, closures, coroutines, patterns, incremental and generational collection; prints one checksum.
local seed = 12345
local function draw()
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed >> 8
end

local function checksum(text)
  local h = 0xcbf29ce484222325
  for i = 1, #text do h = (h ~ text:byte(i)) * 1099511628211 end
  return string.format("%016x", h)
end

local function work(mode)
  collectgarbage(mode)
  local count, lines = {}, {}
  for i = 1, 120000 do
    local letters = {}
    for n = 1, 3 + draw() % 9 do letters[n] = string.char(97 + draw() % 26) end
    local word = table.concat(letters)
    local key = word:sub(1, 2)
    count[key] = count[key] or {}
    table.insert(count[key], word)
    if i % 3 == 0 then lines[#lines + 1] = i .. ":" .. word end
    if i % 50 == 0 then count[string.char(97 + draw() % 26, 97 + draw() % 26)] = nil end
  end
  local text = table.concat(lines, "\n")
  local changed, matches = text:gsub("(%d+):([aeiou])(%a*)", function(a, b, c) return b .. a .. c:upper() end)
  local growing = ""
  for i = 1, 4000 do growing = growing .. i end
  local sum = 0
  for i = 1, 20000 do
    local co = coroutine.wrap(function(a) local b = coroutine.yield(a + i); return b * 2 end)
    sum = sum + co(1) + co(i)
  end
  local parts = {}
  for key, words in pairs(count) do parts[#parts + 1] = #words .. key end
  table.sort(parts)
  return table.concat({ matches, checksum(changed), checksum(growing), sum, checksum(table.concat(parts)) }, " ")
end

print(work("incremental"))
print(work("generational"))
local before = collectgarbage("count")
collectgarbage()
print(collectgarbage("count") < before)
