--- The order of pairs reaches nothing, or is one.
---@key counts hash
---@key log list
---@arg json string
---@arg names string...
---@return string[] found
local seen = {a = json}
local found = {}
for name in pairs(seen) do
  found[#found + 1] = name
end
table.sort(found)
for _, name in pairs(names) do
  redis.call('rpush', log, name)
end
for i, name in pairs({'a', 'b', [3] = 'c'}) do
  redis.call('rpush', log, name .. i)
end
for i, name in pairs(redis.call('hscan', counts, 0)[2]) do
  redis.call('rpush', log, name .. i)
end
for i, v in pairs(cjson.decode(json)) do
  if not redis.call('hget', counts, v) then return {v} end
  redis.call('rpush', log, i)
end
for _, name in pairs(redis.call('hkeys', counts)) do
  redis.call('rpush', log, name)
end
local copied = {}
for name in pairs(seen) do
  copied[#copied + 1] = name
end
redis.call('hset', counts, 'copied', #copied)
local copy, n = {}, 0
for k, v in pairs(seen) do
  copy[k] = v
  n = n + 1
end
for _, name in ipairs(found) do
  redis.call('rpush', log, name .. n)
end
return found
