local ttl_seconds = tonumber(ARGV[3])
local current = redis.call('get', KEYS[1])
if current == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[2], 'PX', ttl_seconds)
  return 1
end
return 0
