-- The word is there twice, is a plural, a command or its option, or differs in the first letter or in another one.
local job = cjson.decode(ARGV[1])
redis.call('hset', KEYS[1], 'failedReason', job.messages or 'stale', 'lease_token', job.leaseToken)
if redis.call('hget', KEYS[2], 'histories') == 'status' then
  redis.call('hmset', KEYS[2], 'qsize', ARGV[2], 'size', job.qsize)
end
redis.call('hscan', KEYS[2], 0, 'match', 'state:*')
return cjson.encode({mesage = math.floor(ARGV[3]), second = 'mesage', state = job.states})
