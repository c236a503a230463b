local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
for i = 1, #due, 1000 do
  local last = math.min(i + 999, #due)
  redis.call('RPUSH', KEYS[2], unpack(due, i, last))
  redis.call('ZREM', KEYS[1], unpack(due, i, last))
end
return #due
