---@key counts hash
---@arg json string
---@return string[] names
local seen = {}
for _, name in ipairs(cjson.decode(json)) do
  seen[name] = true
end
local names = {}
for name in pairs(seen) do
  if redis.call('hexists', counts, name) == 1 then
    names[#names + 1] = name
  end
end
redis.call('hset', counts, 'n', #names)
return names
