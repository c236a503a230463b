local job = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local due = tonumber(job[2])
if due and due <= tonumber(ARGV[1]) then
  redis.call('ZREM', KEYS[1], job[1])
  redis.call('LPUSH', KEYS[2], job[1])
end
return #job
