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
  redis.call('expire', key, seconds)
end
local till, at = tonumber(ARGV[4]), tonumber(ARGV[5])
if till >= at and till - at >= 0 then
  redis.call('setex', KEYS[4], till - at, 'v')
end
local given = tonumber(ARGV[6])
if given < 0 then
  given = 60
end
touch(KEYS[1], given)
return 1
