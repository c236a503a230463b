local function free(key)
  local n = redis.call('llen', key)
  if n > 3 then return false end
  return true
end
free(KEYS[1])
local done = 0
for _, id in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
  if redis.call('zrem', KEYS[1], id) == 1 then
    done = done + 1
    return done
  end
end
for i = 1, #KEYS do
  if redis.call('del', KEYS[i]) == 0 then
    return 0
  else
    return 1
  end
end
for _, key in ipairs(KEYS) do
  redis.call('set', key, 1)
  return 'OK'
end
for field, value in pairs(cjson.decode(ARGV[1])) do
  redis.call('hset', KEYS[1], field, value)
  return redis.call('hlen', KEYS[1])
end
return 'none'
