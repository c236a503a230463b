local now = tonumber(ARGV[1])
local emission = tonumber(ARGV[2])
local burst = tonumber(ARGV[3])
local tat = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
if tat < now then
  tat = now
end
local new_tat = tat + emission
local allow_at = new_tat - burst
if allow_at > now then
  return {0, allow_at - now}
end
redis.call('SET', KEYS[1], new_tat, 'PX', math.max(1, math.ceil(new_tat - now)))
return {1, 0}
