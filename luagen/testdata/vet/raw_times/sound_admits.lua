local ttl, ms, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if ttl < 0 then
  return redis.call('persist', KEYS[1])
elseif ttl == 0 then
  return redis.call('del', KEYS[1])
end
redis.call('expire', KEYS[1], ttl)
if ms >= 0 then
  redis.call('pexpire', KEYS[2], math.max(1, ms))
end
local function touch(key, seconds)
  if seconds > 0 then
    redis.call('expire', key, seconds)
  end
end
touch(KEYS[3], 60)
if keep < 1 or keep < 0 then
  return 0
end
redis.call('expire', KEYS[4], keep)
local left = redis.call('ttl', KEYS[1])
if left >= 0 then
  redis.call('set', KEYS[5], left)
end
return 1
