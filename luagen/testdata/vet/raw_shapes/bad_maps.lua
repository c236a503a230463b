-- KEYS[2]: the highest of its values is wanted
local function read(key)
  local flat, map, name = redis.call('hgetall', key), {}, nil
  for i, x in ipairs(flat) do
    if i % 2 == 1 then name = x else map[name] = x end
  end
  return map
end
local flat, map, best, least = redis.call('hgetall', KEYS[1]), {}, 0, math.huge
for i = 1, #flat, 2 do map[flat[i]] = flat[i + 1] end
if map.count > 3 or read(KEYS[2]).count == 3 then return map.first + 1 end
for _, x in ipairs(redis.call('hvals', KEYS[2])) do
  if x > best then best = x end
  if best == 1 and x < least then least = x end
end
local lowest
for _, x in ipairs(redis.call('lrange', KEYS[3], 0, -1)) do
  if not lowest or x < lowest then lowest = x end
end
local n = redis.call('get', KEYS[5]) or 0
if n > 5 then return lowest end
local micros = tonumber(redis.call('time')[2])
if micros - tonumber(ARGV[1]) > 500 then return map end
local found = {}
for _, key in ipairs(KEYS) do found[key] = lowest end
return found
