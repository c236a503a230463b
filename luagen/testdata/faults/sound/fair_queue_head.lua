while true do
  local first = redis.call('lindex', KEYS[1], 0)
  if not first then
    break
  end
  local timeout = redis.call('zscore', KEYS[2], first)
  if timeout and tonumber(timeout) > tonumber(ARGV[1]) then
    break
  end
  redis.call('zrem', KEYS[2], first)
  redis.call('lpop', KEYS[1])
end
return redis.call('lindex', KEYS[1], 0)
