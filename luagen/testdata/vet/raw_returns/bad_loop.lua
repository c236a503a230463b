local function refuse(why)
  return cjson.encode({refused = why})
end
refuse('closed')
local function free(key)
  local n = redis.call('llen', key)
  if n > 3 then return false end
  return true
end
free(KEYS[1])
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
