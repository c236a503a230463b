-- A word that is nowhere else, and that is near another one.
local job = cjson.decode(ARGV[1])
redis.call('hset', KEYS[1], 'failedReason', job.mesage or 'none')
redis.call('hset', KEYS[1], 'lease_token', job.laeseToken)
if redis.call('hget', KEYS[2], 'hisstory') then
  redis.call('hset', KEYS[2], 'state', 'queud')
end
return redis.status_reply(job.state)
