local due = redis.call('ZRANGEBYSCORE', KEYS[1], '0', ARGV[1])
if #due > 0 then
  redis.call('LPUSH', KEYS[2], unpack(due))
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '0', ARGV[1])
end
return #due
