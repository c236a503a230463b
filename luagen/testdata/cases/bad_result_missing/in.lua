---@key user hash
---@key counters string...
---@arg one bool
---@return string[] fields
---@readonly
if one then
  return redis.call('hmget', user, 'name', 'mail')
end
local all = redis.call('mget', unpack(counters))
return all
