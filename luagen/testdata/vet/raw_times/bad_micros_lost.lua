if tonumber(redis.call('time')[2]) < tonumber(redis.call('get', KEYS[1]) or 0) then
  return 0
end
return redis.call("set", KEYS[1], "v")
