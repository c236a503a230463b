---@key out list
---@arg json string
local t = {a = json, b = ''}
for k, v in pairs(t) do
  redis.call('rpush', out, k .. v)
end
