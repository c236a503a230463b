while true do
  local first = redis.call('lindex', KEYS[1], 0)
  if first == false then
    break
  end
  local timeout = tonumber(redis.call('zscore', KEYS[2], first))
  if not timeout or timeout <= tonumber(ARGV[1]) then
    redis.call('zrem', KEYS[2], first)
    redis.call('lpop', KEYS[1])
  else
    break
  end
end
return redis.call('llen', KEYS[1])
