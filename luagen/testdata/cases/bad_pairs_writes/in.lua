---@key out list
---@arg json string
local t = cjson.decode(json)
for k, v in pairs(t) do
  redis.call('rpush', out, k .. v)
end
