-- The same with a value on each way, or asked again.
local value = redis.call('get', KEYS[1])
local used
if value then used = tonumber(value) end
if not value then used = 0 end
local left = ARGV[1] - used
local moved, next
while left > 0 do
  if not next or next > left then next = left end
  redis.call('lpop', KEYS[2])
  left, moved = left - 1, (moved or 0) + 1
end
local count, started
for _, id in ipairs(redis.call('lrange', KEYS[3], 0, 9)) do
  count = started and count + #id or 1
  started = true
end
if not count then return 0 end
local time
if ARGV[2] == 'now' then time = redis.call('time')[1] end
if ARGV[2] == 'now' then return time + 1 end
return moved
