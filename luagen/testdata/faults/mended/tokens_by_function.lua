local function number(key)
  local text = redis.call('get', key)
  return tonumber(text) or 0
end

local rate = number(KEYS[1])
local value = number(KEYS[2])
local left = value - ARGV[1]
if left >= 0 then
  redis.call('set', KEYS[2], left, 'keepttl')
end
return rate
