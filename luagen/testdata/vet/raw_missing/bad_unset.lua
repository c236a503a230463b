-- A name that has no value on one way, or in the first turn of a loop, where nil fails.
local value = redis.call('get', KEYS[1])
local used
if value then used = tonumber(value) end
if redis.call('exists', KEYS[2]) == 1 then return 0 end
local left = ARGV[1] - used
local moved
while left > 0 do
  redis.call('lpop', KEYS[3])
  left, moved = left - 1, moved + 1
end
return left - used
