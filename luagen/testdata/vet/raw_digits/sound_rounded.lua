-- ARGV[1]: current time
local now, places = tonumber(ARGV[1]), 10 ^ tonumber(ARGV[2])
redis.call('zadd', KEYS[1], now, now)
redis.call('zadd', KEYS[1], now, tostring(math.floor(now)))
redis.call('zadd', KEYS[1], now, 'r' .. ARGV[6])
local sum = math.floor((tonumber(redis.call('get', KEYS[2])) or 0) * places + 0.5) / places
redis.call('set', KEYS[2], string.format('%.17g', sum))
local slot = math.floor(math.floor(ARGV[3] / 7 * 100) / 60)
local score = redis.call('zscore', KEYS[1], 'next') or '0'
if score == ARGV[4] or tostring(tonumber(ARGV[3]) + 1) == ARGV[4] then
  return {0, string.format('%d', slot)}
end
redis.call('hset', KEYS[3], 'order', now * 0x1000, 'again', tostring(now * 60))
local at, id = cjson.decode(ARGV[8]).at, redis.call('zscore', KEYS[4], ARGV[9])
if not id or tostring(tonumber(at)) == ARGV[4] then
  return redis.call('hget', KEYS[3], id or '')
end
local time = redis.call('time')
local since = time[1] - 1483228800 + time[2] / 1000000
redis.call('hset', KEYS[3], 'since', since, 'left', tostring(ARGV[6] - since))
local excess, count = math.max(now / ARGV[5] - 1, 0), tonumber(ARGV[7])
if excess > 5 then
  return {0, tostring(count), tostring(excess)}
end
local remaining = (since - tonumber(ARGV[6])) / tonumber(ARGV[7])
return {remaining, count, tostring(excess)}
