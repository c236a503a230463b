local function limited(key)
  if redis.call('exists', key) ~= 1 then
    redis.call('rpush', key, 1)
  else
    redis.call('rpushx', key, 1)
    redis.call('expire', key, 1)
  end
  return redis.call('llen', key) > 10
end
return limited(KEYS[1]) and 1 or 0
