local now_ms = tonumber(ARGV[1])
local burst_ms = tonumber(ARGV[2])
local interval_ms = tonumber(ARGV[3])
local tat_ms = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
tat_ms = math.max(tat_ms, now_ms)
local new_tat_ms = tat_ms + interval_ms
if new_tat_ms - burst_ms > now_ms then
  return {0, new_tat_ms - burst_ms - now_ms}
end
local reset_in_ms = math.ceil(new_tat_ms - now_ms)
redis.call('SET', KEYS[1], new_tat_ms, 'EX', reset_in_ms)
return {1, reset_in_ms}
