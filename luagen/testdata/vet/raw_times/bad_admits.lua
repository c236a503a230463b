local ttl, ms = tonumber(ARGV[1]), tonumber(ARGV[2])
if not ttl or ttl < 0 then
  return redis.error_reply('ERR no expiry')
end
redis.call('setex', KEYS[1], ttl, 'v')
assert(ms >= 0, 'no expiry')
redis.call('set', KEYS[2], 'v', 'px', tostring(ms))
local data = cjson.decode(ARGV[3])
local known = data.ttl and data.ttl >= 0
if known then
  redis.call('setex', KEYS[3], data.ttl, 'v')
end
local function touch(key, seconds)
  if seconds >= 0 then
    redis.call('expire', key, seconds)
  end
end
local till, at = tonumber(ARGV[4]), tonumber(ARGV[5])
if till >= at and till - at >= 0 then
  redis.call('setex', KEYS[4], till - at, 'v')
end
touch(KEYS[1], tonumber(ARGV[6]))
return 1
