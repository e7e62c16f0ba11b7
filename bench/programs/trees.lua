-- Binary trees built and dropped, tables and strings: what a script's collector asks of malloc.
local function tree(depth)
    if depth == 0 then return {} end
    return { tree(depth - 1), tree(depth - 1) }
end

local function count(node)
    return node[1] and 1 + count(node[1]) + count(node[2]) or 1
end

local total = 0
for round = 1, 24 do
    total = total + count(tree(15))
end

local words = {}
for i = 1, 200000 do
    words[#words + 1] = ("word%d"):format(i * 7919 % 100003)
end
table.sort(words)
local text = table.concat(words, " ")
local seen, different = {}, 0
for word in text:gmatch("%a+%d+") do
    if not seen[word] then
        seen[word] = true
        different = different + 1
    end
end
print(total, #text, different)
