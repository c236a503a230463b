-- ARGV[1]: current time
local now, places = tonumber(ARGV[1]), 10 ^ tonumber(ARGV[2])
redis.call('zadd', KEYS[1], now, tostring(now))
local sum = math.floor((tonumber(redis.call('get', KEYS[2])) or 0) * places + 0.5) / places
redis.call('set', KEYS[2], string.format('%d', sum))
local share = math.floor(ARGV[3] / 7 * 100) / 100
local score = redis.call('zscore', KEYS[1], 'next') or '0'
if score == ARGV[4] then
  return {0, string.format('%i', share)}
end
redis.call('hset', KEYS[3], 'order', 's' .. now * 0x1000)
local time = redis.call('time')
local at = time[1] + time[2] / 1000000
redis.call('hset', KEYS[3], 'at', tostring(at), 'day', string.format('%d', at))
local excess = math.max(now / ARGV[5] - 1, 0)
if excess > 5 then
  return {0, share, tostring(excess)}
end
return {1, math.floor(share), excess}
