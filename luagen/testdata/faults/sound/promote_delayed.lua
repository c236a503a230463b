local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 500)
if #due > 0 then
  redis.call('ZREM', KEYS[1], unpack(due))
  redis.call('RPUSH', KEYS[2], unpack(due))
end
local next_one = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {#due, next_one[2] or '-1'}
