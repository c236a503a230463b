-- KEYS[2]: the highest of its values is wanted
local flat, map, best = redis.call('hgetall', KEYS[1]), {first = 0}, 0
for i = 1, #flat, 2 do map[flat[i]] = tonumber(flat[i + 1]) end
local texts, sizes = {}, {}
for i = 1, #flat, 2 do texts[flat[i]], sizes[#sizes + 1] = flat[i + 1], #flat[i] end
if (map.count or 0) > 3 or texts.state == 'done' or texts.n == '3' then return map.first + 1 end
if texts.n and tonumber(texts.n) > 3 then return sizes end
for _, x in ipairs(redis.call('hvals', KEYS[2])) do
  if tonumber(x) > best then best = tonumber(x) end
end
local function fill(list) list.n = 3 end
local made, mixed, failed = {a = 'x'}, {}, {}
fill(made)
mixed.a, mixed[1], failed.err = 1, best, 'FULL it is'
if made.n == 3 then return mixed end
local t = redis.call('time')
local start = t[2] + t[1] * 1000000
math.randomseed(tonumber(t[2]))
if start > tonumber(ARGV[1]) * 1000000 then return failed end
return cjson.encode(map)
