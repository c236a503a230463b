for i = redis.call('llen', KEYS[1]) - 1, 0, -1 do
  local id = redis.call('lindex', KEYS[1], i)
  if id and redis.call('exists', KEYS[2]) == 1 then redis.call('lrem', KEYS[1], 1, id) end
end
return redis.call('llen', KEYS[1])
