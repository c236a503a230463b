local raw = redis.call('HGET', KEYS[1], ARGV[1])
if not raw then
  return 0
end
local order = cjson.decode(raw)
order.state = ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(order))
return 1
