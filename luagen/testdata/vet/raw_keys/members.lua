for _, id in ipairs(redis.call('smembers', KEYS[1])) do
  local name = string.format('job:%s', id)
  redis.call('del', name)
end
